"""The login of the engine on Kafka: the order of requests, the end of a session, and a sentence for each refusal."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.config.values import Address
from coordinator.engine.kafka.client import REFUSED_LOGIN_S, KafkaClient
from coordinator.engine.kafka.connection import BrokerConnectError, BrokerConnection
from coordinator.engine.kafka.opening import open_kafka
from coordinator.engine.kafka.security import BrokerSecurity, read_security
from coordinator.security import async_login
from coordinator.security.sasl_client import log_in
from coordinator.storage.log_store import LogStoreError
from protocol.messages.metadata import MetadataRequest
from tests.engine.kafka.login_broker import LoginBroker
from tests.support.certificates import Authority

ASKED = MetadataRequest(topics=[])
LOGIN = ["ApiVersions", "SaslHandshake", "SaslAuthenticate"]
PLAIN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=node\nsasl.password={password}\n"
LIFETIME_MS = 100_000

Started = Callable[..., Awaitable[LoginBroker]]


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    brokers: list[LoginBroker] = []

    async def start(*args: Any) -> LoginBroker:
        brokers.append(await LoginBroker(*args).start())
        return brokers[-1]

    yield start
    for broker in brokers:
        await broker.close()


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Stop the time of the event loop; the function moves it forward by some seconds."""
    loop = asyncio.get_running_loop()
    now_s = loop.time()

    def advance(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    monkeypatch.setattr(loop, "time", lambda: now_s)
    return advance


def settings(directory: Path, text: str = PLAIN, password: str = "right") -> str:
    path = directory / "client.properties"
    path.write_text(text.replace("{password}", password).replace("{directory}", str(directory)))
    return str(path)


def client_of(broker: LoginBroker, security: BrokerSecurity) -> KafkaClient:
    return KafkaClient([broker.address], 5.0, partial(BrokerConnection.connect, security=security))


# -- order of requests ------------------------------------------------------------------------------------------------


async def test_a_login_comes_before_any_other_request_and_once_for_each_connection(
    started: Started, tmp_path: Path
) -> None:
    broker = await started("PLAIN")
    client = client_of(broker, read_security(settings(tmp_path)))
    await client.ask(broker.address, ASKED)
    await client.ask(broker.address, ASKED)
    await asyncio.gather(*(client.ask(broker.address, ASKED) for _ in range(2)))
    assert broker.requests(0)[:5] == [*LOGIN, "Metadata", "Metadata"]
    assert broker.requests(1) == [*LOGIN, "Metadata"]
    await client.close()


async def test_no_file_means_no_login(started: Started) -> None:
    broker = await started()
    client = client_of(broker, read_security(""))
    await client.ask(broker.address, ASKED)
    assert broker.requests(0) == ["ApiVersions", "Metadata"]
    await client.close()


async def test_each_step_of_a_login_is_taken_beside_the_event_loop(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noted(*args: str) -> Any:
        steps, answer = log_in(*args), None
        while True:
            threads.append(threading.get_ident())
            try:
                answer = yield steps.send(answer)
            except StopIteration as end:
                return end.value

    monkeypatch.setattr(async_login, "log_in", noted)
    broker = await started("PLAIN")
    (await BrokerConnection.connect(broker.address, read_security(settings(tmp_path)))).close()
    assert len(threads) == 3
    assert threading.get_ident() not in threads


async def test_the_token_is_read_again_for_each_connection(started: Started, tmp_path: Path) -> None:
    broker = await started("OAUTHBEARER")
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
    security = read_security(settings(tmp_path, text + "sasl.oauthbearer.token.file={directory}/token\n"))
    broker.accepted = b""
    for token in ("first", "second"):
        (tmp_path / "token").write_text(token + "\n")
        (await BrokerConnection.connect(broker.address, security)).close()
    assert broker.tokens == [f"n,,\x01auth=Bearer {token}\x01\x01".encode() for token in ("first", "second")]
    (tmp_path / "token").unlink()
    with pytest.raises(BrokerConnectError, match=r"the token in .* cannot be read .*its permissions \(log\.engine"):
        await BrokerConnection.connect(broker.address, security)


# -- the end of a session ---------------------------------------------------------------------------------------------


async def test_a_new_connection_is_made_before_the_session_ends(
    started: Started, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    broker = await started("PLAIN")
    broker.lifetime_ms = LIFETIME_MS
    client = client_of(broker, read_security(settings(tmp_path)))
    for seconds in (0, 50, 34, 2, 83):
        clock(seconds)
        await client.ask(broker.address, ASKED)
    assert broker.requests(0) == [*LOGIN, *["Metadata"] * 3], "up to second 84"
    assert broker.requests(1) == [*LOGIN, *["Metadata"] * 2], "from second 86 to 169"
    clock(1000)
    await client.ask(broker.address, ASKED)
    assert broker.requests(2) == [*LOGIN, "Metadata"]
    await client.close()


async def test_a_request_that_is_on_its_way_when_the_session_ends_is_answered(
    started: Started, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    broker = await started("PLAIN")
    broker.lifetime_ms = LIFETIME_MS
    client = client_of(broker, read_security(settings(tmp_path)))

    async def wait() -> None:
        clock(LIFETIME_MS / 1000 + 1)

    broker.before_answer = wait
    await client.ask(broker.address, ASKED, within_s=1000)
    broker.before_answer = None
    await client.ask(broker.address, ASKED)
    assert [broker.requests(number) for number in range(2)] == [[*LOGIN, "Metadata"]] * 2
    await client.close()


async def test_a_login_that_fails_later_means_that_nothing_was_sent_and_is_not_tried_again_at_once(
    started: Started, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    broker = await started("PLAIN")
    broker.lifetime_ms = LIFETIME_MS
    client = client_of(broker, read_security(settings(tmp_path)))
    await client.ask(broker.address, ASKED)
    broker.accepted = b"\0node\0changed"
    clock(LIFETIME_MS / 1000)
    for _ in range(2):
        with pytest.raises(BrokerConnectError, match=r"refuses the user 'node' \(invalid credentials\)"):
            await client.ask(broker.address, ASKED)
    assert broker.requests(1) == LOGIN
    assert not broker.requests(2)
    clock(REFUSED_LOGIN_S)
    broker.accepted = b"\0node\0right"
    await client.ask(broker.address, ASKED)
    assert broker.requests(2) == [*LOGIN, "Metadata"]
    await client.close()


# -- a sentence for each refusal --------------------------------------------------------------------------------------


async def refusal(broker: LoginBroker | Address, file: str = "", **changes: str) -> str:
    host, port = broker.address if isinstance(broker, LoginBroker) else broker
    config = Config(log_engine=f"kafka://{host}:{port}/log", log_engine_config_file=file, **changes)  # type: ignore[arg-type]
    with pytest.raises(LogStoreError) as caught:
        await open_kafka(config, 1)
    assert not caught.value.may_pass
    assert "secret" not in str(caught.value)
    return str(caught.value)


async def test_the_files_of_user_and_password_are_refused(tmp_path: Path) -> None:
    for key in ("log_engine_user_file", "log_engine_password_file"):
        said = await refusal(Address("none", 1), **{key: "file"})
        assert "write the login into the file of log.engine.config.file" in said


async def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    nowhere = Address("none", 1)
    assert "cannot be read (No such file or directory); give the path" in await refusal(nowhere, str(tmp_path / "no"))
    broken = settings(tmp_path, "security.protocol=SASL_SSL\nsasl.mechanism=KERBEROS\n")
    assert "client.properties: sasl.mechanism=KERBEROS is not supported" in await refusal(nowhere, broken)
    broken = settings(tmp_path, "security.protocol=SSL\nssl.truststore.location={directory}/none.pem\n")
    assert f"log.engine.config.file {broken}: ssl.truststore.location" in await refusal(nowhere, broken)
    (tmp_path / "client.properties").write_bytes(b"\xff")
    assert "cannot be read (it is not text)" in await refusal(nowhere, broken)


async def test_a_wrong_password_is_refused_at_once(started: Started, tmp_path: Path) -> None:
    broker = await started("PLAIN")
    said = await refusal(broker, settings(tmp_path, password="secret"))
    host, port = broker.address
    assert said.startswith(
        f"cannot log in to {host}:{port}: it refuses the user 'node' (invalid credentials); correct the name or the "
        "password (log.engine.config.file "
    )
    assert len(broker.tokens) == 1


async def test_a_mechanism_that_is_not_enabled_is_refused(started: Started, tmp_path: Path) -> None:
    said = await refusal(await started("SCRAM-SHA-256"), settings(tmp_path))
    assert "the mechanism PLAIN is not enabled there; set sasl.mechanism to one of SCRAM-SHA-256" in said


async def test_a_listener_that_wants_no_login_is_told(started: Started, tmp_path: Path) -> None:
    assert "has no SASL; remove SASL_ from security.protocol" in await refusal(await started(), settings(tmp_path))


async def test_a_listener_that_wants_a_login_is_told(started: Started) -> None:
    said = await refusal(await started("PLAIN"))
    assert "wants a login; set security.protocol=SASL_PLAINTEXT, sasl.mechanism (one of PLAIN)" in said


def context_of(authority: Authority, **names: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker", **names).pem)
    return context


def trusting(authority: Authority) -> str:
    return f"security.protocol=SSL\nssl.truststore.location={authority.pem}\n"


async def test_a_broker_whose_certificate_is_trusted_is_used(started: Started, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    broker = await started("PLAIN", context_of(authority))
    text = trusting(authority).replace("SSL", "SASL_SSL", 1) + PLAIN.partition("\n")[2]
    client = client_of(broker, read_security(settings(tmp_path, text)))
    await client.ask(broker.address, ASKED)
    assert broker.requests(0) == [*LOGIN, "Metadata"]
    await client.close()


async def test_a_certificate_of_another_authority_is_refused(started: Started, tmp_path: Path) -> None:
    broker = await started("", context_of(Authority(tmp_path)))
    said = await refusal(broker, settings(tmp_path, trusting(Authority(tmp_path, "other"))))
    assert "is not trusted (unable to get local issuer certificate); in log.engine.config.file" in said
    assert "set ssl.truststore.location to the authority" in said


async def test_a_certificate_of_another_host_is_refused_unless_names_are_not_checked(
    started: Started, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    broker = await started("", context_of(authority, dns=("elsewhere",), ip=()))
    said = await refusal(broker, settings(tmp_path, trusting(authority)))
    assert "is for another host (" in said
    assert "have log.engine, and advertised.listeners of the broker, name a host that is in the certificate" in said
    text = trusting(authority) + "ssl.endpoint.identification.algorithm=\n"
    (await BrokerConnection.connect(broker.address, read_security(settings(tmp_path, text)))).close()


async def test_tls_to_a_listener_without_it_is_told(started: Started, tmp_path: Path) -> None:
    said = await refusal(await started(), settings(tmp_path, trusting(Authority(tmp_path))))
    assert "has no TLS; in log.engine.config.file" in said
    assert "set security.protocol to PLAINTEXT or SASL_PLAINTEXT" in said


async def test_no_tls_to_a_listener_with_it_is_told(started: Started, tmp_path: Path) -> None:
    said = await refusal(await started("", context_of(Authority(tmp_path))))
    assert "speaks TLS; set security.protocol=SSL or SASL_SSL in the file of log.engine.config.file" in said

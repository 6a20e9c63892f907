"""The test server with TLS, logins, access rules and several listeners, and verbs on it under real clients."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError

from coordinator.cli.main import main
from coordinator.config.values import ConfigError
from coordinator.server.startup import StartupError
from coordinator.storage.file_names import USERS_NAME
from coordinator.testing import (
    AsyncCoordinator,
    Coordinator,
    CoordinatorProcess,
    CoordinatorTestingError,
    ServerEndedError,
)
from coordinator.testing.http_client import post_verb
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from tests.support.certificates import Authority
from tests.support.eventually import eventually
from tests.support.group_member import alone_in_group
from tests.support.secured import Listening
from tests.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.integration

ORDERS: Final = "orders"
USERS: Final = {"alice": "wonder=land, of \N{SNOWMAN}", "admin": "s3cret"}
TOKEN: Final = "s3cret-of-verbs"
PAUSE_MS: Final = 300


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def key_store(authority: Authority) -> str:
    return str(authority.issue("server").pem)


def login(user: str = "alice", password: str = "", mechanism: str = "SCRAM-SHA-512") -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password or USERS[user],
    }


@asynccontextmanager
async def consumer(address: str, client_id: str = "web-1", **security: Any) -> AsyncIterator[AIOKafkaConsumer]:
    found = AIOKafkaConsumer(
        ORDERS,
        bootstrap_servers=address,
        group_id="shop",
        client_id=client_id,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=100,
        retry_backoff_ms=50,
        metadata_max_age_ms=1000,
        **security,
    )
    try:
        await found.start()
        yield found
    finally:
        await found.stop()


async def read(consumer: AIOKafkaConsumer, count: int) -> list[bytes]:
    return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in range(count)]


# -- logins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_users_alone_make_a_server_with_logins(mechanism: str) -> None:
    async with Coordinator(topics={ORDERS: 2}, users=USERS) as server:
        assert await server.addresses() == {"SASL_PLAINTEXT": server.bootstrap_servers}
        producer = AIOKafkaProducer(bootstrap_servers=server.bootstrap_servers, **login(mechanism=mechanism))
        await producer.start()
        await producer.send_and_wait(ORDERS, b"one")
        await producer.stop()
        for wrong in (login(password="wrong", mechanism=mechanism), {}):
            with pytest.raises(KafkaConnectionError):
                async with consumer(server.bootstrap_servers, **wrong):
                    pass


async def test_verbs_reach_a_client_that_has_logged_in() -> None:
    async with Coordinator(topics={ORDERS: 1}, users=USERS) as server:
        await server.produce(ORDERS, ["one"])
        async with consumer(server.bootstrap_servers, **login()) as member:
            assert await read(member, 1) == [b"one"]
            before = await server.wait_stable("shop", members=1)
            await server.kick("web-1")
            await _stable_after(server, before.generation)
            assert await read(member, 1) == [b"one"]  # again, because it was not committed
            delayed = await server.delay("OffsetCommit", PAUSE_MS, client="web-*")
            await member.commit()
            assert await server.wait_committed("shop", ORDERS, 1) == {(ORDERS, 0): 1}
            assert delayed.fired == 1
            lost = await server.lose_reply("OffsetCommit")
            await member.commit()  # again, after a new connection with a new login
            assert await server.drop_connection("web-1") > 0
            await server.crash()
            await server.produce(ORDERS, ["two"])
            assert (await read(member, 1))[-1] == b"two"
            await member.commit()
            assert await server.wait_committed("shop", ORDERS, 2)
            await server.restart()
            await server.produce(ORDERS, ["three"])
            assert (await read(member, 1))[-1] == b"three"
            assert lost.fired == 1
            failed = await server.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS", group="shop")
            await asyncio.to_thread(eventually, lambda: failed.fired == 1, "a heartbeat meets the fault")


async def _stable_after(server: AsyncCoordinator, generation: int) -> None:
    async with asyncio.timeout(30):
        while (await server.wait_stable("shop", members=1)).generation <= generation:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_login_meets_no_fault() -> None:
    async with Coordinator(users=USERS) as server:
        for api in ("SaslHandshake", "SaslAuthenticate"):
            with pytest.raises(CoordinatorTestingError, match="is a part of a login, and a login meets no fault"):
                await server.delay(api, PAUSE_MS)


async def test_a_moved_group_is_found_again_and_asks_for_the_same_login() -> None:
    async with Coordinator(topics={ORDERS: 1}, users=USERS) as server:
        await server.produce(ORDERS, ["one"])
        async with consumer(server.bootstrap_servers, **login()) as member:
            assert await read(member, 1) == [b"one"]
            assert await server.move_coordinator("shop") == 2
            await server.produce(ORDERS, ["two"])
            assert (await read(member, 1))[-1] == b"two"
            await member.commit()
            assert await server.wait_committed("shop", ORDERS, 2)
        async with await Wire.connect(_second_port(server)) as stranger:
            with pytest.raises(ConnectionEnded):
                await stranger.request(MetadataRequest(), 1)


def _second_port(server: AsyncCoordinator) -> int:
    (port,) = server.blocking._running().second_node._ports.values()
    return port


# -- several listeners ---------------------------------------------------------------------------------------------


async def test_several_listeners_keep_their_addresses(authority: Authority, key_store: str) -> None:
    settings = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_SSL",
        "listener.name.outside.ssl.keystore.location": key_store,
    }
    outside = {**login(), "security_protocol": "SASL_SSL"}
    outside["ssl_context"] = ssl.create_default_context(cafile=str(authority.pem))
    async with Coordinator(topics={ORDERS: 1}, users=USERS, **settings) as server:
        addresses = await server.addresses()
        assert list(addresses) == ["INSIDE", "OUTSIDE"]
        assert addresses["INSIDE"] == server.bootstrap_servers
        for change in (server.crash, server.restart):
            await change()
            assert await server.addresses() == addresses
        await server.produce(ORDERS, ["one"])
        async with consumer(addresses["OUTSIDE"], **outside) as member:
            assert await read(member, 1) == [b"one"]
            assert await server.move_coordinator("shop") == 2
            await server.produce(ORDERS, ["two"])
            assert (await read(member, 1))[-1] == b"two"
            await member.commit()
            assert await server.wait_committed("shop", ORDERS, 2)
            assert await server.move_coordinator("shop") == 1
            await server.kick("web-1")
            await server.produce(ORDERS, ["three"])
            assert (await read(member, 1))[-1] == b"three"
        async with consumer(addresses["INSIDE"], "web-2") as other:
            assert await read(other, 1) == [b"three"]


def test_confluent_kafka_over_sasl_ssl(authority: Authority, key_store: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    listeners = "SASL_SSL://127.0.0.1:0"
    with Coordinator(topics={ORDERS: 1}, users=USERS, listeners=listeners, ssl_keystore_location=key_store) as server:
        client = confluent_kafka.Consumer(
            {
                "bootstrap.servers": server.bootstrap_servers,
                "client.id": "web-1",
                "group.id": "shop",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "security.protocol": "SASL_SSL",
                "ssl.ca.location": str(authority.pem),
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "alice",
                "sasl.password": USERS["alice"],
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 100,
                "reconnect.backoff.max.ms": 200,
            }
        )
        client.subscribe([ORDERS])

        def next_value() -> bytes:
            for _ in range(300):
                message = client.poll(0.1)
                if message is not None and message.error() is None:
                    return bytes(message.value())
            raise AssertionError("no record came")

        try:
            server.produce(ORDERS, ["one"])
            assert next_value() == b"one"
            server.kick("web-1")
            server.produce(ORDERS, ["two"])
            while next_value() != b"two":  # the first one again, which was not committed
                pass
            server.delay("OffsetCommit", PAUSE_MS, client="web-1")
            client.commit(asynchronous=False)
            assert server.committed("shop") == {(ORDERS, 0): 2}
            server.crash()
            server.produce(ORDERS, ["three"])
            while next_value() != b"three":
                pass
        finally:
            client.close()


# -- access rules --------------------------------------------------------------------------------------------------


async def test_verbs_need_no_rights_and_clients_do() -> None:
    rules = {"authorizer.class.name": "acl", "super.users": "User:admin"}
    async with Coordinator(topics={ORDERS: 1}, users=USERS, **rules) as server:
        await server.produce(ORDERS, ["one"])
        with pytest.raises(TopicAuthorizationFailedError):
            async with consumer(server.bootstrap_servers, **login()) as refused:
                await read(refused, 1)
        async with consumer(server.bootstrap_servers, **login("admin")) as member:
            assert await read(member, 1) == [b"one"]
            await member.commit()
            assert await server.committed("shop") == {(ORDERS, 0): 1}
            before = await server.describe("shop")
            await server.rebalance("shop")
            await _stable_after(server, before.generation)
            assert "shop" in await server.groups()
            assert "1 member" in await server.explain("shop")


# -- in a process of its own ---------------------------------------------------------------------------------------


@pytest.fixture
def process(tmp_path: Path, key_store: str) -> Iterator[CoordinatorProcess]:
    settings = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT,OUTSIDE:SASL_SSL",
        "ssl.keystore.location": key_store,
        "listener.name.http.ssl.keystore.location": key_store,
        "listener.name.inside.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="bobs-s3cret";'
        ),
        "test.verbs.token": TOKEN,
    }
    with CoordinatorProcess(topics={ORDERS: 1}, users=USERS, data_dir=tmp_path / "data", **settings) as running:
        yield running


async def test_a_process_has_users_listeners_and_a_port_with_tls(process: CoordinatorProcess) -> None:
    assert "s3cret" not in " ".join(process._command())
    assert process.http_address.startswith("https://127.0.0.1:")
    addresses = process.addresses()
    assert (list(addresses), addresses["INSIDE"]) == (["INSIDE", "OUTSIDE"], process.bootstrap_servers)
    for security in (login(), login("bob", "bobs-s3cret", "PLAIN")):
        process.produce(ORDERS, ["one"])
        async with consumer(addresses["INSIDE"], **security) as member:
            assert await read(member, 1) == [b"one"]
            await asyncio.to_thread(process.crash)
            assert await asyncio.to_thread(process.addresses) == addresses
            await asyncio.to_thread(process.produce, ORDERS, ["two"])
            while await read(member, 1) != [b"two"]:
                pass
            await member.commit()
            await asyncio.to_thread(process.restart)


async def test_a_daemon_with_the_test_profile_is_secured(
    tmp_path: Path, process: CoordinatorProcess, authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process is `coordinator serve --profile test`: its HTTP port has the verbs and the console for commands."""
    file = tmp_path / "client.properties"
    file.write_text(f"test.verbs.token={TOKEN}\nssl.truststore.location={authority.pem}\n")
    options = ["--http", process.http_address, "--command-config", str(file)]
    assert post_verb(process.http_address, "groups", [], TOKEN, tls=authority.pem) == []
    assert "listening on INSIDE://127.0.0.1:" in process.log_tail(20)

    def command(*words: str) -> str:
        assert main([*words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    async with consumer(process.bootstrap_servers, **login()) as found:
        for run in range(2):  # the second one has other passwords for the console
            if run:
                await asyncio.to_thread(command, "faults", *options, "restart")
            await asyncio.to_thread(process.wait_stable, "shop", members=1)
            out = await asyncio.to_thread(command, "groups", "explain", "shop", "--json", *options)
            assert json.loads(out)["story"]["state"]["member_count"] == 1
            await asyncio.to_thread(process.produce, ORDERS, ["one"])
            assert await read(found, 1) == [b"one"]  # aiokafka cannot be stopped while it waits after an error
    assert '"OUTSIDE": "127.0.0.1:' in await asyncio.to_thread(command, "faults", *options, "addresses")


def test_a_process_whose_http_port_wants_certificates(tmp_path: Path, key_store: str, authority: Authority) -> None:
    settings: dict[str, Any] = {
        "listener.name.http.ssl.keystore.location": key_store,
        "listener.name.http.ssl.truststore.location": str(authority.pem),
        "listener.name.http.ssl.client.auth": "required",
    }
    with CoordinatorProcess(data_dir=tmp_path, **settings) as running:
        assert running.groups() == []


@pytest.mark.parametrize("profile", [["--profile", "test"], []])
def test_a_daemon_takes_its_listeners_from_a_file(tmp_path: Path, key_store: str, profile: list[str]) -> None:
    listeners = {"INSIDE": "SASL_PLAINTEXT", "OUTSIDE": "SASL_SSL"}
    settings = {
        "ssl.keystore.location": key_store,
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "test.verbs.token": TOKEN,
    }
    daemon = WithProfile(tmp_path, listeners, settings, http="127.0.0.1:0")
    daemon.profile = profile
    with daemon:
        ports = {name: int(address.rpartition(":")[2]) for name, address in _ask(daemon, "addresses").items()}
        assert ports == daemon.ports
        assert daemon.port == ports["INSIDE"]
        assert _ask(daemon, "restart") is None
        assert _ask(daemon, "groups") == []


class WithProfile(Listening):
    """A daemon with a profile."""

    profile: list[str] = []  # noqa: RUF012

    def command(self) -> list[str]:
        return [*super().command(), *self.profile]


def _ask(daemon: Listening, verb: str) -> Any:
    address = re.search(r"http listen=(\S+)", daemon.log_text())
    assert address is not None
    return post_verb(address[1], verb, [], TOKEN)


# -- settings ------------------------------------------------------------------------------------------------------


def test_users_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    for user in ("alice", "bob"):
        with Coordinator(data_dir=tmp_path / "deep" / "data", users={user: "secret"}):
            pass
    text = (tmp_path / "deep" / "data" / USERS_NAME).read_text()
    assert '"alice"' in text
    assert '"bob"' in text
    assert "secret" not in text
    assert (tmp_path / "deep" / "data" / USERS_NAME).stat().st_mode & 0o077 == 0


def test_a_file_of_users_that_is_damaged_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "data"):
        path.mkdir(exist_ok=True)
        (path / USERS_NAME).write_text("{")
    with pytest.raises(
        StartupError, match=r"the users of the test cannot be written: the file of users .*; restore it"
    ):
        Coordinator(data_dir=tmp_path, users=USERS).start()
    with pytest.raises(ServerEndedError, match="the users of the test cannot be written"):
        CoordinatorProcess(data_dir=tmp_path, users=USERS).start()


def test_one_of_two_ways_to_say_the_address() -> None:
    for kind in (Coordinator, CoordinatorProcess):
        with pytest.raises(ConfigError, match="leave one of them out"):
            kind(listen="127.0.0.1:0", listeners="127.0.0.1:0")
    with pytest.raises(ConfigError, match="has SASL and no mechanism"):
        Coordinator(listeners="SASL_PLAINTEXT://127.0.0.1:0")


async def test_a_server_without_users_is_as_before() -> None:
    async with Coordinator(topics={ORDERS: 2}) as server:
        assert await server.addresses() == {"PLAINTEXT": server.bootstrap_servers}
        wire = await Wire.connect(int(server.bootstrap_servers.rpartition(":")[2]))
        member = await alone_in_group(wire, "billing", ORDERS, 2)
        assert await member.heartbeat() is ErrorCode.NONE
        await wire.close()

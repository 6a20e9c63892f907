"""The engine and a daemon on a real Kafka with TLS, logins and ACLs, and the sentence for each refusal.

Needs Java, Kafka's jars and openssl, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.engine.kafka.opening import open_kafka
from coordinator.engine.kafka.security import BrokerSecurity
from coordinator.membership.directory import Engine
from coordinator.server.startup import EXIT_MISTAKE
from coordinator.storage.log_store import AppendDurable, LogStoreError
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from tests.observe.live_secured import Secured, login
from tests.support.certificates import Authority
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.log_store_kit import Node, StoreWorld, entry, joined, snapshot
from tests.support.questions import commit_offsets, committed_offsets
from tests.support.wire import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SESSION_MS = 1500
SESSIONS = 8
TOPIC = "secured-log"
SCRAM = "security.protocol=SASL_SSL\nssl.truststore.location={authority}\n" + login("SCRAM-SHA-256")
MTLS = "security.protocol=SSL\nssl.truststore.location={authority}\n"
PLAIN = "security.protocol=SASL_PLAINTEXT\n" + login()
ALL, ALLOW, PREFIXED = 2, 3, 4  # an operation, a kind of rule and a pattern in CreateAcls
RESOURCES = {"topic": 2, "transactional id": 5}

Opened = Callable[[Config], Awaitable[Node]]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    found = Secured(tmp_path_factory.mktemp("secured"))
    found.kafka._settings |= {
        "super.users": "User:ANONYMOUS;User:reader;User:CN=localhost",
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(found.authority),
        "listener.name.sasl_ssl.scram-sha-256.connections.max.reauth.ms": str(SESSION_MS),
    }
    try:
        found.start()
        yield found
    finally:
        found.kafka.kill()


class EngineFiles:
    """The settings of nodes."""

    def __init__(self, secured: Secured, directory: Path) -> None:
        self.secured = secured
        self.directory = directory

    def file(self, text: str) -> Path:
        path = self.directory / "client.properties"
        path.write_text(text.format(authority=self.secured.authority, directory=self.secured.directory))
        return path

    def config(self, address: str, text: str, topic: str = TOPIC) -> Config:
        return Config(
            log_engine=f"kafka://{address}/{topic}",
            log_engine_config_file=str(self.file(text)) if text else "",
            log_engine_require_sync=False,
            offsets_topic_num_partitions=8,
            cluster_id="secured",
        )


@pytest.fixture
def files(secured: Secured, tmp_path: Path) -> EngineFiles:
    return EngineFiles(secured, tmp_path)


class SecuredNodes(StoreWorld):
    """Nodes that open the engine by settings."""

    ids = itertools.count(1)
    partitions = itertools.count()

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.new_ids, self.new_partitions = self.ids, self.partitions
        self._config = config

    async def open(self, node_id: int) -> Engine:
        return await open_kafka(self._config, node_id)


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    worlds: list[SecuredNodes] = []

    async def open_node(config: Config) -> Node:
        worlds.append(SecuredNodes(config))
        return await worlds[-1].node()

    yield open_node
    for world in worlds:
        await world.close()


async def check_all_kinds_of_requests(node: Node) -> None:
    partition = node.world.partition()
    claim = await node.claim(partition)
    batches = [entry(number) for number in range(3)]
    for batch in batches:
        assert await node.append(claim, batch) == AppendDurable(batch.last_offset + 1)
    assert await node.read(partition) == joined(batches)
    pieces = snapshot(partition, 3)
    await node.store.save_snapshot(claim, 3, iter(pieces))
    found = await node.store.load_snapshot(partition)
    assert found is not None
    assert found.data == b"".join(pieces)
    assert await node.store.trim(claim, 2) == 2
    await node.store.release(claim)


@pytest.mark.parametrize(
    ("listener", "text"),
    [
        ("SASL_SSL", SCRAM),
        ("SASL_SSL", SCRAM.replace("SCRAM-SHA-256", "PLAIN")),
        ("SASL_PLAINTEXT", PLAIN),
        ("SSL", MTLS + "ssl.keystore.location={directory}/broker.pem\n"),
        ("PLAINTEXT", ""),
    ],
    ids=["scram over tls", "plain over tls", "plain", "client certificate", "neither"],
)
async def test_each_kind_of_listener_is_used(files: EngineFiles, opened: Opened, listener: str, text: str) -> None:
    await check_all_kinds_of_requests(await opened(files.config(files.secured.address(listener), text)))


async def test_no_append_is_lost_or_unknown_while_sessions_end(
    files: EngineFiles, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = 0
    log_in = BrokerSecurity.log_in

    async def counted(self: BrokerSecurity, call: Any) -> float:
        nonlocal logins
        logins += 1
        return await log_in(self, call)

    monkeypatch.setattr(BrokerSecurity, "log_in", counted)
    node = await opened(files.config(files.secured.address("SASL_SSL"), SCRAM))
    claim = await node.claim(node.world.partition())
    before = logins
    numbers = itertools.count()
    while logins < before + SESSIONS:
        number = next(numbers)
        assert await node.append(claim, entry(number)) == AppendDurable(number + 1)
        await node.directory.renew()
        await asyncio.sleep(0.01)  # the disk of the broker need not hold all that a loop can append
    await node.store.release(claim)


def test_a_daemon_keeps_its_offsets_there(files: EngineFiles, tmp_path: Path) -> None:
    overrides = [
        f"log.engine=kafka://{files.secured.address('SASL_SSL')}/daemon-log",
        f"log.engine.config.file={files.file(SCRAM)}",
        "log.engine.require.sync=false",
        "cluster.id=daemons",
    ]
    with Daemon(tmp_path / "first", overrides=overrides) as daemon:
        eventually(lambda: is_committed(daemon.port), "an offset is committed")
    with Daemon(tmp_path / "second", overrides=[*overrides, "node.id=2"]) as daemon:
        eventually(lambda: is_found(daemon.port), "another node has it")


def is_committed(port: int) -> bool:
    try:
        commit_offsets(port, "group", {("orders", 0): 7})
    except AssertionError:  # the partition has no owner yet
        return False
    return True


def is_found(port: int) -> bool:
    try:
        return committed_offsets(port, "group") == {("orders", 0): 7}
    except AssertionError:
        return False


def test_a_daemon_whose_login_is_refused_ends_with_the_sentence(files: EngineFiles, tmp_path: Path) -> None:
    overrides = [
        f"log.engine=kafka://{files.secured.address('SASL_SSL')}/daemon-log",
        f"log.engine.config.file={files.file(SCRAM.replace('=right', '=guessed'))}",
        "cluster.id=daemons",
    ]
    daemon = Daemon(tmp_path / "refused", overrides=overrides)
    assert daemon.spawn().wait(60) == EXIT_MISTAKE
    assert "it refuses the user 'reader'" in daemon.log_tail()
    assert "guessed" not in daemon.log_tail()


# -- refusals ---------------------------------------------------------------------------------------------------------


async def refusal(config: Config) -> str:
    with pytest.raises(LogStoreError) as caught:
        await open_kafka(config, 1)
    assert not caught.value.may_pass
    return str(caught.value)


@pytest.mark.parametrize(
    ("listener", "text", "sentence"),
    [
        ("SASL_SSL", SCRAM.replace("=right", "=guessed"), "it refuses the user 'reader' (Authentication failed"),
        ("SASL_PLAINTEXT", PLAIN.replace("=right", "=guessed"), "it refuses the user 'reader' (Authentication failed"),
        ("SASL_PLAINTEXT", PLAIN.replace("=PLAIN\n", "=SCRAM-SHA-512\n"), "set sasl.mechanism to one of "),
        ("PLAINTEXT", PLAIN, "its listener has no SASL; remove SASL_ from security.protocol"),
        ("SASL_PLAINTEXT", "", "wants a login; set security.protocol=SASL_PLAINTEXT, sasl.mechanism (one of "),
        ("SASL_SSL", "", "speaks TLS; set security.protocol=SSL or SASL_SSL"),
        ("SASL_SSL", MTLS, "wants a login; set security.protocol=SASL_SSL"),
        ("PLAINTEXT", SCRAM, "has no TLS; in log.engine.config.file"),
        ("SSL", MTLS, "does not complete a TLS handshake ("),
    ],
)
async def test_settings_that_do_not_fit_the_listener_are_refused(
    files: EngineFiles, listener: str, text: str, sentence: str
) -> None:
    said = await refusal(files.config(files.secured.address(listener), text))
    assert sentence in said
    assert "guessed" not in said


async def test_a_certificate_that_is_not_trusted_is_refused(files: EngineFiles, tmp_path: Path) -> None:
    other = SCRAM.replace("{authority}", str(Authority(tmp_path).pem))
    said = await refusal(files.config(files.secured.address("SASL_SSL"), other))
    assert "is not trusted (self-signed certificate); in log.engine.config.file" in said
    assert "set ssl.truststore.location" in said


async def test_a_certificate_of_another_host_is_refused(files: EngineFiles) -> None:
    port = files.secured.ports["SASL_SSL"]
    said = await refusal(files.config(f"127.0.0.1:{port}", SCRAM))
    assert f"the certificate of 127.0.0.1:{port} is for another host (" in said


async def test_the_rights_that_the_sentence_names_are_enough(files: EngineFiles, opened: Opened) -> None:
    text = PLAIN.replace("reader", "stranger")
    config = files.config(files.secured.address("SASL_PLAINTEXT"), text, topic="allowed")
    said = await refusal(config)
    assert "all operations on topics and transactional ids that begin with allowed" in said
    rules = [
        AclCreation(
            resource_type=kind,
            resource_name="allowed",
            resource_pattern_type=PREFIXED,
            principal="User:stranger",
            host="*",
            operation=ALL,
            permission_type=ALLOW,
        )
        for kind in RESOURCES.values()
    ]
    answer = call(files.secured.kafka.port, CreateAclsRequest(creations=rules), 3)
    assert [each.error_code for each in answer.results] == [0, 0]
    await check_all_kinds_of_requests(await opened(config))

"""`coordinator log export` and `log import`: what they copy, what they refuse, and what works on the files."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.cli.errors import CliError
from coordinator.cli.log.export import export
from coordinator.cli.log.import_log import import_logs
from coordinator.cli.main import main
from coordinator.config.config import Config
from coordinator.core.cluster import ClusterNode
from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.directory import Engine, ExpiredError, StoreFacts
from coordinator.storage.data_dir import DataDir
from coordinator.storage.file_names import log_dir
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log_store import ClaimLostError
from coordinator.storage.memory_store import CallOutcome
from tests.compaction.transactions import history, write
from tests.conformance.exchange import KEPT_LOG
from tests.engine.test_log_copy import log_of, replayed, snapshot_of
from tests.support.daemon import Daemon
from tests.support.postgres import PASSWORD, SUPERUSER, PostgresServer

CONFIG = Config(
    cluster_id="prod", node_id=9, cluster_lease_ms=300, cluster_heartbeat_ms=50, log_engine="postgresql://none/none"
)
PLACE = (OFFSETS_TOPIC, 0)
NODE = ClusterNode(1, "127.0.0.1", 9092)
STORE = ("--log-engine", "postgresql://127.0.0.1/none", "--cluster-id", "prod")


@pytest.fixture
def state() -> MemoryEngineState:
    return MemoryEngineState(lambda: int(time.monotonic() * 1000), lease_ms=CONFIG.cluster_lease_ms)


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """A copy of the directory of a Kafka."""
    return Path(shutil.copytree(KEPT_LOG, tmp_path / "kafka"))


def engine_of(state: MemoryEngineState) -> Engine:
    return open_memory(state, CONFIG.node_id)


def dumped(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["log", "dump", "--json", str(data_dir)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


async def test_a_log_of_kafka_goes_into_the_store_and_out_again(
    state: MemoryEngineState, kafka: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dumped(kafka, capsys)
    await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    assert capsys.readouterr().out == "__consumer_offsets-0: 20 batches, 0.0 MB, up to offset 22\n"
    assert state.shared_facts == StoreFacts("prod", 1, 8)
    view = state.map()
    assert not view.nodes, "the command has left the cluster"
    assert view.owner(0) is None

    copy = tmp_path / "copy"
    await export(engine_of(state), CONFIG, copy)
    assert capsys.readouterr().out == "__consumer_offsets-0: 20 batches, 0.0 MB, up to offset 22\n"
    assert dumped(copy, capsys) == before
    assert main(["log", "verify", str(copy)]) == 0
    assert capsys.readouterr().out.startswith(f"{copy / '__consumer_offsets-0'}: good; 1 segments, 20 batches")
    assert (copy / "__consumer_offsets-0" / "live-state").exists()
    assert "cluster.id=prod\n" in (copy / "meta.properties").read_text()


async def test_an_export_takes_no_claim(state: MemoryEngineState, kafka: Path, tmp_path: Path) -> None:
    await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    owner = open_memory(state, NODE.id)
    await owner.directory.announce(NODE, "run")
    claim = await owner.store.claim(0, 1)
    before = state.map()
    await export(engine_of(state), CONFIG, tmp_path / "copy")
    after = state.map()
    assert after.owners == before.owners
    assert after.nodes.keys() == before.nodes.keys()
    assert await owner.store.trim(claim, 0) == 0, "the claim holds"


@pytest.mark.integration
async def test_a_daemon_serves_an_export_of_a_store_that_has_deleted_batches(
    state: MemoryEngineState, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = log_of([("commit", 0, 0), ("commit", 1, 0), ("group", 0, 3), ("commit", 0, 0), ("commit", 2, 1)])
    node = open_memory(state, NODE.id)
    await node.directory.facts(StoreFacts("prod", 1))
    await node.directory.announce(NODE, "run")
    claim = await node.store.claim(0, 0)
    await node.store.append([(claim, batches)])
    covered = snapshot_of(replayed(batches[:4]))
    await node.store.save_snapshot(claim, covered.next_offset, (covered.data,))
    assert await node.store.trim(claim, covered.next_offset) == 4
    daemon = Daemon(tmp_path / "daemon", overrides=("node.id=9",))
    await export(engine_of(state), CONFIG, daemon.data_dir)
    assert capsys.readouterr().out == (
        "__consumer_offsets-0: 3 batches, 0.0 MB, compacted before offset 5, up to offset 7\n"
    )
    assert main(["log", "verify", str(daemon.data_dir)]) == 0
    assert {record["log_offset"] for record in dumped(daemon.data_dir, capsys)} == {1, 2, 3, 4, 5, 6}
    with daemon:
        committed = {}
        for group in ("group-0", "group-1", "group-2"):
            assert await asyncio.to_thread(main, ["groups", "describe", group, "--json", "-b", daemon.address]) == 0
            for row in json.loads(capsys.readouterr().out):
                committed[group, row["partition"]] = row["current_offset"]
    assert committed == {
        ("group-0", 0): 3,
        ("group-1", 0): 1,
        ("group-1", 1): 1,
        ("group-2", 1): 4,
        ("group-2", 2): 4,
    }


async def test_a_store_without_records_is_told(state: MemoryEngineState, tmp_path: Path) -> None:
    with pytest.raises(CliError, match="no records of the cluster prod; check --cluster-id") as caught:
        await export(engine_of(state), CONFIG, tmp_path / "copy")
    assert caught.value.exit_code == 1


# -- what an import refuses ------------------------------------------------------------------------------------


@asynccontextmanager
async def living(state: MemoryEngineState, node: ClusterNode) -> AsyncIterator[Engine]:
    """Run a node that renews itself."""
    engine = open_memory(state, node.id)
    await engine.directory.announce(node, "run")

    async def renew() -> None:
        while True:
            await engine.directory.renew()
            await asyncio.sleep(0.02)

    task = asyncio.create_task(renew())
    try:
        yield engine
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_an_import_is_refused_beside_a_living_node(state: MemoryEngineState, kafka: Path) -> None:
    async with living(state, NODE):
        with pytest.raises(CliError, match=r"node 1@127\.0\.0\.1:9092 runs; stop all nodes"):
            await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
        assert list(state.map().nodes) == [NODE.id], "the command has left"
    async with living(state, NODE._replace(id=CONFIG.node_id)):
        with pytest.raises(ExpiredError):
            await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    assert state.snapshot(0) is None


async def test_an_import_outlasts_a_node_that_was_killed(state: MemoryEngineState, kafka: Path) -> None:
    async with living(state, NODE) as killed:
        await killed.store.claim(0, 0)
    await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    assert state.chunk(0, 0, 1 << 20)[1] == 22


async def test_an_import_into_partitions_with_records_is_refused(
    state: MemoryEngineState, kafka: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    before = state.chunk(0, 0, 1 << 20)
    with pytest.raises(CliError, match="partition 0 of memory has records up to offset 22"):
        await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    assert state.chunk(0, 0, 1 << 20) == before
    assert state.map().owner(0) is None


async def test_the_number_of_partitions_must_be_that_of_the_store(state: MemoryEngineState, kafka: Path) -> None:
    await engine_of(state).directory.facts(StoreFacts("prod", 8))
    with pytest.raises(CliError, match="has 1 partitions, but the cluster prod in the store has 8"):
        await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})


WITH_TOPICS = replace(CONFIG, topics_storage="local")


@pytest.fixture
def with_transactions(kafka: Path) -> Path:
    """The directory with a transaction log of two partitions."""
    for partition in range(2):
        write(RealFileSystem(), log_dir(kafka, TRANSACTIONS_TOPIC, partition), history())
    return kafka


async def test_the_transaction_log_goes_with_the_offsets_log(
    state: MemoryEngineState, with_transactions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dumped(with_transactions, capsys)
    places = [PLACE, (TRANSACTIONS_TOPIC, 0), (TRANSACTIONS_TOPIC, 1)]
    await import_logs(engine_of(state), WITH_TOPICS, {with_transactions: places})
    said = capsys.readouterr().out
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "__consumer_offsets-0",
        "__transaction_state-0",
        "__transaction_state-1",
    ]
    assert state.shared_facts == StoreFacts("prod", 1, 2)
    copy = tmp_path / "copy"
    await export(engine_of(state), CONFIG, copy)
    assert capsys.readouterr().out == said
    assert dumped(copy, capsys) == before
    assert "transaction.state.log.num.partitions=2\n" in (copy / "meta.properties").read_text()
    assert not (copy / "__transaction_state-0" / "live-state").exists()


async def test_a_transaction_log_that_no_node_would_serve_is_left_and_said(
    state: MemoryEngineState, with_transactions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await import_logs(engine_of(state), CONFIG, {with_transactions: [PLACE, (TRANSACTIONS_TOPIC, 0)]})
    told = capsys.readouterr()
    assert "set topics.storage=local" in told.err
    assert "__transaction_state" not in told.out
    assert 1 not in state.map().owners


async def test_the_transaction_log_must_have_the_partitions_of_the_store(
    state: MemoryEngineState, with_transactions: Path
) -> None:
    await engine_of(state).directory.facts(StoreFacts("prod", 1, 8))
    places = [PLACE, (TRANSACTIONS_TOPIC, 0), (TRANSACTIONS_TOPIC, 1)]
    with pytest.raises(CliError, match="has 2 partitions of the transaction log, but the cluster prod in the store"):
        await import_logs(engine_of(state), WITH_TOPICS, {with_transactions: places})


async def test_a_lease_that_is_lost_during_the_import_ends_it(state: MemoryEngineState, kafka: Path) -> None:
    """A node that comes up meanwhile and takes the partition is the only one that writes."""
    taken = False

    async def take(node_id: int, method: str) -> CallOutcome:
        nonlocal taken
        if method == "append" and not taken:
            taken = True
            state.nodes[CONFIG.node_id].seen_ms -= 10 * state.lease_ms
            thief = open_memory(state, NODE.id)
            await thief.directory.announce(NODE, "run")
            assert await thief.directory.expire(CONFIG.node_id, state.nodes[CONFIG.node_id].incarnation)
            await thief.store.claim(0, 1)
        return CallOutcome.DONE

    state.fate = take
    with pytest.raises(ClaimLostError, match="was claimed by a node; stop all nodes first"):
        await import_logs(engine_of(state), CONFIG, {kafka: [PLACE]})
    assert state.chunk(0, 0, 1 << 20)[0] == b""
    assert state.map().owners[0].node == NODE.id


# -- calls that are wrong --------------------------------------------------------------------------------------


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Path]:
    """A directory that another program uses."""
    lock = DataDir.open(tmp_path / "used", Config())
    yield tmp_path / "used"
    lock.close()


@pytest.mark.parametrize("verb", ["export", "import"])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no store is named; give its address with --log-engine"),
        (("--log-engine", "files"), "no store is named"),
        (("--log-engine", "postgresql://127.0.0.1/none"), "set cluster.id to a name"),
        (("--log-engine", "postgresql://u:secret@127.0.0.1/none", "--cluster-id", "x"), "log.engine.password.file"),
        (("--config", "/none"), "--config /none cannot be read"),
    ],
)
def test_a_call_without_a_store_is_wrong(
    verb: str, words: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", verb, *words, str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "secret" not in said


def test_an_export_needs_a_new_directory(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "export", *STORE, str(used)]) == 2
    assert f"{used} is not empty; give a new directory" in capsys.readouterr().err


def test_an_import_needs_a_stopped_daemon(kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = RealFileSystem().lock(kafka / ".lock")
    try:
        assert main(["log", "import", *STORE, str(kafka)]) == 2
        assert f"a daemon serves {kafka}; stop it first" in capsys.readouterr().err
    finally:
        lock.close()


def test_an_import_needs_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "import", *STORE, str(tmp_path)]) == 2
    assert "give a data directory or a partition's directory" in capsys.readouterr().err


# -- with PostgreSQL -------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_a_log_goes_through_postgresql(kafka: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dumped(kafka, capsys)
    server = PostgresServer.new()
    try:
        (tmp_path / "password").write_text(PASSWORD)
        (tmp_path / "node.properties").write_text(
            f"log.engine=postgresql://{SUPERUSER}@127.0.0.1:{server.port}/{server.new_database()}\n"
            f"log.engine.password.file={tmp_path / 'password'}\n"
            "log.engine.require.sync=false\ncluster.id=prod\ncluster.heartbeat.ms=100\n"
        )
        store = ("--config", str(tmp_path / "node.properties"))
        assert main(["log", "import", *store, str(kafka)]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out == "__consumer_offsets-0: 20 batches, 0.0 MB, up to offset 22\n"
        assert main(["log", "import", *store, str(kafka)]) == 2
        assert "import into an empty store" in capsys.readouterr().err
        assert main(["log", "export", *store, str(tmp_path / "copy")]) == 0
        assert main(["log", "export", *store, "--cluster-id", "other", str(tmp_path / "other")]) == 1
        said = capsys.readouterr()
        assert "has no records of the cluster other" in said.err
        assert PASSWORD not in said.out + said.err
    finally:
        server.close()
    assert dumped(tmp_path / "copy", capsys) == before
    assert main(["log", "verify", str(tmp_path / "copy")]) == 0

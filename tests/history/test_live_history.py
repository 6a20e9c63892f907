"""History, restore and undo with a real daemon and real clients that commit forward and back.

The client records its acknowledged offsets, with a quiet time between every two commits. The history at that time must
equal the record, and a restore to it must bring these offsets back.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.history.segments import segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.file_names import offsets_log_dir
from tests.support.daemon import Daemon
from tests.support.eventually import eventually, eventually_async
from tests.support.questions import committed_offsets, describe_group, produce

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

TOPIC, PARTITIONS, RECORDS = "orders", 3, 60
GROUP = "shop"
OVERRIDES = (
    "offsets.topic.num.partitions=2",
    "offsets.topic.segment.bytes=2500",
    "group.initial.rebalance.delay.ms=0",
)
Offsets = dict[tuple[str, int], int]


class Operator:
    """Runs the commands of an operator."""

    def __init__(self, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
        self.daemon = daemon
        self._capsys = capsys
        self.err = ""

    def run(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        found = main([*words, "--data-dir", str(self.daemon.data_dir)])
        said = self._capsys.readouterr()
        self.err = said.err
        assert found == code, said.err
        return said.out

    def ask(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))

    def reset(self, *words: str, code: int = 0) -> Any:
        return self.ask(*words, "--bootstrap-server", self.daemon.address, code=code)

    def committed(self) -> Offsets:
        return committed_offsets(self.daemon.port, GROUP)


class Ledger:
    """A client's acknowledged offsets after each commit, with a quiet time (ms) after it."""

    def __init__(self) -> None:
        self.commits: list[tuple[Offsets, str]] = []
        self.moments: list[tuple[int, Offsets]] = []
        self.offsets: Offsets = {}

    def acknowledged(self, offsets: Offsets, metadata: str) -> None:
        self.commits.append((offsets, metadata))
        self.offsets = {**self.offsets, **offsets}

    async def quiet(self) -> None:
        """Record this time; the clock advances before and after it."""
        await _three_milliseconds()
        self.moments.append((time.time_ns() // 1_000_000, dict(self.offsets)))
        await _three_milliseconds()


async def _three_milliseconds() -> None:
    """Wait two ms, the precision of times in a log."""
    now = time.time_ns() // 1_000_000
    await eventually_async(lambda: time.time_ns() // 1_000_000 >= now + 3, "the clock moves")


def iso(moment_ms: int) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment_ms // 1000))
    return f"{seconds}.{moment_ms % 1000:03}Z"


@contextmanager
def running(directory: Path, *overrides: str) -> Iterator[Daemon]:
    """A daemon with records to consume."""
    with Daemon(directory, overrides=(*OVERRIDES, *overrides), topics=[f"{TOPIC}:{PARTITIONS}"]) as daemon:
        for partition in range(PARTITIONS):
            produce(daemon.port, TOPIC, partition, [b"x"] * RECORDS)
        yield daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path) as made:
        yield made


@pytest.fixture
def operator(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(daemon, capsys)


async def as_member(daemon: Daemon, work: Callable[[Any], Awaitable[None]], name: str = "web") -> None:
    """Join the group with aiokafka, run an action with all partitions, leave."""
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=daemon.address,
        group_id=GROUP,
        client_id=name,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        await eventually_async(lambda: len(consumer.assignment()) == PARTITIONS, "all partitions are its own")
        await work(consumer)
    finally:
        await consumer.stop()


async def back_and_forth(daemon: Daemon, ledger: Ledger, seed: int, rounds: int) -> None:
    """Commit random partitions: forward, back, the same again, with or without metadata."""
    from aiokafka import OffsetAndMetadata, TopicPartition

    chance = random.Random(seed)

    async def work(consumer: Any) -> None:
        for number in range(rounds):
            some = chance.sample(range(PARTITIONS), chance.randint(1, PARTITIONS))
            offsets = {(TOPIC, partition): chance.randint(0, RECORDS) for partition in some}
            metadata = chance.choice(("", f"round {number}"))
            request = {TopicPartition(*key): OffsetAndMetadata(at, metadata) for key, at in offsets.items()}
            await consumer.commit(request)
            ledger.acknowledged(offsets, metadata)
            await ledger.quiet()

    await as_member(daemon, work)


def check(operator: Operator, ledger: Ledger) -> None:
    """Check the history against the client's record, at every quiet time and commit by commit."""
    for moment_ms, offsets in ledger.moments:
        plan = operator.reset("restore", GROUP, "--at", iso(moment_ms))
        then = {(p["topic"], p["partition"]): p["then"] for p in plan["partitions"] if p["then"] is not None}
        assert then == offsets, f"at {iso(moment_ms)}"
        now = {(p["topic"], p["partition"]): p["now"] for p in plan["partitions"] if p["now"] is not None}
        assert now == ledger.offsets
    rows = operator.ask("history", "commits", GROUP, "--limit", "10000")
    position = 0
    for offsets, metadata in ledger.commits:
        own, position = rows[position : position + len(offsets)], position + len(offsets)
        assert {(row["topic"], row["partition"]): row["offset"] for row in own} == offsets
        assert {row["metadata"] for row in own} == {metadata}


async def test_history_equals_the_record_of_the_client_and_restore_brings_it_back(
    daemon: Daemon, operator: Operator
) -> None:
    ledger = Ledger()
    await back_and_forth(daemon, ledger, seed=1, rounds=15)
    assert operator.ask("history", "extract")["segments"] > 0
    await back_and_forth(daemon, ledger, seed=2, rounds=15)
    check(operator, ledger)
    daemon.restart()  # killed; acknowledged commits survive
    check(operator, ledger)
    operator.run("history", "extract")
    await back_and_forth(daemon, ledger, seed=3, rounds=5)
    check(operator, ledger)

    eventually(lambda: describe_group(daemon.port, GROUP).state == "Empty", "the member has left")
    complete = [(at, offsets) for at, offsets in ledger.moments if len(offsets) == PARTITIONS]
    for moment_ms, offsets in (complete[3], complete[-7], complete[11]):
        before = operator.committed()
        operator.reset("restore", GROUP, "--at", iso(moment_ms), "--execute", code=0)
        assert operator.committed() == offsets
        operator.reset("undo", GROUP, "--execute")
        assert operator.committed() == before, "undone"
        operator.reset("undo", GROUP, "--execute")
        assert operator.committed() == offsets, "the undo undone"

    positions: Offsets = {}

    async def look(consumer: Any) -> None:
        for partition in consumer.assignment():
            positions[partition.topic, partition.partition] = await consumer.position(partition)

    await as_member(daemon, look)
    assert positions == offsets, "the client continues at the restored offsets"


async def test_history_stays_complete_while_the_daemons_log_is_compacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, "history.enable=true", "log.cleaner.min.cleanable.ratio=0") as daemon:
        operator, ledger = Operator(daemon, capsys), Ledger()
        for seed in range(3):
            await back_and_forth(daemon, ledger, seed, rounds=8)
            rounds = [
                json.loads(line)
                for line in operator.run("compact", "--roll", "--mode", "single", "--json").splitlines()
            ]
            assert any(each.get("plan") for each in rounds), rounds
            check(operator, ledger)
        bases = segment_bases(offsets_log_dir(daemon.data_dir, HistorySource.of(daemon.data_dir).partition_of(GROUP)))
        source = HistorySource.of(daemon.data_dir)
        alone = load_group(replace(source, history_dir=tmp_path / "none"), GROUP)
        assert alone.compacted_to > 0, "the log was compacted"
        assert len(alone.commits) < len(ledger.commits)
        whole = load_group(source, GROUP)
        assert (whole.compacted_to, whole.whole_since_ms) == (0, -1), "the history is complete"
        assert whole.extracted_to >= bases[-1]
        moment_ms, offsets = ledger.moments[4]
        operator.reset("restore", GROUP, "--at", iso(moment_ms), "--execute", "--delete-new")
        assert operator.committed() == offsets
        operator.reset("undo", GROUP, "--execute")
        assert operator.committed() == ledger.offsets


async def test_partition_without_a_past_offset_is_left_alone_or_deleted_and_undo_brings_it_back(
    daemon: Daemon, operator: Operator
) -> None:
    from aiokafka import TopicPartition

    ledger = Ledger()

    async def work(consumer: Any) -> None:
        await consumer.commit({TopicPartition(TOPIC, 0): 5})
        ledger.acknowledged({(TOPIC, 0): 5}, "")
        await ledger.quiet()
        await consumer.commit({TopicPartition(TOPIC, 0): 9, TopicPartition(TOPIC, 1): 7})

    await as_member(daemon, work)
    eventually(lambda: describe_group(daemon.port, GROUP).state == "Empty", "the member has left")
    at = ("--at", iso(ledger.moments[0][0]))
    operator.reset("restore", GROUP, *at, "--execute")
    assert operator.committed() == {(TOPIC, 0): 5, (TOPIC, 1): 7}
    operator.reset("undo", GROUP, "--execute")
    operator.reset("restore", GROUP, *at, "--execute", "--delete-new")
    assert operator.committed() == {(TOPIC, 0): 5}
    operator.reset("undo", GROUP, "--execute")
    assert operator.committed() == {(TOPIC, 0): 9, (TOPIC, 1): 7}


async def test_active_group_is_not_reset_and_its_members_are_named(daemon: Daemon, operator: Operator) -> None:
    from aiokafka import TopicPartition

    ledger = Ledger()

    async def work(consumer: Any) -> None:
        await ledger.quiet()
        await consumer.commit({TopicPartition(TOPIC, 0): 5})
        await ledger.quiet()
        await consumer.commit({TopicPartition(TOPIC, 0): 9})
        at = iso(ledger.moments[1][0])
        words = ("restore", GROUP, "--at", at, "--execute", "--bootstrap-server", daemon.address)
        await asyncio.to_thread(operator.run, *words, code=1)
        assert "is Stable with 1 member (web-of-shop at 127.0.0.1)" in operator.err

    await as_member(daemon, work, name="web-of-shop")
    assert operator.committed() == {(TOPIC, 0): 9}


async def test_rebalances_of_real_members_are_listed(daemon: Daemon, operator: Operator) -> None:
    from aiokafka import AIOKafkaConsumer

    async def work(_: Any) -> None:
        second = AIOKafkaConsumer(TOPIC, bootstrap_servers=daemon.address, group_id=GROUP, client_id="second")
        await second.start()
        await eventually_async(lambda: len(second.assignment()) in (1, 2), "the second member has a share")
        await second.stop()

    await as_member(daemon, work, name="first")
    eventually(lambda: describe_group(daemon.port, GROUP).state == "Empty", "both have left")
    found = operator.ask("history", "rebalances", GROUP)
    assert [each["what"] for each in found if each["what"] != "rebalanced"] == ["created", "empty"]
    joined = next(each for each in found if each["came"] == ["second"])
    moved = {(move["partition"], move["from"], move["to"]) for move in joined["moved"]}
    owned = {p["partition"] for member in joined["members"] if member["name"] == "second" for p in member["partitions"]}
    assert moved == {(partition, "first", "second") for partition in owned}
    assert owned
    text = f"SELECT partition, from_client_id, to_client_id FROM moves WHERE log_offset = {joined['log_offset']}"
    assert {tuple(row.values()) for row in operator.ask("history", "sql", text)} == moved
    (counted,) = operator.ask("history", "rebalances", "--all-groups")
    assert counted["rebalances"] == sum(each["what"] == "rebalanced" for each in found)
    assert found[-1]["went"]


async def test_undo_of_a_consumer_without_membership_takes_back_the_commit_that_went_back(
    daemon: Daemon, operator: Operator
) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    partition = TopicPartition(TOPIC, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=daemon.address, group_id=GROUP, enable_auto_commit=False)
    consumer.assign([partition])
    await consumer.start()
    try:
        for offset in (10, 20, 30, 4, 6):
            await consumer.commit({partition: offset})
    finally:
        await consumer.stop()
    operator.reset("undo", GROUP, "--execute")
    assert operator.committed() == {(TOPIC, 0): 30}
    assert "never had members" in operator.err
    assert "committed once since" in operator.err

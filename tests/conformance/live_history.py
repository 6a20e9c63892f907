"""History, restore and undo where Kafka is the judge: its own reset tool against ours, and ours against its broker.

Kafka's tool reads the CSV that `coordinator restore --export` writes; a reset that Kafka's tool made is found in the
log and undone; and a real Kafka's data directory is read, its group restored over the wire while the broker runs.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.history.resets import REQUESTS_WITHIN_MS
from tests.clients.matrix_programs import tool_command
from tests.conformance.kafka import Kafka
from tests.history.test_live_history import iso
from tests.support.daemon import Daemon
from tests.support.eventually import eventually, eventually_async
from tests.support.questions import committed_offsets, describe_group, produce

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOPIC, PARTITIONS, RECORDS = "orders", 3, 50
GROUP = "shop"
NAMES = ("shop", 'comma, "quote"', "17", "ä😀")


class Place:
    """A broker with its data directory: ours, or a real Kafka."""

    def __init__(self, running: Daemon | Kafka, history_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.running = running
        self.port = running.port
        self.address = running.address
        self._history_dir = history_dir
        self._capsys = capsys
        self.err = ""
        for partition in range(PARTITIONS):
            produce(self.port, TOPIC, partition, [b"x"] * RECORDS)

    def ours(self, *words: str, code: int = 0) -> Any:
        """One of our commands, as JSON."""
        self._capsys.readouterr()
        place = ["--data-dir", str(self.running.data_dir), "--history-dir", str(self._history_dir)]
        found = main([*words, *place, "--json"])
        said = self._capsys.readouterr()
        self.err = said.err
        assert found == code, said.err
        return json.loads(said.out) if said.out else None

    def reset(self, *words: str, code: int = 0) -> Any:
        return self.ours(*words, "--bootstrap-server", self.address, code=code)

    def kafkas_tool(self, *words: str) -> str:
        """kafka-consumer-groups."""
        command = [*tool_command("consumer.group.ConsumerGroupCommand"), "--bootstrap-server", self.address, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def committed(self, group: str = GROUP) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in committed_offsets(self.port, group).items()}

    def work(self, *steps: dict[int, int], group: str = GROUP) -> list[int]:
        """A member that commits these; gives a quiet moment (ms) behind each commit."""
        moments = asyncio.run(_work(self.address, group, steps))
        eventually(lambda: describe_group(self.port, group).state == "Empty", "the member has left")
        return moments


async def _work(address: str, group: str, steps: tuple[dict[int, int], ...]) -> list[int]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    moments = []
    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=address, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        await eventually_async(lambda: len(consumer.assignment()) == PARTITIONS, "it has all partitions")
        for step in steps:
            await consumer.commit({TopicPartition(TOPIC, number): offset for number, offset in step.items()})
            await asyncio.sleep(0.003)  # a millisecond on both sides of the moment
            moments.append(time.time_ns() // 1_000_000)
            await asyncio.sleep(0.003)
    finally:
        await consumer.stop()
    return moments


@pytest.fixture
def daemon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Place]:
    overrides = ("offsets.topic.num.partitions=1", "group.initial.rebalance.delay.ms=0")
    with Daemon(tmp_path / "daemon", overrides=overrides, topics=[f"{TOPIC}:{PARTITIONS}"]) as running:
        yield Place(running, tmp_path / "history", capsys)


@pytest.fixture
def kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Place]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "log.roll.ms": "1000",  # so that there are closed segments: Kafka 4 takes no size below a megabyte
        "offsets.topic.num.partitions": "3",
    }
    with Kafka(tmp_path / "kafka", settings=settings) as running:
        running.create_topic(TOPIC, PARTITIONS)
        yield Place(running, tmp_path / "history", capsys)


@pytest.mark.parametrize("where", ["daemon", "kafka"])
def test_kafkas_reset_tool_reads_our_csv_in_both_forms(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(where)
    one, several = tmp_path / "one.csv", tmp_path / "several.csv"
    (moment, _) = place.work({0: 11, 1: 22, 2: 33}, {0: 44, 1: 45, 2: 46})
    place.reset("restore", GROUP, "--at", iso(moment), "--export", str(one), "--export-groups", str(several))
    for path in (one, several):
        place.reset("restore", GROUP, "--at", iso(int(time.time() * 1000)))
        said = place.kafkas_tool("--group", GROUP, "--reset-offsets", "--from-file", str(path), "--execute")
        assert place.committed() == {0: 11, 1: 22, 2: 33}, said
        place.reset("undo", GROUP, "--execute")
        assert place.committed() == {0: 44, 1: 45, 2: 46}, "what Kafka's tool did is undone"
    exported = place.kafkas_tool("--group", GROUP, "--all-topics", "--reset-offsets", "--to-current", "--export")
    latest = tmp_path / "latest.csv"
    place.reset("restore", GROUP, "--at", iso(int(time.time() * 1000)), "--export", str(latest))
    assert sorted(exported.split()) == sorted(latest.read_text().split()), "Kafka's own export has the same lines"


def test_names_that_need_quotes_pass_through_kafkas_tool(daemon: Place, tmp_path: Path) -> None:
    files = []
    for number, group in enumerate(NAMES):
        (moment, _) = daemon.work({0: 10 + number}, {0: 40}, group=group)
        files.append(tmp_path / f"{number}.csv")
        daemon.reset("restore", group, "--at", iso(moment), "--export-groups", str(files[-1]))
    together = tmp_path / "all.csv"
    together.write_text("".join(path.read_text() for path in files))
    groups = [word for group in NAMES for word in ("--group", group)]
    daemon.kafkas_tool(*groups, "--reset-offsets", "--from-file", str(together), "--execute")
    assert [daemon.committed(group)[0] for group in NAMES] == [10, 11, 12, 13]


def apart() -> None:
    """Wait a second: commits less than a second after a reset that name other partitions belong to it."""
    time.sleep((REQUESTS_WITHIN_MS + 100) / 1000)


RESETS = {
    "to-earliest": (["--to-earliest", "--topic", TOPIC], {0: 0, 1: 0, 2: 0}),
    "to-latest": (["--to-latest", "--all-topics"], {0: RECORDS, 1: RECORDS, 2: RECORDS}),
    "shift-by": (["--shift-by", "-5", "--topic", f"{TOPIC}:0,2"], {0: 25, 1: 31, 2: 27}),
    "to-offset": (["--to-offset", "7", "--topic", f"{TOPIC}:1"], {0: 30, 1: 7, 2: 32}),
}


@pytest.mark.parametrize("where", ["daemon", "kafka"])
def test_resets_made_by_kafkas_tool_are_found_and_undone_one_after_the_other(
    where: str, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(where)
    place.work({0: 3, 1: 3, 2: 3}, {0: 30, 1: 31, 2: 32})
    apart()
    for words, expected in RESETS.values():
        place.kafkas_tool("--group", GROUP, "--reset-offsets", *words, "--execute")
        assert place.committed() == expected
        plan = place.reset("undo", GROUP)
        assert {step["partition"] for step in plan["partitions"]} == {
            number for number in expected if "--topic" not in words or ":" not in words[-1] or str(number) in words[-1]
        }
        place.reset("undo", GROUP, "--execute")
        assert place.committed() == {0: 30, 1: 31, 2: 32}
        apart()
    place.kafkas_tool("--group", GROUP, "--reset-offsets", "--to-earliest", "--all-topics", "--execute")
    place.work({0: 8})
    place.reset("undo", GROUP, "--execute")
    assert place.committed() == {0: 30, 1: 31, 2: 32}, "also after the group went to work again"


def test_a_real_kafkas_past_is_read_extracted_and_restored(kafka: Place) -> None:
    steps = [{0: number, 1: 2 * number, 2: number % 3} for number in range(1, 25)]
    moments = kafka.work(*steps[:6])
    time.sleep(1.1)  # log.roll.ms: the next append begins a segment
    moments += kafka.work(*steps[6:12])
    assert kafka.ours("history", "extract")["segments"] > 0
    moments += kafka.work(*steps[12:])
    for moment, step in list(zip(moments, steps, strict=True))[::4]:
        plan = kafka.reset("restore", GROUP, "--at", iso(moment))
        assert {each["partition"]: each["then"] for each in plan["partitions"]} == step
    kafka.reset("restore", GROUP, "--at", iso(moments[5]), "--execute")
    assert kafka.committed() == steps[5]
    kafka.reset("undo", GROUP, "--execute")
    assert kafka.committed() == steps[-1]
    found = kafka.ours("history", "rebalances", GROUP)
    assert [each["what"] for each in found].count("rebalanced") >= 2
    assert found[-1]["what"] == "empty"
    rows = kafka.ours("history", "commits", GROUP, "--limit", "1000")
    assert len(rows) == 3 * len(steps) + 2 * 2, "of the third partition nothing differed"


def test_history_inside_a_kafkas_data_directory_is_refused(kafka: Place) -> None:
    words = ["history", "extract", "--data-dir", str(kafka.running.data_dir)]
    assert main(words) == 2
    assert not (kafka.running.data_dir / "history").exists()
    kafka.running.stop()
    kafka.running.start()

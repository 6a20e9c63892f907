"""`coordinator groups reset-offsets`, `delete-offsets` and `delete` against a daemon."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.cli.command_line import CommandLine
from tests.support.daemon import Daemon
from tests.support.group_member import alone_in_group
from tests.support.questions import commit_offsets, committed_offsets, list_groups
from tests.support.wire import Wire, call

pytestmark = pytest.mark.integration

HOUR_MS = 3_600_000
NUMBERS = itertools.count()
FIRST_MS = 1_700_006_400_000  # 2023-11-15T00:00:00Z


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose orders-0 has ten records, one for each hour from FIRST_MS on, and orders-1 has five."""
    overrides = ["group.initial.rebalance.delay.ms=0", "offsets.commit.topic.check=false"]
    with Daemon(tmp_path_factory.mktemp("daemon"), topics=["orders:3", "payments:1"], overrides=overrides) as running:
        for partition, count in ((0, 10), (1, 5)):
            for number in range(count):
                produce_at(running.port, partition, FIRST_MS + number * HOUR_MS)
        yield running


@pytest.fixture
def command(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(daemon.address, capsys)


@pytest.fixture
def group(daemon: Daemon) -> str:
    """A group of this test, without members, which has committed 4 of orders-0."""
    name = f"group-{next(NUMBERS)}"
    commit_offsets(daemon.port, name, {("orders", 0): 4})
    return name


def produce_at(port: int, partition: int, timestamp_ms: int) -> None:
    data = PartitionProduceData(
        index=partition, records=bytes(build_batch([(None, b"value")], timestamp_ms=timestamp_ms))
    )
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name="orders", partition_data=[data])]
    )
    answer = call(port, request, 9).responses[0].partition_responses[0]
    assert answer.error_code == 0, answer


TARGETS = [
    (["--to-earliest"], {0: 0, 1: 0, 2: 0}),
    (["--to-latest"], {0: 10, 1: 5, 2: 0}),
    (["--to-current"], {0: 4, 1: 5, 2: 0}),
    (["--to-offset", "7"], {0: 7, 1: 5, 2: 0}),
    (["--to-datetime", "2023-11-15T03:00:00.000"], {0: 3, 1: 3, 2: 0}),  # UTC, as for Kafka's tool
    (["--to-datetime", "2023-11-15T04:30:00.000+01:00"], {0: 4, 1: 4, 2: 0}),
    (["--to-datetime", "2023-11-15T07:00:00Z"], {0: 7, 1: 5, 2: 0}),  # orders-1 has no record since then
    (["--to-datetime", "0001-01-01T00:00:00"], {0: 0, 1: 0, 2: 0}),
    (["--by-duration", "P9999999999999999D"], {0: 0, 1: 0, 2: 0}),
    (["--by-duration", "P300D"], {0: 10, 1: 5, 2: 0}),
    (["--by-duration", "P20000D"], {0: 0, 1: 0, 2: 0}),
]


@pytest.mark.parametrize(("target", "wanted"), TARGETS)
def test_every_target_sets_the_offsets_of_all_partitions(
    command: CommandLine, daemon: Daemon, group: str, target: list[str], wanted: dict[int, int]
) -> None:
    shown = command("groups", "reset-offsets", group, "-t", "orders", *target, "--json")
    assert {row["partition"]: row["new_offset"] for row in shown.json} == wanted
    assert "nothing was changed; --execute would set 3 offsets" in shown.err
    assert committed_offsets(daemon.port, group) == {("orders", 0): 4}
    done = command("groups", "reset-offsets", "-t", "orders", *target, "--execute", "-g", group)
    assert f"done: 3 offsets of group {group} set" in done.err
    assert committed_offsets(daemon.port, group) == {("orders", index): offset for index, offset in wanted.items()}


@pytest.mark.parametrize(("shift", "wanted"), [("-3", 1), ("3", 7), ("-5", 0), ("100", 10)])
def test_offsets_are_shifted_within_the_log(
    command: CommandLine, daemon: Daemon, group: str, shift: str, wanted: int
) -> None:
    said = command("groups", "reset-offsets", group, "--topic", "orders:0", "--shift-by", shift, "--execute", "--json")
    assert [(row["current_offset"], row["new_offset"]) for row in said.json] == [(4, wanted)]
    assert ("its log" in (said.json[0]["note"] or "")) == (wanted in (0, 10))
    assert committed_offsets(daemon.port, group) == {("orders", 0): wanted}


def test_offset_that_is_not_there_cannot_be_shifted_and_the_others_are(
    command: CommandLine, daemon: Daemon, group: str
) -> None:
    said = command("groups", "reset-offsets", group, "-t", "orders:0,1", "--shift-by", "1", "--execute", code=1)
    assert said.lines[2][:4] == [group, "orders", "1", "-"]
    assert "it has no offset that could be shifted" in said.out
    assert committed_offsets(daemon.port, group) == {("orders", 0): 5}


def test_all_topics_are_those_with_an_offset(command: CommandLine, daemon: Daemon, group: str) -> None:
    commit_offsets(daemon.port, group, {("payments", 0): 3, ("gone", 0): 1})
    said = command("groups", "reset-offsets", group, "--all-topics", "--to-latest", "--execute", "--json", code=1)
    assert [(row["topic"], row["partition"], row["new_offset"], row["note"]) for row in said.json] == [
        ("gone", 0, None, "does not exist"),
        ("orders", 0, 10, None),
        ("payments", 0, 0, None),
    ]
    assert committed_offsets(daemon.port, group) == {("gone", 0): 1, ("orders", 0): 10, ("payments", 0): 0}


def test_plan_is_exported_and_read_back_in_the_csv_of_kafka(
    command: CommandLine, daemon: Daemon, group: str, tmp_path: Path
) -> None:
    commit_offsets(daemon.port, "other", {("payments", 0): 0})
    one = command("groups", "reset-offsets", group, "-t", "orders", "--to-datetime", "2023-11-15T03:00Z", "--export")
    assert one.out == "orders,0,3\norders,1,3\norders,2,0\n"
    assert "orders-2: it has no record since then: set to the end" in one.err
    both = command("groups", "reset-offsets", group, "other", "--all-topics", "--to-current", "--export")
    assert sorted(both.out.splitlines()) == sorted([f"{group},orders,0,4", "other,payments,0,0"])
    plan = tmp_path / "plan.csv"
    plan.write_text(one.out)
    said = command("groups", "reset-offsets", group, "--from-file", str(plan), "--execute", "--json")
    assert [row["new_offset"] for row in said.json] == [3, 3, 0]
    plan.write_text(f"{group},orders,0,1\nother,orders,1,99\n")
    command("groups", "reset-offsets", group, "other", "--from-file", str(plan), "--execute")
    assert committed_offsets(daemon.port, group)["orders", 0] == 1
    assert committed_offsets(daemon.port, "other") == {("payments", 0): 0, ("orders", 1): 5}


def test_group_with_members_is_refused_by_name(command: CommandLine, daemon: Daemon, group: str) -> None:
    async def play() -> None:
        async with await Wire.connect(daemon.port, client_id="web-7") as wire:
            member = await alone_in_group(wire, group, "orders", 3)
            for words in (["--execute"], ["--dry-run"], ["--export"]):
                said = await asyncio.to_thread(
                    command, "groups", "reset-offsets", group, "-t", "orders", "--to-latest", *words, code=1
                )
                assert said.out == ""
                assert f"coordinator: group {group!r} is Stable with 1 member (web-7 at 127.0.0.1)" in said.err
                assert f"until `coordinator groups describe {group} --state` says Empty" in said.err
            words = ["reset-offsets", group, "spare", "-t", "orders:0", "--to-latest", "--execute"]
            said = await asyncio.to_thread(command, "groups", *words, code=1)
            assert "done: 1 offset of group spare set" in said.err and f"group {group!r} is Stable" in said.err
            assert committed_offsets(daemon.port, "spare") == {("orders", 0): 10}
            said = await asyncio.to_thread(command, "groups", "delete", group, "other group", code=1)
            assert f"group {group!r} was not deleted: NON_EMPTY_GROUP" in said.err
            assert "there is no group 'other group'" in said.err
            said = await asyncio.to_thread(command, "groups", "delete-offsets", group, "-t", "orders:0", code=1)
            assert "GROUP_SUBSCRIBED_TO_TOPIC" in said.err and "stop the members that read 'orders'" in said.err
            await member.leave()

    asyncio.run(play())
    assert committed_offsets(daemon.port, group) == {("orders", 0): 4}


def test_new_group_gets_offsets_before_its_first_member(command: CommandLine, daemon: Daemon) -> None:
    said = command("groups", "reset-offsets", "unborn", "-t", "orders:1", "--to-offset", "2", "--execute")
    assert "there is no group 'unborn' yet: with --execute it comes into being" in said.err
    assert committed_offsets(daemon.port, "unborn") == {("orders", 1): 2}
    assert (
        "has no offsets of group 'none'"
        in command("groups", "reset-offsets", "none", "--all-topics", "--to-latest", code=1).err
    )


WRONG = [
    (["-t", "nowhere", "--to-latest"], 1, "there is no topic 'nowhere'"),
    (["-t", "orders:7", "--to-latest"], 1, "topic 'orders' has no partition 7; it has 0 to 2"),
    (["-t", "orders:x", "--to-latest"], 2, "--topic 'orders:x' names no partitions"),
    (["--to-latest"], 2, "choose the partitions with --topic or --all-topics"),
    (["--all-topics", "--from-file", "x"], 2, "choose the partitions with --topic or --all-topics"),
    (["-t", "orders", "--to-datetime", "yesterday"], 2, "--to-datetime 'yesterday' is not a time"),
    (["-t", "orders", "--by-duration", "PT"], 2, "--by-duration 'PT' is not a duration"),
    (["--from-file", "/nowhere/plan.csv"], 2, "--from-file /nowhere/plan.csv cannot be read"),
]


@pytest.mark.parametrize(
    ("words", "code", "sentence"), WRONG, ids=lambda each: " ".join(each) if each is list else None
)
def test_wrong_call_is_one_sentence(
    command: CommandLine, group: str, words: list[str], code: int, sentence: str
) -> None:
    said = command("groups", "reset-offsets", group, *words, code=code)
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"coordinator: {sentence}")


def test_file_with_a_wrong_line_is_refused_by_its_number(command: CommandLine, group: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("orders,0,1\n\norders,zero,1\n")
    said = command("groups", "reset-offsets", group, "--from-file", str(plan), "--execute", code=2)
    assert "line 3 is 'orders,zero,1'" in said.err


def test_committed_offsets_of_a_topic_or_a_partition_are_deleted(
    command: CommandLine, daemon: Daemon, group: str
) -> None:
    commit_offsets(daemon.port, group, {("orders", 1): 2, ("orders", 2): 0, ("payments", 0): 1, ("gone", 0): 6})
    said = command("groups", "delete-offsets", group, "-t", "orders:1,9", "--topic", "gone", "-o", "csv")
    assert said.out.splitlines() == [
        "group,topic,partition,deleted_offset",
        f"{group},gone,0,6",
        f"{group},orders,1,2",
    ]
    assert committed_offsets(daemon.port, group) == {("orders", 0): 4, ("orders", 2): 0, ("payments", 0): 1}
    command("groups", "delete-offsets", group, "-t", "orders")
    assert committed_offsets(daemon.port, group) == {("payments", 0): 1}
    assert "there is nothing to delete" in command("groups", "delete-offsets", group, "-t", "orders", code=1).err
    assert "there is no group 'none'" in command("groups", "delete-offsets", "none", "-t", "orders", code=1).err


def test_groups_are_deleted(command: CommandLine, daemon: Daemon, group: str) -> None:
    commit_offsets(daemon.port, "second", {("orders", 0): 1})
    said = command("groups", "delete", group, "-g", "second", "--json")
    assert said.json == [{"group": group, "deleted": True}, {"group": "second", "deleted": True}]
    assert not {group, "second"} & set(list_groups(daemon.port))
    assert command("groups", "delete", group, code=1).err.startswith(f"coordinator: there is no group {group!r}; ")

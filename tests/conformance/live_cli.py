"""`coordinator groups` and `topics` against a real Kafka, and its kafka-consumer-groups on the CSV that we export.

Needs a real Kafka, so `make interchange` runs it and `make test` does not. The same verbs are tested against a daemon
in tests/cli.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from coordinator.explain import transactions
from protocol.error_codes import ErrorCode
from tests.cli.command_line import CommandLine
from tests.conformance.kafka import Kafka, java
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.questions import commit_offsets, committed_offsets, list_groups, produce
from tests.support.transactional import LIMIT_S, read, transactional_producer
from tests.support.wire import Wire

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka whose orders-0 has ten records."""
    settings = {"group.initial.rebalance.delay.ms": "0", "transaction.state.log.num.partitions": "2"}
    with Kafka(tmp_path_factory.mktemp("kafka"), settings=settings) as running:
        running.create_topic("orders", 2)
        for number in range(10):
            produce(running.port, "orders", 0, [str(number).encode()])
        yield running


@pytest.fixture
def command(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(kafka.address, capsys)


def theirs(kafka: Kafka, *words: str) -> str:
    """Return what kafka-consumer-groups prints."""
    tool = java("tools", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
    done = subprocess.run(
        [*tool, "--bootstrap-server", kafka.address, *words], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    "target",
    [
        ["--to-earliest"],
        ["--to-latest"],
        ["--to-current"],
        ["--to-offset", "99"],
        ["--shift-by", "-9"],
        ["--to-datetime", "2020-01-01T00:00:00.000"],
        ["--to-datetime", "2999-01-01T00:00:00.000"],
        ["--by-duration", "PT1H"],
    ],
    ids=" ".join,
)
def test_every_target_gives_the_offsets_that_kafkas_own_tool_gives(
    kafka: Kafka, command: CommandLine, target: list[str]
) -> None:
    for topics in (["--topic", "orders:0"], ["--all-topics"]):
        commit_offsets(kafka.port, "reset", {("orders", 0): 4})
        plan = theirs(kafka, "--group", "reset", "--reset-offsets", *topics, *target, "--export", "--dry-run")
        assert (
            command("groups", "reset-offsets", "reset", *topics, *target, "--export").out.split() == plan.split()[-1:]
        )
        assert committed_offsets(kafka.port, "reset") == {("orders", 0): 4}
        command("groups", "reset-offsets", "reset", *topics, *target, "--execute")
        wanted = int(plan.split()[-1].rpartition(",")[2])
        assert committed_offsets(kafka.port, "reset") == {("orders", 0): wanted}


def test_each_tool_executes_the_plan_of_the_other(kafka: Kafka, command: CommandLine, tmp_path: Path) -> None:
    groups = ["--group", "first", "--group", "second"]
    for group in ("first", "second"):
        commit_offsets(kafka.port, group, {("orders", 0): 4, ("orders", 1): 0})
    plan = tmp_path / "plan.csv"
    for names, ours in ((groups[:2], ["first"]), (groups, ["first", "second"])):
        plan.write_text(command("groups", "reset-offsets", *ours, "--all-topics", "--to-latest", "--export").out)
        theirs(kafka, *names, "--reset-offsets", "--from-file", str(plan), "--execute")
        for group in ours:
            assert committed_offsets(kafka.port, group) == {("orders", 0): 10, ("orders", 1): 0}
        printed = theirs(kafka, *names, "--reset-offsets", "--all-topics", "--to-offset", "6", "--export", "--dry-run")
        plan.write_text("".join(f"{line}\n" for line in printed.splitlines() if line.count(",") > 1))
        command("groups", "reset-offsets", *ours, "--from-file", str(plan), "--execute")
        for group in ours:
            assert committed_offsets(kafka.port, group) == {("orders", 0): 6, ("orders", 1): 0}


def test_group_with_a_member_is_described_refused_and_deleted_once_it_is_kicked(
    kafka: Kafka, command: CommandLine
) -> None:
    async def play() -> None:
        async with await Wire.connect(kafka.port, client_id="web-7") as wire:
            member = await alone_in_group(wire, "busy", "orders", 2)
            await member.commit({("orders", 0): 4})
            said = await asyncio.to_thread(command, "groups", "describe", "busy", "--json")
            assert [(row["partition"], row["lag"], row["consumer_id"]) for row in said.json] == [
                (0, 6, member.member_id),
                (1, None, member.member_id),
            ]
            assert "group 'busy': Stable, 1 member, 2 partitions, total lag 6 (1 unknown)" in said.err
            words = ["reset-offsets", "busy", "--all-topics", "--to-latest", "--execute"]
            said = await asyncio.to_thread(command, "groups", *words, code=1)
            assert "group 'busy' is Stable with 1 member (web-7 at 127.0.0.1)" in said.err
            said = await asyncio.to_thread(command, "groups", "delete", "busy", code=1)
            assert "group 'busy' was not deleted: NON_EMPTY_GROUP" in said.err
            said = await asyncio.to_thread(command, "groups", "delete-offsets", "busy", "-t", "orders", code=1)
            assert "GROUP_SUBSCRIBED_TO_TOPIC" in said.err
            await asyncio.to_thread(command, "groups", "kick", "busy", member.member_id[:12], "--reason", "test")
            assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID

    asyncio.run(play())
    command("groups", "delete-offsets", "busy", "-t", "orders:0")
    assert committed_offsets(kafka.port, "busy") == {}
    command("groups", "delete", "busy", code=1 if "busy" not in list_groups(kafka.port) else 0)
    assert "busy" not in list_groups(kafka.port)
    assert "there is no group 'busy'" in command("groups", "describe", "busy", code=1).err


def test_static_member_is_kicked_by_its_instance_id(kafka: Kafka, command: CommandLine) -> None:
    async def play() -> None:
        async with await Wire.connect(kafka.port) as wire:
            member = GroupMember(wire, "static", ["orders"], instance_id="web-7")
            assert await member.join() is ErrorCode.NONE
            assert await member.sync({member.member_id: [("orders", 0)]}) is ErrorCode.NONE
            await asyncio.to_thread(command, "groups", "kick", "web-7")
            assert await member.heartbeat() in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

    asyncio.run(play())


def test_topics_are_created_altered_described_and_deleted(command: CommandLine) -> None:
    command("topics", "create", "made:2", "--config", "retention.ms=1000")
    command(
        "topics", "alter", "made", "--partitions", "3", "--config", "segment.ms=7000", "--delete-config", "retention.ms"
    )
    rows = command("topics", "describe", "made", "--json").json
    assert [(row["partition"], row["log_end_offset"]) for row in rows] == [(0, 0), (1, 0), (2, 0)]
    rows = command("topics", "describe", "made", "--configs", "--json").json
    assert [(row["key"], row["value"], row["source"]) for row in rows] == [("segment.ms", "7000", "topic")]
    command("topics", "delete", "made")
    assert "there is no topic 'made'" in command("topics", "delete", "made", code=1).err


def test_group_of_the_newer_protocol_is_described_kept_from_resets_and_its_members_kicked(
    kafka: Kafka, command: CommandLine
) -> None:
    consumers = [
        Consumer(
            {
                "bootstrap.servers": kafka.address,
                "group.id": "newer",
                "group.protocol": "consumer",
                "client.id": name,
                **({"group.instance.id": name} if name == "static" else {}),
            }
        )
        for name in ("dynamic", "static")
    ]
    try:
        for consumer in consumers:
            consumer.subscribe(["orders"])

        def each_has_a_partition() -> bool:
            for consumer in consumers:
                consumer.poll(0.1)
            return all(len(consumer.assignment()) == 1 for consumer in consumers)

        eventually(each_has_a_partition, "both members have a partition", within_s=60)
        rows = command("groups", "describe", "newer", "--members", "--verbose", "--json").json
        members = {row["client_id"]: row for row in rows}
        assert {name: row["partitions"] for name, row in members.items()} == {"dynamic": 1, "static": 1}
        assert members["static"]["group_instance_id"] == "static" and members["static"]["member_epoch"] > 0
        (row,) = command("groups", "describe", "newer", "--state", "--verbose", "--json").json
        assert (row["state"], row["type"]) == ("Stable", "Consumer")
        assert row["group_epoch"] > 0
        said = command("groups", "reset-offsets", "newer", "-t", "orders", "--to-latest", "--execute", code=1)
        assert "group 'newer' is Stable with 2 members" in said.err
        command("groups", "kick", "newer", "static")
        command("groups", "kick", members["dynamic"]["consumer_id"][:12])
        said = command("groups", "kick", members["dynamic"]["consumer_id"], code=1)
        assert "no group has a member" in said.err
    finally:
        for consumer in consumers:
            consumer.close()


def test_explain_says_that_a_kafka_records_no_reasons_and_what_describe_groups_tells(
    kafka: Kafka, command: CommandLine
) -> None:
    async def play() -> None:
        async with await Wire.connect(kafka.port, client_id="web-7") as wire:
            await alone_in_group(wire, "explained", "orders", 2)
            said = await asyncio.to_thread(command, "groups", "explain", "explained", code=2)
            assert not said.out
            assert "is not this project's coordinator" in said.err
            assert said.err.endswith("DescribeGroups says: the group is Stable and has 1 member (web-7 on 127.0.0.1)\n")

    asyncio.run(play())


def test_a_transaction_that_holds_a_group_back_is_named_and_can_be_aborted_in_its_partition(
    kafka: Kafka, command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "OPEN_FOR_MS", 0)  # each open transaction counts as a long one
    kafka.create_topic("out", 1)
    done = transactional_producer(kafka.address, "done")
    done.begin_transaction()
    done.produce("out", "1", partition=0)
    done.commit_transaction(LIMIT_S)
    stuck = transactional_producer(kafka.address, "stuck")
    stuck.begin_transaction()
    stuck.produce("out", "2", partition=0)
    assert stuck.flush(LIMIT_S) == 0
    commit_offsets(kafka.port, "readers", {("out", 0): 1})  # the marker of `done` is at 1

    said = command("groups", "explain", "readers", code=2).err
    assert "Readers of committed records are held back at offset 2 of out-0, the last stable offset, 1 offset " in said
    assert "transactional id 'stuck' has a transaction open for " in said
    assert "`coordinator transactions abort stuck`" in said
    (row,) = command("transactions", "abort", "--topic=out", "--partition=0", "--start-offset=2", "--json").json
    assert row["aborted"] is True
    assert read(kafka.address, "out") == ["1"]
    assert "held back" not in command("groups", "explain", "readers", code=2).err

"""The topic of events: what happens to groups is in it, any consumer can read it, and a start reads it again."""

from __future__ import annotations

import asyncio
import errno
import itertools
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.core.events.model import (
    Cause,
    ChangeKind,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
)
from coordinator.core.shard import partition_for
from coordinator.core.topics.names import EVENTS_TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.faulty_disk import FaultyDisk
from tests.support.group_events import PARTITIONS, read_topic, story
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire, call

pytestmark = pytest.mark.integration

OVERRIDES = ("group.initial.rebalance.delay.ms=0",)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path / "d", overrides=OVERRIDES, topics=("orders:4",), http="127.0.0.1:0") as running:
        yield running


def metric(daemon: Daemon, name: str) -> int:
    port = re.findall(r"http listen=127\.0\.0\.1:(\d+)", daemon.log_text())[-1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return int(float(re.findall(rf"^{name} (\S+)$", text, re.MULTILINE)[0]))


def events_on_disk(daemon: Daemon, group: str) -> int:
    """Count the records about a group in the topic."""
    directory = daemon.data_dir / f"{EVENTS_TOPIC}-{partition_for(group, PARTITIONS)}"
    return sum(path.read_bytes().count(b'"group":"%s"' % group.encode()) for path in directory.glob("*.log"))


async def one_rebalance_by_a_second_member(port: int, group: str) -> None:
    async with await Wire.connect(port, client_id="web-1") as first, await Wire.connect(port, client_id="web-2") as two:
        leader = await alone_in_group(first, group, "orders")
        follower = GroupMember(two, group, ["orders"])
        joining = asyncio.create_task(follower.join())
        await leader.notices_a_rebalance()
        assert await leader.join() is ErrorCode.NONE
        assert await joining is ErrorCode.NONE
        owned = {leader.member_id: [("orders", 0)], follower.member_id: [("orders", 1)]}
        assert await leader.sync(owned) is ErrorCode.NONE
        assert await follower.sync() is ErrorCode.NONE


async def test_a_consumer_reads_what_happened_to_each_group(daemon: Daemon) -> None:
    for group in ("red", "green", "blue"):
        await one_rebalance_by_a_second_member(daemon.port, group)
    found = await read_topic(daemon.address, 6)
    for group in ("red", "green", "blue"):
        rebalances = [event for event in found if event.group == group and isinstance(event, Rebalance)]
        assert [event.trigger.cause for event in rebalances] == [Cause.MEMBER_JOINED] * 2
        last = rebalances[-1]
        assert (last.outcome, last.previous_generation, last.generation) == (RebalanceOutcome.STABLE, 1, 2)
        assert last.trigger.member.client_id == "web-2"
        assert [change.member.client_id for change in last.changes if change.kind is ChangeKind.JOINED] == ["web-2"]
        in_memory = [event for event in story(daemon.port, group) if isinstance(event, Rebalance)]
        assert in_memory[: len(rebalances)] == rebalances


def test_the_topic_is_internal_and_clients_only_read_it(daemon: Daemon) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=EVENTS_TOPIC)])
    eventually(lambda: call(daemon.port, asked, 9).topics[0].error_code == 0, "the topic exists")
    [topic] = call(daemon.port, asked, 9).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, PARTITIONS)
    records = bytes(build_batch([(b"g", b"forged")], timestamp_ms=0))
    data = TopicProduceData(name=EVENTS_TOPIC, partition_data=[PartitionProduceData(index=0, records=records)])
    [answer] = call(daemon.port, ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]), 9).responses
    assert answer.partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    resource = DescribeConfigsResource(resource_type=2, resource_name=EVENTS_TOPIC, configuration_keys=None)
    [described] = call(daemon.port, DescribeConfigsRequest(resources=[resource]), 2).results
    configs = {each.name: each.value for each in described.configs}
    assert (configs["retention.ms"], configs["retention.bytes"]) == ("604800000", str(64 << 20))


async def test_events_from_before_a_kill_are_told_after_it(daemon: Daemon) -> None:
    await one_rebalance_by_a_second_member(daemon.port, "orders-app")
    before = story(daemon.port, "orders-app")
    assert len(before) >= 2
    eventually(lambda: events_on_disk(daemon, "orders-app") >= len(before), "the events are written")
    daemon.restart()
    eventually(lambda: len(story(daemon.port, "orders-app")) > len(before), "the events are read")
    after = story(daemon.port, "orders-app")
    assert after[: len(before)] == before
    loaded = [event for event in after[len(before) :] if isinstance(event, Incident)]
    assert [(event.what, event.generation) for event in loaded] == [(IncidentKind.GROUP_LOADED, 2)]
    eventually(lambda: events_on_disk(daemon, "orders-app") == len(before) + 1, "the load is written, once")
    daemon.restart()
    eventually(lambda: len(story(daemon.port, "orders-app")) >= len(before) + 2, "the events are read")
    assert story(daemon.port, "orders-app")[: len(before)] == before


async def test_a_group_without_events_writes_none(daemon: Daemon) -> None:
    async with await Wire.connect(daemon.port) as wire:
        member = await alone_in_group(wire, "quiet", "orders")
        eventually(lambda: events_on_disk(daemon, "quiet") == 1, "the first rebalance is written")
        written = metric(daemon, "coordinator_group_events_written_total")
        for number in range(50):
            assert await member.heartbeat() is ErrorCode.NONE
            assert await member.commit({("orders", 0): number}) is ErrorCode.NONE
    assert metric(daemon, "coordinator_group_events_written_total") == written
    assert metric(daemon, "coordinator_group_events_dropped_total") == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
async def test_groups_go_on_while_the_partition_of_their_events_fails(tmp_path: Path, number: int) -> None:
    disk = FaultyDisk(tmp_path / "fault")
    groups = (name for name in map("g{}".format, range(10_000)) if partition_for(name, PARTITIONS) == 3)
    daemon = Daemon(
        tmp_path / "d", overrides=OVERRIDES, topics=("orders:4",), http="127.0.0.1:0", environment=disk.environment
    )
    with daemon:
        async with await Wire.connect(daemon.port) as wire:
            first = next(groups)
            await alone_in_group(wire, first, "orders")
            eventually(lambda: events_on_disk(daemon, first) == 1, "the event is written")
            disk.fail(number, daemon.data_dir / f"{EVENTS_TOPIC}-3")
            for group in itertools.islice(groups, 20):
                member = await alone_in_group(wire, group, "orders")
                assert await member.commit({("orders", 0): 5}) is ErrorCode.NONE
                assert len(story(daemon.port, group)) == 1, "in memory they are kept"
            eventually(lambda: metric(daemon, "coordinator_group_events_dropped_total") == 20, "events are counted")
            assert 1 <= daemon.log_text().count("events of groups were not written") <= 5
            disk.heal()
            async with asyncio.timeout(30):
                while not events_on_disk(daemon, group):
                    group = next(groups)
                    await alone_in_group(wire, group, "orders")
                    await asyncio.sleep(0.1)


async def test_groups_go_on_without_the_directory_of_their_events(daemon: Daemon) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=EVENTS_TOPIC)])
    eventually(lambda: call(daemon.port, asked, 9).topics[0].error_code == 0, "the topic exists")
    for path in daemon.data_dir.glob(f"{EVENTS_TOPIC}-*"):
        shutil.rmtree(path)
    async with await Wire.connect(daemon.port) as wire:
        member = await alone_in_group(wire, "g", "orders")
        assert await member.commit({("orders", 0): 5}) is ErrorCode.NONE
    assert len(story(daemon.port, "g")) == 1
    daemon.restart()
    async with await Wire.connect(daemon.port) as wire:
        await alone_in_group(wire, "h", "orders")
    eventually(lambda: events_on_disk(daemon, "h") == 1, "the log begins anew")


def test_the_topic_can_be_switched_off(tmp_path: Path) -> None:
    overrides = (*OVERRIDES, "group.events.topic.enable=false")
    with Daemon(tmp_path / "d", overrides=overrides, topics=("orders:4",)) as daemon:
        asyncio.run(one_rebalance_by_a_second_member(daemon.port, "g"))
        assert len(story(daemon.port, "g")) == 2
        names = {topic.name for topic in call(daemon.port, MetadataRequest(topics=None), 9).topics}
        assert EVENTS_TOPIC not in names and "orders" in names


async def test_settings_of_retention_take_effect_with_the_next_start(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d", overrides=OVERRIDES, topics=("orders:4",)) as daemon:
        await one_rebalance_by_a_second_member(daemon.port, "g")
        eventually(lambda: events_on_disk(daemon, "g") == 2, "the events are written")
    short = (*OVERRIDES, "group.events.retention.ms=100", "log.retention.check.interval.ms=100")
    with Daemon(tmp_path / "d", overrides=short) as daemon:
        eventually(lambda: events_on_disk(daemon, "g") == 0, "retention has removed them")

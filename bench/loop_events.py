"""CPU time for which single events hold the loop, with a million objects in memory, measured in process.

A real runtime, core, connections and offsets log run on a loop moved by hand, which measures each callback by
`time.thread_time`: what other threads do, or another process on the machine, does not count. For each scenario the
longest callback is printed, with how many there were and what they took together. `bench/stalls.py` asks the same of a
running daemon from outside, by how late its answers are.

    python -m bench.loop_events [--scale 1.0] [names ...]
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import count as count_from_0
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.measured_loop import World
from coordinator.core.effects import ClientSoftware, Ticket
from coordinator.core.group.group import Group
from coordinator.core.group.member import Member
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import STABLE
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.scan import schedule_scan
from coordinator.core.offsets.store import CommittedOffset, OffsetStore
from coordinator.core.topics.catalogue import Document, TopicFacts
from coordinator.server.answers import Slot
from coordinator.server.status import status_of
from protocol.client import encode_frame
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.record_batch import build_batch, read_header

MEMBER = "consumer-1-00000000-0000-0000-0000-{:012d}"
SUBSCRIPTION = encode_subscription(Subscription(topics=["orders", "payments"]), 0)


Scenario = Callable[[World, float], Iterator[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Registered by its name; what comes before the `yield` is preparation and not measured."""
    SCENARIOS[function.__name__] = function
    return function


@scenario
def list_groups_100k(world: World, scale: float) -> Iterator[None]:
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10)
    peer = world.peer()
    yield
    peer.send(ListGroupsRequest(), 5)


@scenario
def fetch_100k_offsets_of_one_group(world: World, scale: float) -> Iterator[None]:
    world.group("big", 10, int(10_000 * scale))
    peer = world.peer()
    yield
    wanted = [OffsetFetchRequestGroup(group_id="big", topics=None)]
    peer.send(OffsetFetchRequest(groups=wanted), 8)


@scenario
def fetch_100k_offsets_v7(world: World, scale: float) -> Iterator[None]:
    world.group("big", 1, int(100_000 * scale))
    peer = world.peer()
    yield
    peer.send(OffsetFetchRequest(group_id="big", topics=None, require_stable=True), 7)


@scenario
def expire_1m_offsets_of_100k_groups(world: World, scale: float) -> Iterator[None]:
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10, old=True)
    yield
    _scan_now(world)


@scenario
def scan_1m_offsets_nothing_expires(world: World, scale: float) -> Iterator[None]:
    for number in range(int(1_000 * scale)):
        world.group(f"group-{number}", 10, 100)
    yield
    _scan_now(world)


@scenario
def expire_100k_offsets_of_one_group(world: World, scale: float) -> Iterator[None]:
    world.group("big", 10, int(10_000 * scale), old=True)
    yield
    _scan_now(world)


def _scan_now(world: World) -> None:
    """The next round of every partition is due, ten minutes early."""
    for partition in range(8):
        shard = world.core.partition(partition)
        assert shard.scan is not None
        shard.scan.cancel()
        schedule_scan(shard, world.core.timers, world.core._context)
    world.loop.skew += 600.5
    world.runtime._touched = True
    world.runtime.end_of_event()


@scenario
def delete_topic_of_100k_groups(world: World, scale: float) -> Iterator[None]:
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 2, 5)
    yield
    world.loop.measure(
        lambda: world.runtime.execute(world.core.topic_partitions_deleted("topic-1", range(5), world.runtime.now_ms())),
        name="topic_partitions_deleted",
    )
    world.runtime.end_of_event()


@scenario
def delete_topic_of_1000_partitions_in_1000_groups(world: World, scale: float) -> Iterator[None]:
    for number in range(int(1000 * scale)):
        world.group(f"group-{number}", 1, 1000)
    yield
    world.loop.measure(
        lambda: world.runtime.execute(
            world.core.topic_partitions_deleted("topic-0", range(1000), world.runtime.now_ms())
        ),
        name="topic_partitions_deleted",
    )
    world.runtime.end_of_event()


@scenario
def describe_10k_groups(world: World, scale: float) -> Iterator[None]:
    names = [f"group-{number}" for number in range(int(10_000 * scale))]
    for name in names:
        world.group(name, 1, 1)
    peer = world.peer()
    yield
    peer.send(DescribeGroupsRequest(groups=names), 5)


@scenario
def delete_10k_groups(world: World, scale: float) -> Iterator[None]:
    names = [f"group-{number}" for number in range(int(10_000 * scale))]
    for name in names:
        world.group(name, 1, 10)
    peer = world.peer()
    yield
    peer.send(DeleteGroupsRequest(groups_names=names), 2)


@scenario
def delete_a_group_of_10k_offsets(world: World, scale: float) -> Iterator[None]:
    world.group("big", 1, int(10_000 * scale))
    peer = world.peer()
    yield
    peer.send(DeleteGroupsRequest(groups_names=["big"]), 2)


@scenario
def commit_1000_partitions(world: World, scale: float) -> Iterator[None]:
    peer = world.peer()
    partitions = [OffsetCommitRequestPartition(partition_index=n, committed_offset=n) for n in range(1000)]
    yield
    request = OffsetCommitRequest(
        group_id="one", topics=[OffsetCommitRequestTopic(name="topic", partitions=partitions)]
    )
    peer.send(request, 8)


@scenario
def rebalance_of_5000_members(world: World, scale: float) -> Iterator[None]:
    count = int(5000 * scale)
    peers = [world.peer() for _ in range(count)]
    yield
    join = JoinGroupRequest(
        group_id="huge",
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
    )
    for peer in peers:
        peer.send(join, 3)
    world.loop.run(0.3)
    (group,) = (group for group in world.core.groups.values() if group.group_id == "huge")
    assert group.state.value == "CompletingRebalance", group
    assignments = [
        SyncGroupRequestAssignment(member_id=member_id, assignment=b"a" * 100) for member_id in group.members
    ]
    leader = next(iter(group.members))
    for peer, member_id in reversed(list(zip(peers, group.members, strict=True))):
        sync = SyncGroupRequest(
            group_id="huge",
            generation_id=group.generation,
            member_id=member_id,
            assignments=assignments if member_id == leader else [],
        )
        peer.send(sync, 3)
    world.loop.run(0.3)
    assert group.state.value == "Stable", group
    peers[0].send(DescribeGroupsRequest(groups=["huge"]), 5)


@scenario
def sessions_of_100k_members_move_down_the_wheel_and_expire(world: World, scale: float) -> Iterator[None]:
    world.begin_event()
    event = world.core._context
    for number in range(int(10_000 * scale)):
        group = world.group(f"group-{number}", 1, 1)
        for index in range(10):
            member = Member(
                MEMBER.format(index), None, "c", "/h", 60_000, 45_000, "consumer", (("range", SUBSCRIPTION),)
            )
            group.add(member)
            restart_session(group, member, 45_000, event)
        group.protocol_name = "range"
        group.state = STABLE
        group.compute_subscribed_topics()
    yield
    for _ in range(100):
        world.loop.skew += 0.5
        world.runtime._touched = True
        world.runtime.end_of_event()
        world.loop.run(0.0)


@scenario
def full_collection_of_1m_offsets(world: World, scale: float) -> Iterator[None]:
    for number in range(int(10_000 * scale)):
        world.group(f"group-{number}", 10, 10)
    yield
    gc.unfreeze()
    world.loop.measure(gc.collect, name="gc.collect")


@scenario
def metrics_scrape(world: World, scale: float) -> Iterator[None]:
    from coordinator.metrics.exposition import expose

    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10)
    peer = world.peer()
    peer.send(ListGroupsRequest(states_filter=["Dead"]), 5)
    yield
    world.loop.measure(
        lambda: expose(status_of(world.runtime, None, ready=True, stopping=False, started_at=0.0).metrics, ""),
        name="scrape",
    )


@scenario
def shutdown_with_1m_offsets(world: World, scale: float) -> Iterator[None]:
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10)
    yield
    world.shutdown()


def _fill(group: Group, members: int) -> None:
    """Make a Stable group of so many members."""
    protocols = (("range", SUBSCRIPTION),)
    for index in range(members):
        group.add(Member(MEMBER.format(index), None, "c", "/h", 60_000, 45_000, "consumer", protocols))
    group.protocol_name = "range"
    group.shard.groups_by_state[group.state] -= 1
    group.state = STABLE
    group.shard.groups_by_state[STABLE] += 1
    group.compute_subscribed_topics()


def _join_of(group_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
    )


@scenario
def fetch_1m_offsets_of_one_group(world: World, scale: float) -> Iterator[None]:
    world.group("big", 100, int(10_000 * scale))
    peer = world.peer()
    yield
    peer.send(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="big", topics=None)]), 8)


@scenario
def expire_1m_offsets_of_one_group(world: World, scale: float) -> Iterator[None]:
    world.group("big", 100, int(10_000 * scale), old=True)
    yield
    _scan_now(world)


@scenario
def delete_topic_with_1m_offsets_of_100_groups(world: World, scale: float) -> Iterator[None]:
    """A topic has max.partitions at most, 10,000 by default."""
    for number in range(100):
        world.group(f"group-{number}", 1, int(10_000 * scale))
    for partition in range(8):
        world.core.partition(partition).next_offset = 1  # behind what was committed
    yield
    world.loop.measure(
        lambda: world.runtime.execute(
            world.core.topic_partitions_deleted("topic-0", range(int(10_000 * scale)), world.runtime.now_ms())
        ),
        name="topic_partitions_deleted",
    )
    world.runtime.end_of_event()


@scenario
def delete_a_group_of_1m_offsets(world: World, scale: float) -> Iterator[None]:
    world.group("big", 100, int(10_000 * scale))
    peer = world.peer()
    yield
    peer.send(DeleteGroupsRequest(groups_names=["big"]), 2)
    world.loop.run(0.5)
    assert "big" not in world.core.groups, world.core.groups


@scenario
def delete_100k_groups(world: World, scale: float) -> Iterator[None]:
    names = [f"group-{number}" for number in range(int(100_000 * scale))]
    for name in names:
        world.group(name, 1, 10)
    peer = world.peer()
    yield
    for start in range(0, len(names), 10_000):
        peer.send(DeleteGroupsRequest(groups_names=names[start : start + 10_000]), 2)
    world.loop.run(0.5)
    assert not world.core.groups, len(world.core.groups)


@scenario
def delete_12k_offsets_of_1m(world: World, scale: float) -> Iterator[None]:
    world.group("big", 100, int(10_000 * scale))
    peer = world.peer()
    yield
    partitions = [OffsetDeleteRequestPartition(partition_index=number) for number in range(int(9_000 * scale))]
    peer.send(
        OffsetDeleteRequest(group_id="big", topics=[OffsetDeleteRequestTopic(name="topic-7", partitions=partitions)]),
        0,
    )


@scenario
def describe_100k_groups(world: World, scale: float) -> Iterator[None]:
    names = [f"group-{number}" for number in range(int(100_000 * scale))]
    for name in names:
        world.group(name, 1, 10)
    peer = world.peer()
    yield
    for start in range(0, len(names), 10_000):
        peer.send(DescribeGroupsRequest(groups=names[start : start + 10_000]), 5)


@scenario
def load_1m_offsets_of_100k_groups(world: World, scale: float) -> Iterator[None]:
    groups: list[Group] = []
    shard = world.core.partition(0)
    store = OffsetStore()
    for number in range(int(100_000 * scale)):
        group = Group(f"loaded-{number}", shard, 0)
        group.is_recorded = True
        groups.append(group)
        for partition in range(10):
            store.put(group.group_id, "topic", partition, CommittedOffset(partition, 1, "", 0, -1, 0))
    state = LoadedState.of(groups, store, 0)
    world.core.load_begin(0)
    del groups, store
    yield
    world.loop.measure(
        lambda: world.runtime.execute(world.core.loaded(0, state, 0, world.runtime.now_ms())), name="core.loaded"
    )
    world.runtime.end_of_event()


@scenario
def load_20_groups_of_5000_members(world: World, scale: float) -> Iterator[None]:
    groups = []
    shard = world.core.partition(0)
    for number in range(20):
        group = Group(f"loaded-{number}", shard, 0)
        group.is_recorded = True
        _fill(group, int(5000 * scale))
        groups.append(group)
    state = LoadedState.of(groups, OffsetStore(), 0)
    world.core.load_begin(0)
    yield
    world.loop.measure(
        lambda: world.runtime.execute(world.core.loaded(0, state, 0, world.runtime.now_ms())), name="core.loaded"
    )
    world.runtime.end_of_event()


@scenario
def unload_a_partition_of_1m_offsets(world: World, scale: float) -> Iterator[None]:
    """A fault is contained: one of eight partitions is to be loaded again."""
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10)
    yield
    world.loop.measure(lambda: world.core.load_begin(0), name="core.load_begin")
    world.runtime.end_of_event()


@scenario
def rebalance_of_5000_members_with_owned_partitions(world: World, scale: float) -> Iterator[None]:
    """Each has ten partitions of its own, and its metadata, which lists them, differs from all others."""
    count = int(5000 * scale)
    peers = [world.peer() for _ in range(count)]

    def metadata(number: int, generation: int) -> bytes:
        owned = [TopicPartitions(topic="orders", partitions=list(range(number * 10, number * 10 + 10)))]
        subscription = Subscription(topics=["orders"], owned_partitions=owned, generation_id=generation)
        return encode_subscription(subscription, 3)

    def join(number: int, member_id: str, generation: int) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id="huge",
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(name="cooperative-sticky", metadata=metadata(number, generation)),
                JoinGroupRequestProtocol(name="range", metadata=metadata(number, generation)),
            ],
        )

    yield
    for number, peer in enumerate(peers):
        peer.send(join(number, "", 0), 3)
    world.loop.run(0.3)
    for generation in range(2):
        group = world.core.groups["huge"]
        assert group.state.value == "CompletingRebalance", group
        leader = group.leader_id
        for number, (peer, member_id) in reversed(list(enumerate(zip(peers, group.members, strict=True)))):
            assignment = encode_assignment(
                Assignment([TopicPartitions(topic="orders", partitions=list(range(number * 10, number * 10 + 10)))]), 1
            )
            assignments = (
                [SyncGroupRequestAssignment(member_id=each, assignment=assignment) for each in group.members]
                if member_id == leader
                else []
            )
            peer.send(
                SyncGroupRequest(
                    group_id="huge", generation_id=group.generation, member_id=member_id, assignments=assignments
                ),
                3,
            )
        world.loop.run(0.3)
        assert group.state.value == "Stable", group
        if not generation:
            for number, (peer, member_id) in enumerate(list(zip(peers, group.members, strict=True))):
                peer.send(join(number, member_id, 1), 3)
            world.loop.run(0.3)


@scenario
def sessions_of_5000_members_of_one_group_end_at_once(world: World, scale: float) -> Iterator[None]:
    group = world.group("huge", 1, 1)
    world.begin_event()
    _fill(group, int(5000 * scale))
    for member in group.members.values():
        restart_session(group, member, 45_000, world.core._context)
    yield
    world.loop.skew += 46
    world.runtime._touched = True
    world.runtime.end_of_event()
    world.loop.run(0.1)
    world.loop.skew += 100
    world.loop.run(0.1)
    assert not group.members, group


@scenario
def leave_of_5000_members_in_one_request(world: World, scale: float) -> Iterator[None]:
    group = world.group("huge", 1, 1)
    world.begin_event()
    _fill(group, int(5000 * scale))
    for member in group.members.values():
        restart_session(group, member, 45_000, world.core._context)
    peer = world.peer()
    yield
    leaving = [MemberIdentity(member_id=member_id) for member_id in group.members]
    peer.send(LeaveGroupRequest(group_id="huge", members=leaving), 4)
    world.loop.run(0.1)
    assert not group.members, group


@scenario
def first_sync_is_missing_of_5000_members(world: World, scale: float) -> Iterator[None]:
    """The leader dies after the join phase: all members are removed at the deadline of the sync phase."""
    count = int(5000 * scale)
    peers = [world.peer() for _ in range(count)]
    yield
    for peer in peers:
        peer.send(_join_of("huge"), 3)
    world.loop.run(0.3)
    world.loop.skew += 61
    world.loop.run(0.1)
    world.loop.skew += 61
    world.loop.run(0.1)
    assert not world.core.groups["huge"].members


@scenario
def heartbeats_of_5000_members_wait_and_a_rebalance_begins(world: World, scale: float) -> Iterator[None]:
    _park_heartbeats(world, int(5000 * scale))
    peer = world.peer()
    yield
    peer.send(_join_of("huge"), 3)


def _park_heartbeats(world: World, members: int) -> None:
    group = world.group("huge", 1, 1)
    world.begin_event()
    context = world.core._context
    _fill(group, members)
    for member in group.members.values():
        restart_session(group, member, 45_000, context)
        member.client_software = ClientSoftware("apache-kafka-java", "4.1.0")
        connection = world.peer().connection
        slot = Slot(connection, 12, 4, 7, "c", "/h", member.client_software, world.runtime.routes[b"\0\x0c\0\4"])
        template = world.core.heartbeat_template("huge", member.member_id, None, group.generation)
        assert template is not None
        connection._slots.append(slot)
        connection._parked_heartbeat = world.runtime.park_heartbeat(template, slot, world.runtime.now_ms())
        assert connection._parked_heartbeat is not None


@scenario
def lease_ends_with_10k_heartbeats_waiting(world: World, scale: float) -> Iterator[None]:
    _park_heartbeats(world, int(10_000 * scale))
    yield
    world.loop.measure(world.runtime.suspend, name="Runtime.suspend")


@scenario
def commits_in_flight_fail_100k(world: World, scale: float) -> Iterator[None]:
    """The disk stands still while clients commit, and fails then: all of it is answered with an error."""
    yield from _with_commits_in_flight(world, int(100_000 * scale))
    for partition in range(8):
        world.loop.measure(
            lambda partition=partition: world.runtime.on_failed(partition, 0, ErrorCode.NOT_ENOUGH_REPLICAS),
            name="on_failed",
        )


@scenario
def commits_in_flight_time_out_100k(world: World, scale: float) -> Iterator[None]:
    yield from _with_commits_in_flight(world, int(100_000 * scale))
    world.loop.skew += 6
    world.loop.run(0.1)
    flusher = world.runtime.offsets_log._flusher
    flusher._running = False
    flusher._start_round()  # not measured: the appends succeed after their time-out


@scenario
def queued_commits_are_built_100k(world: World, scale: float) -> Iterator[None]:
    """The disk stood still while clients committed, and goes on: what has queued becomes batches."""
    yield from _with_commits_in_flight(world, int(100_000 * scale), build=True)


def _with_commits_in_flight(world: World, count: int, *, build: bool = False) -> Iterator[None]:
    flusher = world.runtime.offsets_log._flusher
    peers = [world.peer() for _ in range(100)]
    frames = []
    for number in range(count):
        partitions = [OffsetCommitRequestPartition(partition_index=number % 1000, committed_offset=number)]
        topics = [OffsetCommitRequestTopic(name="topic", partitions=partitions)]
        frames.append(encode_frame(OffsetCommitRequest(group_id=f"group-{number % 100}", topics=topics), 7, 7, "peer"))
    flusher._running = True  # as if a round of the writer took long
    gc.collect()
    gc.freeze()
    for number, frame in enumerate(frames):
        connection = peers[number % 100].connection
        if len(connection._slots) < 1000:
            connection.data_received(frame)
    assert world.core.appends_in_flight > count // 2
    yield
    if build:
        flusher._running = False
        world.loop.measure(flusher._start_round, name="Flusher._start_round")


@scenario
def shutdown_with_10k_requests_parked(world: World, scale: float) -> Iterator[None]:
    for number in range(int(10_000 * scale)):
        world.peer().send(_join_of(f"group-{number % 1000}"), 3)
    world.loop.run(0.05)
    yield
    world.shutdown()


@scenario
def sweep_of_50k_connections(world: World, scale: float) -> Iterator[None]:
    for _ in range(int(50_000 * scale)):
        world.peer()
    yield
    world.loop.measure(world.runtime._housekeep, world.loop.time(), name="Runtime._housekeep")


@scenario
def figures_of_100k_groups(world: World, scale: float) -> Iterator[None]:
    for number in range(int(100_000 * scale)):
        world.group(f"group-{number}", 1, 10)
    yield
    world.runtime.shows_metrics = True
    world.loop.measure(world.runtime._housekeep, world.loop.time(), name="Runtime._housekeep")
    world.loop.run(0.2)


@scenario
def collection_of_the_second_generation(world: World, scale: float) -> Iterator[None]:
    """The policy collects once a second, after as many new objects as a second brings."""
    yield
    gc.disable()
    kept = [[number] for number in range(int(10_000 * scale))]  # as many as come between two passes
    gc.enable()
    assert kept
    world.loop.measure(lambda: (gc.collect(1), gc.freeze()), name="GcPolicy.second")


@scenario
def rows_of_1m_offsets_for_a_check(world: World, scale: float) -> Iterator[None]:
    core = world.core
    names = (f"group-{number}" for number in count_from_0())
    in_shard = (name for name in names if core.partition_for(name) == 0)
    for name in islice(in_shard, int(100_000 * scale)):
        world.group(name, 1, 10)
    rows = core.committed_rows(0, 1)
    yield
    assert rows is not None
    world.loop.measure(rows.__next__, name="committed_rows")
    while world.loop.measure(lambda: next(rows, None), name="committed_rows") is not None:
        pass


@scenario
def create_10k_partitions(world: World, scale: float) -> Iterator[None]:
    peer = world.peer()
    yield
    topics = [CreatableTopic(name=f"made-{number}", num_partitions=10, replication_factor=1) for number in range(100)]
    peer.send(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 5)
    world.loop.run(0.5, until=lambda: len(world.runtime.topics.catalogue.topics) > 99)


@scenario
def metadata_of_10k_partitions(world: World, scale: float) -> Iterator[None]:
    catalogue = world.runtime.topics.catalogue
    for number in range(int(2000 * scale)):
        catalogue.add(catalogue.make(f"topic-{number}", number.to_bytes(16, "big"), 5, {}))
    peer = world.peer()
    yield
    peer.send(MetadataRequest(topics=None), 12)
    world.loop.run(0.05)
    peer.send(MetadataRequest(topics=None), 12)


@scenario
def follow_a_catalogue_of_10k_partitions(world: World, scale: float) -> Iterator[None]:
    facts = [
        TopicFacts(f"topic-{number}", number.to_bytes(16, "big"), 5, {}, {}) for number in range(int(2000 * scale))
    ]
    received = Document(facts, [], "lineage", 7, {})
    answered: list[Any] = []
    session = SimpleNamespace(answer=lambda ticket, response: answered.append(response))
    topics = world.runtime.topics
    yield
    made: dict[bytes, Any] = {}
    steps = topics.make_new(received, made)
    while world.loop.measure(lambda: next(steps, steps), name="topics.make_new") is None:
        pass
    world.loop.measure(
        lambda: world.runtime.execute_topics(topics.replicate(received, Ticket(session), world.runtime.now_ms(), made)),
        name="topics.replicate",
    )
    world.loop.run(0.5, until=lambda: bool(answered))
    assert len(topics.catalogue.topics) >= len(facts), answered


@scenario
def producers_expire_10k_of_64_partitions(world: World, scale: float) -> Iterator[None]:
    topics = world.runtime.topics
    topic = topics.catalogue.make("topic", bytes(16), 64, {})
    topics.catalogue.add(topic)
    header = read_header(bytes(build_batch([(b"k", b"v")], timestamp_ms=1)))
    for partition in topic.partitions:
        for number in range(int(10_000 * scale)):
            partition.sequences.record(header._replace(producer_id=number, base_sequence=0), number, 0)
    yield
    world.loop.skew += 2 * 86_400
    world.runtime._touched = world.runtime._topics_touched = True
    world.runtime.end_of_event()
    world.loop.run(0.3)


@scenario
def fetches_of_10k_consumers_wait_and_end(world: World, scale: float) -> Iterator[None]:
    topics = world.runtime.topics
    topic = topics.catalogue.make("topic", bytes(15) + b"1", 1, {})
    topics.catalogue.add(topic)
    one = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    wanted = [FetchTopic(topic="topic", partitions=[one])]
    for _ in range(int(10_000 * scale)):
        world.peer().send(FetchRequest(max_wait_ms=200_000, min_bytes=1, max_bytes=1000, topics=wanted), 11)
    yield
    assert topics.fetches.waiting == int(10_000 * scale)
    world.loop.skew += 201
    world.loop.run(0.1)


def run(name: str, scale: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as path:
        world = World(Path(path))
        steps = SCENARIOS[name](world, scale)
        next(steps)
        world.reset()
        for _ in steps:
            pass
        world.loop.run(0.3, until=lambda: not world.core.appends_in_flight)
        seconds, wall, what = world.loop.longest
        assert world.loop.events, "nothing was measured"
        return {
            "scenario": name,
            "longest_ms": round(seconds * 1000, 1),
            "wall_ms": round(wall * 1000, 1),
            "longest_wall_ms": round(world.loop.longest_wall * 1000, 1),
            "in": what,
            "events": world.loop.events,
            "total_ms": round(world.loop.total * 1000),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    from coordinator.server.gc_policy import THRESHOLDS

    gc.set_threshold(*THRESHOLDS)
    for name in arguments.names or SCENARIOS:
        row = run(name, arguments.scale)
        if arguments.json:
            print(json.dumps(row), flush=True)
        else:
            print(
                "{longest_ms:9.1f} ms longest ({wall_ms:.1f} on the wall)  {events:7d} events"
                "  {total_ms:7d} ms in all  {scenario}: {in}".format(**row),
                flush=True,
            )
        gc.unfreeze()


if __name__ == "__main__":
    main()

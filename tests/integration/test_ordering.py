"""The order of answers on one connection, and what may run while something waits (Kafka's SocketServer mutes a channel
alike).

Answers leave in request order, always. A parked JoinGroup, SyncGroup or long-poll Fetch stops its connection; a commit
that waits for the disk lets commits and heartbeats behind it run. Each test puts requests on the wire without awaiting
them and looks at what is answered; that something is *not* answered yet is shown by round trips on another connection
that began later and are over.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch, iter_batches
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.questions import committed_offsets, produce
from tests.support.wire import Wire

pytestmark = pytest.mark.integration


def produce_request(topic: str, *, acks: int = -1) -> ProduceRequest:
    records = bytes(build_batch([(None, b"value")], timestamp_ms=0))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[data])


async def leader_and_follower(first: Wire, second: Wire, group: str) -> tuple[GroupMember, GroupMember]:
    """Two members, joined and synced. The first is the leader."""
    leader = await alone_in_group(first, group, "plain")
    follower = GroupMember(second, group, ["plain"])
    joining = asyncio.create_task(follower.join())
    await leader.notices_a_rebalance()
    assert await leader.join() is ErrorCode.NONE
    assert await joining is ErrorCode.NONE
    assert leader.is_leader
    assert await leader.sync({leader.member_id: [("plain", 0)], follower.member_id: [("plain", 1)]}) is ErrorCode.NONE
    assert await follower.sync() is ErrorCode.NONE
    return leader, follower


async def time_for_a_wrong_answer(other: GroupMember) -> None:
    """Enough round trips on another connection for anything that was going to be answered."""
    for _ in range(20):
        await other.heartbeat()


async def test_what_stands_behind_a_parked_join_waits_for_it(
    daemon: Daemon, wire: Wire, bystander: GroupMember, group: str
) -> None:
    async with await Wire.connect(daemon.port) as second:
        leader, follower = await leader_and_follower(wire, second, group)
        parked = wire.send(leader.join_request(), 7)
        behind = [
            wire.send(bystander.heartbeat_request(), 4),
            wire.send(ApiVersionsRequest(), 0),
            wire.send(bystander.commit_request({("plain", 0): 5}), 8),
        ]
        await follower.notices_a_rebalance()  # so the join is there, and parked
        await time_for_a_wrong_answer(bystander)
        assert not parked.done()
        assert not any(each.done() for each in behind)

        assert await follower.join() is ErrorCode.NONE
        assert leader.joined(await parked) is ErrorCode.NONE
        heartbeat, versions, commit = await asyncio.gather(*behind)
        assert (heartbeat.error_code, versions.error_code) == (0, 0)
        assert commit.topics[0].partitions[0].error_code == 0


async def test_what_stands_behind_a_parked_sync_waits_for_it(
    daemon: Daemon, wire: Wire, bystander: GroupMember, group: str
) -> None:
    async with await Wire.connect(daemon.port) as second:
        leader, follower = await leader_and_follower(wire, second, group)
        joining = wire.send(leader.join_request(), 7)
        await follower.notices_a_rebalance()
        assert await follower.join() is ErrorCode.NONE
        assert leader.joined(await joining) is ErrorCode.NONE
        parked = second.send(follower.sync_request(), 5)
        behind = second.send(bystander.heartbeat_request(), 4)
        await time_for_a_wrong_answer(bystander)
        assert not parked.done() and not behind.done()
        assert await leader.sync({follower.member_id: [("plain", 1)]}) is ErrorCode.NONE
        assert (await parked).error_code == 0
        assert (await behind).error_code == 0


async def test_what_stands_behind_a_long_poll_ends_it(daemon: Daemon, wire: Wire, bystander: GroupMember) -> None:
    """Source: the difference followed-fetch (docs/differences.md)."""
    daemon.create_topic("polled", 1)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_wait_ms=20_000, min_bytes=1, topics=[FetchTopic(topic="polled", partitions=[partition])])
    polling = wire.send(fetch, 11)
    await time_for_a_wrong_answer(bystander)
    assert not polling.done()
    behind = wire.send(bystander.heartbeat_request(), 4)
    response = await asyncio.wait_for(polling, 10)
    assert not response.responses[0].partitions[0].records
    assert (await behind).error_code == 0
    polling = wire.send(fetch, 11)
    await time_for_a_wrong_answer(bystander)
    assert not polling.done()
    await asyncio.to_thread(produce, daemon.port, "polled", 0, [b"at last"])
    response = await asyncio.wait_for(polling, 10)
    assert b"at last" in response.responses[0].partitions[0].records


async def test_a_long_poll_without_data_ends_after_its_time(daemon: Daemon, wire: Wire) -> None:
    daemon.create_topic("empty", 1)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_wait_ms=300, min_bytes=1, topics=[FetchTopic(topic="empty", partitions=[partition])])
    begun = asyncio.get_running_loop().time()
    response = await wire.request(fetch, 11)
    took = asyncio.get_running_loop().time() - begun
    assert not response.responses[0].partitions[0].records
    assert 0.25 < took < 5


async def test_a_join_whose_connection_is_gone_still_counts_and_disturbs_no_other_client(
    daemon: Daemon, wire: Wire, group: str
) -> None:
    async with await Wire.connect(daemon.port) as second:
        leader, follower = await leader_and_follower(wire, second, group)
        doomed = await Wire.connect(daemon.port)
        doomed.send(leader.join_request(), 7)
        await follower.notices_a_rebalance()
        await doomed.close()
        assert await follower.join() is ErrorCode.NONE, "the phase completes: the lost join counts as joined"
        # the leader missed its answer; it joins again as it must, and finds itself in the same generation
        assert await leader.join() is ErrorCode.NONE
        assert leader.generation == follower.generation
        assert sorted(leader.members) == sorted([leader.member_id, follower.member_id])


async def test_a_join_repeated_on_another_connection_releases_the_first(daemon: Daemon, wire: Wire, group: str) -> None:
    async with await Wire.connect(daemon.port) as second, await Wire.connect(daemon.port) as third:
        leader, follower = await leader_and_follower(wire, second, group)
        first = wire.send(leader.join_request(), 7)
        await follower.notices_a_rebalance()
        again = third.send(leader.join_request(), 7)
        assert (await asyncio.wait_for(first, 10)).error_code == ErrorCode.REBALANCE_IN_PROGRESS
        assert not again.done()
        assert await follower.join() is ErrorCode.NONE
        assert (await asyncio.wait_for(again, 10)).error_code == 0


async def test_pipelined_commits_and_heartbeats_are_answered_in_order(wire: Wire, group: str) -> None:
    member = await alone_in_group(wire, group, "plain")
    answers = []
    for offset in range(1, 301):
        answers.append(wire.send(member.commit_request({("plain", 0): offset}), 8))
        if offset % 3 == 0:
            answers.append(wire.send(member.heartbeat_request(), 4))
    for answer in await asyncio.gather(*answers):
        topics = getattr(answer, "topics", None)
        assert (topics[0].partitions[0].error_code if topics else answer.error_code) == 0


async def test_a_read_behind_a_commit_sees_it(wire: Wire, group: str) -> None:
    member = await alone_in_group(wire, group, "plain")
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    for offset in range(1, 51):
        commit = wire.send(member.commit_request({("plain", 0): offset}), 8)
        fetched = await wire.send(request, 8)
        assert commit.done(), "answered before what stood behind it"
        assert fetched.groups[0].topics[0].partitions[0].committed_offset == offset


async def test_metadata_behind_a_parked_commit_and_a_rejoin_keep_their_places(wire: Wire, group: str) -> None:
    member = await alone_in_group(wire, group, "plain")
    commit = wire.send(member.commit_request({("plain", 0): 1}), 8)
    metadata = wire.send(MetadataRequest(topics=None), 9)
    rejoin = wire.send(member.join_request(), 7)
    heartbeat = wire.send(member.heartbeat_request(), 4)
    assert (await commit).topics[0].partitions[0].error_code == 0
    assert (await metadata).brokers
    assert (await rejoin).error_code == 0
    assert (await heartbeat).error_code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)


async def test_produce_without_acks_is_never_answered_and_the_next_request_is(daemon: Daemon, wire: Wire) -> None:
    daemon.create_topic("unanswered", 1)
    for _ in range(5):
        wire.send_unanswered(produce_request("unanswered", acks=0), 7)
    acknowledged = await wire.request(produce_request("unanswered"), 7)
    assert acknowledged.responses[0].partition_responses[0].base_offset == 5, "in order, and all before it written"


async def test_produce_without_acks_that_fails_closes_the_connection_because_it_has_no_other_way(
    daemon: Daemon, wire: Wire
) -> None:
    wire.send_unanswered(produce_request("no such topic!", acks=0), 7)
    assert await wire.ends()


async def test_commits_that_were_sent_together_share_flushes(tmp_path: Path, group: str) -> None:
    overrides = ("group.initial.rebalance.delay.ms=0", "log.flush.policy=sync")
    with Daemon(tmp_path / "own", overrides=overrides, topics=("plain:4",)) as daemon:
        async with await Wire.connect(daemon.port) as wire:
            member = await alone_in_group(wire, group, "plain")
            sent = [wire.send(member.commit_request({("plain", 0): offset}), 8) for offset in range(1, 501)]
            await asyncio.gather(*sent)
        assert committed_offsets(daemon.port, group) == {("plain", 0): 500}
        daemon.kill()
    commits, batches = 0, 0
    for path in (tmp_path / "own" / "data").glob("__consumer_offsets-*/*.log"):
        for _, header in iter_batches(path.read_bytes()):
            commits += header.record_count
            batches += 1
    assert commits >= 500
    assert batches < 250, f"{commits} records in {batches} batches: the commits did not share"


async def test_the_answers_of_many_connections_stay_apart(daemon: Daemon, group: str) -> None:
    wires = await asyncio.gather(*(Wire.connect(daemon.port) for _ in range(30)))
    try:
        members = await asyncio.gather(*(alone_in_group(each, f"{group}-{n}", "plain") for n, each in enumerate(wires)))
        rounds = [
            member.wire.send(member.commit_request({("plain", n % 4): n * 1000 + step}), 8)
            for step in range(20)
            for n, member in enumerate(members)
        ]
        await asyncio.gather(*rounds)
        for n, _ in enumerate(members):
            found = await asyncio.to_thread(committed_offsets, daemon.port, f"{group}-{n}")
            assert found == {("plain", n % 4): n * 1000 + 19}
    finally:
        await asyncio.gather(*(each.close() for each in wires))

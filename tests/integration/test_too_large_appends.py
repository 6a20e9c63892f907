"""An append that is too large for the log fails alone: other groups of the same offsets partition never notice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.daemon import Daemon
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

ROUNDS = 100


@pytest.fixture(scope="module")
def one_partition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose groups all share one offsets partition and form at once."""
    overrides = (
        "offsets.topic.num.partitions=1",
        "message.max.bytes=50000",
        "group.initial.rebalance.delay.ms=0",
    )
    with Daemon(tmp_path_factory.mktemp("one-partition"), overrides=overrides, topics=("plain:300",)) as running:
        yield running


def commit(group_id: str, partitions: int, metadata: str) -> OffsetCommitRequest:
    committed = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=1, committed_metadata=metadata)
        for number in range(partitions)
    ]
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name="plain", partitions=committed)])


def join(group_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def sync(group_id: str, joined: object, size: int) -> SyncGroupRequest:
    member_id, generation = joined.member_id, joined.generation_id  # type: ignore[attr-defined]
    assignment = SyncGroupRequestAssignment(member_id=member_id, assignment=bytes(size))
    return SyncGroupRequest(group_id=group_id, member_id=member_id, generation_id=generation, assignments=[assignment])


def commit_errors(answer: object) -> set[int]:
    return {partition.error_code for topic in answer.topics for partition in topic.partitions}  # type: ignore[attr-defined]


async def test_requests_of_other_groups_succeed_while_one_group_appends_too_much(one_partition: Daemon) -> None:
    port = one_partition.port
    async with (
        await Wire.connect(port) as greedy,
        await Wire.connect(port) as commits,
        await Wire.connect(port) as joins,
    ):
        refused, committed, joined = [], [], []
        for number in range(ROUNDS):
            refused.append(greedy.send(commit("greedy", 20, "x" * 4000), 8))
            committed.append(commits.send(commit("modest", 2, ""), 8))
            joined.append(joins.send(join(f"new-{number}"), 3))
        disturbed_commits = sum(commit_errors(answer) != {0} for answer in await asyncio.gather(*committed))
        members = await asyncio.gather(*joined)
        disturbed_joins = sum(answer.error_code != 0 for answer in members)
        synced = []
        for number, member in enumerate(members):
            refused.append(greedy.send(commit("greedy", 20, "x" * 4000), 8))
            synced.append(joins.send(sync(f"new-{number}", member, 10), 3))
        disturbed_syncs = sum(answer.error_code != 0 for answer in await asyncio.gather(*synced))
        assert (disturbed_commits, disturbed_joins, disturbed_syncs) == (0, 0, 0), f"of {ROUNDS} each"
        errors = [commit_errors(answer) for answer in await asyncio.gather(*refused)]
        assert errors == [{ErrorCode.UNKNOWN_SERVER_ERROR}] * len(refused)


async def test_a_group_record_that_is_too_large_is_refused_to_its_own_members(one_partition: Daemon) -> None:
    """Kafka answers SyncGroup with UNKNOWN_SERVER_ERROR and rebalances the group (GroupMetadataManager)."""
    port = one_partition.port
    async with await Wire.connect(port) as wire, await Wire.connect(port) as other:
        member = await wire.request(join("large"), 3)
        for _ in range(3):
            attempt = wire.send(sync("large", member, 100_000), 3)
            neighbours = [other.send(commit("modest", 2, ""), 8) for _ in range(20)]
            assert (await attempt).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert [commit_errors(await answer) for answer in neighbours] == [{0}] * 20
            again = join("large")
            again.member_id = member.member_id
            member = await wire.request(again, 3)
        assert (await wire.request(sync("large", member, 1_000), 3)).error_code == ErrorCode.NONE


async def test_refused_appends_are_told_in_the_log_a_few_times(one_partition: Daemon) -> None:
    async with await Wire.connect(one_partition.port) as wire:
        await asyncio.gather(*(wire.send(commit("greedy", 20, "x" * 4000), 8) for _ in range(50)))
    assert 1 <= sum("message.max.bytes" in line for line in one_partition.log_lines()) < 10

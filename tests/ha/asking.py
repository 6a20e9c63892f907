"""Questions of a client to the nodes of a run: who owns a partition, and commits and fetches where they are led to."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from coordinator.core.live_cluster import wanted_owner
from coordinator.core.shard import partition_for
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.ha.nodes import EngineNodes
from tests.support.wire import ConnectionEnded, call

PARTITIONS = 8
# One group for each partition of the offsets log.
GROUPS = {partition_for(f"g{number}", PARTITIONS): f"g{number}" for number in range(200)}
NONE = ErrorCode.NONE


async def ask(nodes: EngineNodes, number: int, message: object, version: int) -> Any:
    """The answer of a node; None if it cannot be reached."""
    with contextlib.suppress(OSError, ConnectionEnded):
        return await asyncio.to_thread(call, nodes.nodes[number].daemon.port, message, version)
    return None


async def coordinators(nodes: EngineNodes, number: int) -> dict[int, int]:
    """The owner of each partition as one node tells it; -1: none."""
    answer = await ask(nodes, number, FindCoordinatorRequest(coordinator_keys=list(GROUPS.values())), 4)
    assert answer is not None
    by_group = {found.key: found.node_id for found in answer.coordinators}
    return {partition: by_group[group] for partition, group in GROUPS.items()}


async def commit(nodes: EngineNodes, number: int, partition: int, offset: int) -> ErrorCode | None:
    """Commit for the group of a partition at a node; None: it cannot be reached."""
    row = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[row])]
    answer = await ask(nodes, number, OffsetCommitRequest(group_id=GROUPS[partition], topics=topics), 8)
    return None if answer is None else ErrorCode(answer.topics[0].partitions[0].error_code)


async def fetched(nodes: EngineNodes, number: int, partition: int) -> tuple[ErrorCode, int]:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUPS[partition], topics=topics)])
    answer = await ask(nodes, number, request, 8)
    group = answer.groups[0]
    return ErrorCode(group.error_code), group.topics[0].partitions[0].committed_offset if group.topics else -1


async def commit_where_it_is_led(nodes: EngineNodes, asked: int, partition: int, offset: int) -> int:
    """Commit as a client does: look for the coordinator at a node and try again. Returns the node that took it."""
    while True:
        owner = (await coordinators(nodes, asked))[partition]
        if owner != -1 and await commit(nodes, owner, partition, offset) is NONE:
            return owner
        await asyncio.sleep(0.01)


async def fetch_where_it_is_led(nodes: EngineNodes, asked: int, partition: int) -> int:
    """Fetch as a client does. Returns the committed offset."""
    while True:
        owner = (await coordinators(nodes, asked))[partition]
        if owner != -1:
            error, offset = await fetched(nodes, owner, partition)
            if error is NONE:
                return offset
        await asyncio.sleep(0.01)


async def spread(nodes: EngineNodes, asked: int, among: set[int]) -> dict[int, int]:
    """Wait until the nodes `among` own their shares, so that no partition moves any more. Returns the owners."""
    wanted = {partition: wanted_owner(partition, among) for partition in GROUPS}
    while True:
        owners = await coordinators(nodes, asked)
        if owners == wanted:
            return owners
        await asyncio.sleep(0.05)

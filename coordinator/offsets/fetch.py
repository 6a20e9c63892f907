"""OffsetFetch: what is committed, as of durable records.

A group that nobody knows simply has no offsets; that is no error. With RequireStable the answer waits for the appends
that were in flight when the request came (whoever takes over a partition must see the last commit of whoever had it),
and a partition with an offset in an open transaction is refused until that ends. Source: spec 7.4 - 7.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from coordinator.effects import Ticket
    from coordinator.group.event import Event
    from coordinator.offsets.directory import Directory
    from coordinator.offsets.store import OffsetStore
    from coordinator.purgatory.group_timers import GroupTimers
    from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

_NONE: Final = int(ErrorCode.NONE)
_UNSTABLE: Final = int(ErrorCode.UNSTABLE_OFFSET_COMMIT)


def fetch_offsets(
    directory: Directory, timers: GroupTimers, request: OffsetFetchRequest, ticket: Ticket, event: Event
) -> None:
    """Answer now, or when the appends before it are settled."""
    if not request.require_stable:
        event.reply(ticket, _answer(directory, request, {}))
        return
    awaited = {}
    for group in request.groups:
        if directory.refusal(group.group_id) is ErrorCode.NONE:
            shard = directory.shard_of(group.group_id)
            awaited[shard.partition] = shard.appended

    def unsettled() -> dict[int, int]:
        partitions = directory.partitions
        return {number: seen for number, seen in awaited.items() if not partitions[number].is_settled(seen)}

    timers.await_appends(
        [("partition", number) for number in awaited],
        event.now_ms + event.commit_timeout_ms,
        lambda: not unsettled(),
        lambda later: later.reply(ticket, _answer(directory, request, unsettled())),
        event,
    )


def _answer(directory: Directory, request: OffsetFetchRequest, unsettled: dict[int, int]) -> OffsetFetchResponse:
    answers = []
    for group in request.groups:
        error = directory.refusal(group.group_id)
        if error is ErrorCode.NONE and unsettled and directory.partition_of(group.group_id) in unsettled:
            error = ErrorCode.NOT_COORDINATOR  # timed out; older consumers know no better code here (spec 7.7)
        if error is not ErrorCode.NONE:
            answers.append(_refused(group, error))
        else:
            answers.append(_committed(directory.shard_of(group.group_id).offsets, group, stable=request.require_stable))
    return OffsetFetchResponse(groups=answers)


def _refused(group: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    """The error at the level of the group, and on each partition for versions that have no such level."""
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name, partitions=[_partition(index, error=int(error)) for index in topic.partition_indexes]
            )
            for topic in group.topics or ()
        ],
        error_code=int(error),
    )


def _committed(store: OffsetStore, group: OffsetFetchRequestGroup, *, stable: bool) -> OffsetFetchResponseGroup:
    group_id = group.group_id
    committed = store.of_group(group_id)
    stable = stable and store.has_pending(group_id)
    wanted = (
        [(topic.name, topic.partition_indexes) for topic in group.topics]
        if group.topics is not None
        else [(name, list(partitions)) for name, partitions in committed.items()]
    )
    topics = []
    for name, indexes in wanted:
        offsets = committed.get(name, {})
        partitions = []
        for index in indexes:
            offset = offsets.get(index)
            if stable and store.is_pending(group_id, name, index):
                partitions.append(_partition(index, error=_UNSTABLE))
            elif offset is None:
                partitions.append(_partition(index))
            else:
                partitions.append(_partition(index, offset.offset, offset.leader_epoch, offset.metadata))
        topics.append(OffsetFetchResponseTopics(name=name, partitions=partitions))
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=_NONE)


def _partition(
    index: int, offset: int = -1, leader_epoch: int = -1, metadata: str = "", error: int = _NONE
) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        metadata=metadata,
        error_code=error,
    )

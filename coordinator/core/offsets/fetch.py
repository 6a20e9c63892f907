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
    from collections.abc import Callable, Generator

    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.offsets.committed import GroupOffsets, TopicOffsets
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

# What tests change is not Final: the compiler would write it into the code.
OFFSETS_PER_STEP = 500
GROUPS_AT_ONCE: Final = 20  # a request of more answers all the offsets of a group once, where Kafka repeats them
HASHED_PER_UNIT: Final = 7  # as a shift: characters of a group's id that are hashed while one offset is looked up
_NONE: Final = int(ErrorCode.NONE)
_NO_OFFSETS: Final[TopicOffsets] = {}
_NO_PENDING: Final[frozenset[tuple[str, int]]] = frozenset()
_UNSTABLE: Final = int(ErrorCode.UNSTABLE_OFFSET_COMMIT)


def fetch_offsets(
    registry: GroupRegistry,
    timers: GroupTimers,
    request: OffsetFetchRequest,
    in_steps: Callable[[Steps, Context], None],
    ticket: Ticket,
    context: Context,
) -> None:
    """Answer now, or when the appends before it are settled; `in_steps` because there may be very many offsets."""
    awaited = {}
    if request.require_stable and len(request.groups) > GROUPS_AT_ONCE:  # not each id is hashed for that
        for shard in registry.partitions:
            if shard.in_flight:
                awaited[shard.partition] = shard.appended
    elif request.require_stable:
        for group in request.groups:
            shard = registry.shard_of(group.group_id)
            if shard.in_flight and registry.refusal(group.group_id) is ErrorCode.NONE:
                awaited[shard.partition] = shard.appended
    if not awaited:
        answer = _at_once(registry, request)
        if answer is not None:
            context.reply(ticket, answer)
        else:
            in_steps(_answer(registry, request, {}, ticket, context), context)
        return

    timers.await_appends(
        [("partition", number) for number in awaited],
        context.now_ms + context.commit_timeout_ms,
        lambda: not _unsettled(registry, awaited),
        lambda later: in_steps(_answer(registry, request, _unsettled(registry, awaited), ticket, later), later),
        context,
    )


def _unsettled(registry: GroupRegistry, awaited: dict[int, int]) -> dict[int, int]:
    """Partitions with appends from before a request that are not settled, by number."""
    partitions = registry.partitions
    return {number: seen for number, seen in awaited.items() if not partitions[number].is_settled(seen)}


def _at_once(registry: GroupRegistry, request: OffsetFetchRequest) -> OffsetFetchResponse | None:
    """The answer to what consumers ask, some partitions of their own group; None: it is refused, or takes steps."""
    if len(request.groups) != 1:
        return None
    (group,) = request.groups
    if group.topics is None:
        return None
    count = len(group.topics)
    for topic in group.topics:
        count += len(topic.partition_indexes)
    group_id = group.group_id
    if count > OFFSETS_PER_STEP or registry.refusal(group_id) is not ErrorCode.NONE:
        return None
    store = registry.shard_of(group_id).offsets
    committed = store.of_group(group_id)
    pending = frozenset(store.pending_of_group(group_id)) if request.require_stable else _NO_PENDING
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name, partitions=_partitions(committed, pending, topic.name, topic.partition_indexes)
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=_NONE)])


def _answer(
    registry: GroupRegistry, request: OffsetFetchRequest, unsettled: dict[int, int], ticket: Ticket, context: Context
) -> Steps:
    answers = []
    looked = 0  # offsets since the last step
    answered: set[str] | None = set() if len(request.groups) > GROUPS_AT_ONCE else None
    for group in request.groups:
        if answered is not None:
            if group.topics is None and group.group_id in answered:
                continue  # all its offsets once: the answer to a short request is bounded
            answered.add(group.group_id)
        if looked >= OFFSETS_PER_STEP:
            looked = 0
            yield None
        error = registry.refusal(group.group_id)
        if error is ErrorCode.NONE and unsettled and registry.partition_of(group.group_id) in unsettled:
            error = ErrorCode.NOT_COORDINATOR  # timed out; older consumers know no better code here (spec 7.7)
        if error is not ErrorCode.NONE:
            refused = yield from _refused(group, error)
            answers.append(refused)
        else:
            store = registry.shard_of(group.group_id).offsets
            answer = yield from _committed(store, group, stable=request.require_stable)
            answers.append(answer)
            for topic in answer.topics:
                looked += 1 + len(topic.partitions)
        looked += 1 + (len(group.group_id) >> HASHED_PER_UNIT)
    context.reply(ticket, OffsetFetchResponse(groups=answers))


def _refused(group: OffsetFetchRequestGroup, error: ErrorCode) -> Generator[None, None, OffsetFetchResponseGroup]:
    """The error at the level of the group, and on each partition for versions that have no such level."""
    topics = []
    looked = 0
    for topic in group.topics or ():
        indexes = topic.partition_indexes
        partitions = []
        for start in range(0, len(indexes), OFFSETS_PER_STEP):
            some = indexes[start : start + OFFSETS_PER_STEP]
            looked += len(some)
            if looked > OFFSETS_PER_STEP:
                looked = len(some)
                yield
            partitions += [_partition(index, error=int(error)) for index in some]
        looked += 1
        topics.append(OffsetFetchResponseTopics(name=topic.name, partitions=partitions))
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=int(error))


def _committed(
    store: OffsetStore, group: OffsetFetchRequestGroup, *, stable: bool
) -> Generator[None, None, OffsetFetchResponseGroup]:
    """What one group has committed at this moment; of very many offsets, only the answer is made in steps."""
    group_id = group.group_id
    committed = store.of_group(group_id)
    pending = frozenset(store.pending_of_group(group_id)) if stable else _NO_PENDING
    if sum(map(len, committed.values())) > OFFSETS_PER_STEP:
        committed = {name: partitions.copy() for name, partitions in committed.items()}
    wanted = (
        [(topic.name, topic.partition_indexes) for topic in group.topics]
        if group.topics is not None
        else [(name, list(partitions)) for name, partitions in committed.items()]
    )
    # A long request is answered for each partition once: with a partition's metadata comes much for little.
    is_long = sum([len(indexes) for _, indexes in wanted]) > OFFSETS_PER_STEP
    answered: dict[str, set[int]] = {}
    topics = []
    looked = 0
    for name, indexes in wanted:
        partitions: list[OffsetFetchResponsePartitions] = []
        looked += 1
        for start in range(0, len(indexes), OFFSETS_PER_STEP):
            some = indexes[start : start + OFFSETS_PER_STEP]
            looked += len(some)
            if looked > OFFSETS_PER_STEP:
                looked = len(some)
                yield
            if is_long:
                given = answered.setdefault(name, set())
                some = [index for index in dict.fromkeys(some) if index not in given]
                given.update(some)
            partitions += _partitions(committed, pending, name, some)
        topics.append(OffsetFetchResponseTopics(name=name, partitions=partitions))
        if looked > OFFSETS_PER_STEP:  # of topics without partitions
            looked = 0
            yield
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=_NONE)


def _partitions(
    committed: GroupOffsets, pending: frozenset[tuple[str, int]], name: str, indexes: list[int]
) -> list[OffsetFetchResponsePartitions]:
    """What is committed for some partitions of a topic."""
    offsets = committed.get(name, _NO_OFFSETS)
    partitions = []
    for index in indexes:
        offset = offsets.get(index)
        if pending and (name, index) in pending:
            partitions.append(_partition(index, error=_UNSTABLE))
        elif offset is None:
            partitions.append(_partition(index))
        else:
            partitions.append(_partition(index, offset.offset, offset.leader_epoch, offset.metadata))
    return partitions


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

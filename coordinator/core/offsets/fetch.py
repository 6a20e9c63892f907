"""OffsetFetch: returns committed offsets, as of durable records.

An unknown group has no offsets; that is no error. With RequireStable (KIP-447) the response waits for the appends that
were in flight when the request came, because the new owner of a partition must see the last commit of its predecessor.
A partition with an offset in an open transaction gets UNSTABLE_OFFSET_COMMIT until the transaction ends.
Source: Kafka's `OffsetMetadataManager.fetchOffsets` and `fetchAllOffsets`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.offset_checks import check_fetch
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.offsets.committed import GroupOffsets, TopicOffsets
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

# Values that tests change are not Final: mypyc would compile them into the code.
OFFSETS_PER_STEP = 500
GROUPS_AT_ONCE: Final = (
    20  # with more groups, all offsets of a group named twice are returned once, where Kafka repeats them
)
HASHED_PER_UNIT: Final = 7  # a shift: 128 characters of a group's id are hashed in the time that one lookup takes
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
    """Reply now, or when the earlier appends are settled. `in_steps` runs long requests, as their offsets are many."""
    awaited = {}
    if request.require_stable and len(request.groups) > GROUPS_AT_ONCE:  # all partitions, instead of hashing each id
        for shard in registry.partitions:
            if shard.in_flight:
                awaited[shard.partition] = shard.appended
    elif request.require_stable:
        for group in request.groups:
            shard = registry.shard_of(group.group_id)
            if shard.in_flight and registry.refusal(group.group_id) is ErrorCode.NONE:
                awaited[shard.partition] = shard.appended
    if not awaited:
        response = _respond_at_once(registry, request)
        if response is not None:
            context.reply(ticket, response)
        else:
            in_steps(_respond(registry, request, {}, ticket, context), context)
        return

    timers.await_appends(
        [("partition", number) for number in awaited],
        context.now_ms + context.commit_timeout_ms,
        lambda: not _unsettled(registry, awaited),
        lambda later: in_steps(_respond(registry, request, _unsettled(registry, awaited), ticket, later), later),
        context,
    )


def _unsettled(registry: GroupRegistry, awaited: dict[int, int]) -> dict[int, int]:
    """Return the partitions, by number, with unsettled appends from before a request."""
    partitions = registry.partitions
    return {number: seen for number, seen in awaited.items() if not partitions[number].is_settled(seen)}


def _member_error(registry: GroupRegistry, group: OffsetFetchRequestGroup) -> ErrorCode:
    """Return the error of the member that asks, in a KIP-848 group."""
    consumer_group = registry.consumer_groups.get(group.group_id)
    return (
        ErrorCode.NONE if consumer_group is None else check_fetch(consumer_group, group.member_id, group.member_epoch)
    )


def _respond_at_once(registry: GroupRegistry, request: OffsetFetchRequest) -> OffsetFetchResponse | None:
    """Return the response for some partitions of one group, as consumers ask; None if it is refused or takes steps."""
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
    if group_id in registry.consumer_groups and (error := _member_error(registry, group)) is not ErrorCode.NONE:
        refused = OffsetFetchResponseGroup(group_id=group_id, topics=[], error_code=int(error))
        return OffsetFetchResponse(groups=[refused])
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


def _respond(
    registry: GroupRegistry, request: OffsetFetchRequest, unsettled: dict[int, int], ticket: Ticket, context: Context
) -> Steps:
    groups = []
    looked = 0  # offsets since the last step
    seen: set[str] | None = set() if len(request.groups) > GROUPS_AT_ONCE else None
    for group in request.groups:
        if seen is not None:
            if group.topics is None and group.group_id in seen:
                continue  # all its offsets once, so that the response to a short request is bounded
            seen.add(group.group_id)
        # The first step runs at once with the request, so it has no long work: ten requests may arrive together.
        if looked >= OFFSETS_PER_STEP or registry.shard_of(group.group_id).offsets.is_long(
            group.group_id, OFFSETS_PER_STEP
        ):
            looked = 0
            yield None
        error = registry.refusal(group.group_id)
        if error is ErrorCode.NONE and unsettled and registry.partition_of(group.group_id) in unsettled:
            error = ErrorCode.NOT_COORDINATOR  # timed out: older consumers do not expect REQUEST_TIMED_OUT here
        if error is not ErrorCode.NONE:
            refused = yield from _refused(group, error)
            groups.append(refused)
        elif (member_error := _member_error(registry, group)) is not ErrorCode.NONE:
            groups.append(OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=int(member_error)))
        else:
            store = registry.shard_of(group.group_id).offsets
            committed = yield from _committed(store, group, stable=request.require_stable)
            groups.append(committed)
            for topic in committed.topics:
                looked += 1 + len(topic.partitions)
        looked += 1 + (len(group.group_id) >> HASHED_PER_UNIT)
    context.reply(ticket, OffsetFetchResponse(groups=groups))


def _refused(group: OffsetFetchRequestGroup, error: ErrorCode) -> Generator[None, None, OffsetFetchResponseGroup]:
    """Return the error for the group, and for each partition: versions before 2 have partition errors only."""
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
    """Return the offsets of one group as of now, also if there are very many, so that the response takes steps."""
    group_id = group.group_id
    committed = store.of_group(group_id)
    pending = frozenset(store.pending_of_group(group_id)) if stable else _NO_PENDING
    if sum(map(len, committed.values())) <= OFFSETS_PER_STEP:
        committed = {name: partitions.copy() for name, partitions in committed.items()}
        return (yield from _listed(committed, pending, group))
    reading = store.begin_reading(group_id)
    try:
        return (yield from _listed(reading, pending, group))
    finally:
        store.end_reading(group_id, reading)


def _listed(
    committed: GroupOffsets, pending: frozenset[tuple[str, int]], group: OffsetFetchRequestGroup
) -> Generator[None, None, OffsetFetchResponseGroup]:
    group_id, asked = group.group_id, group.topics
    wanted: Iterable[tuple[str, Iterable[list[int]]]]
    if asked is not None:
        # A long request gets each partition once: it could otherwise ask for one large metadata very often.
        is_long = sum([len(topic.partition_indexes) for topic in asked]) > OFFSETS_PER_STEP
        wanted = ((topic.name, _in_parts(topic.partition_indexes)) for topic in asked)
    else:
        is_long = False
        wanted = ((name, _committed_in_parts(committed, name)) for name in list(committed))
    returned: dict[str, set[int]] = {}
    topics = []
    looked = 0
    for name, parts in wanted:
        partitions: list[OffsetFetchResponsePartitions] = []
        looked += 1
        for some in parts:
            looked += len(some)
            if looked > OFFSETS_PER_STEP:
                looked = len(some)
                yield
            if is_long:
                done = returned.setdefault(name, set())
                some = [index for index in dict.fromkeys(some) if index not in done]
                done.update(some)
            partitions += _partitions(committed, pending, name, some)
        topics.append(OffsetFetchResponseTopics(name=name, partitions=partitions))
        if looked > OFFSETS_PER_STEP:  # reached by topics without partitions
            looked = 0
            yield
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=_NONE)


def _in_parts(indexes: list[int]) -> Iterator[list[int]]:
    """Return partitions of a request, those of one step at a time."""
    return (indexes[start : start + OFFSETS_PER_STEP] for start in range(0, len(indexes), OFFSETS_PER_STEP))


def _committed_in_parts(committed: GroupOffsets, name: str) -> Iterator[list[int]]:
    """Return the partitions with an offset in a topic, those of one step at a time.

    One list of a hundred thousand partitions would keep the garbage collector busy for milliseconds. The store replaces
    a topic that changes meanwhile by a copy of it as it was.
    """
    offsets = committed[name]
    partitions = iter(offsets)
    done = 0
    while True:
        if committed[name] is not offsets:
            offsets = committed[name]
            partitions = islice(offsets, done, None)
        some = list(islice(partitions, OFFSETS_PER_STEP))
        if not some:
            return
        done += len(some)
        yield some


def _partitions(
    committed: GroupOffsets, pending: frozenset[tuple[str, int]], name: str, indexes: list[int]
) -> list[OffsetFetchResponsePartitions]:
    """Return the committed offsets of some partitions of a topic."""
    offsets = committed.get(name, _NO_OFFSETS)
    partitions = []
    for index in indexes:
        offset = offsets.get(index)
        if pending and (name, index) in pending:
            partitions.append(_partition(index, error=_UNSTABLE))
        elif offset is None:
            partitions.append(_partition(index))
        else:
            partitions.append(
                OffsetFetchResponsePartitions(index, offset.offset, offset.leader_epoch, offset.metadata, _NONE)
            )
    return partitions


def _partition(index: int, error: int = _NONE) -> OffsetFetchResponsePartitions:
    """Return a partition without an offset."""
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=error
    )

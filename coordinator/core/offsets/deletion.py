"""Deletion of offsets and groups, by an administrator or by retention. `deleted_topics.py` deletes those of topics.

All of these decide from what is committed, so they run on a group only while no append of it is in flight. From the
decision to delete a group until its tombstone is durable the group is Dead: clients are told to retry. If the append
fails, an identical Empty group replaces it.
Sources: KIP-229 (DeleteGroups), KIP-496 (OffsetDelete), KIP-211; Kafka's `OffsetMetadataManager.deleteOffsets`,
`GroupCoordinatorShard.deleteGroups`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from coordinator.core.context import RECORD_OVERHEAD, PendingAppend
from coordinator.core.group.group import Group
from coordinator.core.log_errors import client_error
from coordinator.core.offsets.commit import Accepted, Outcome, ResponseTypes, build_response, split
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol.messages.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.offsets_records import encode_partition, offset_key_prefix

if TYPE_CHECKING:
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.offsets.committed import GroupOffsets, TopicOffsets
    from coordinator.core.offsets.quarantine import QuarantinedGroup
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.messages.delete_groups import DeleteGroupsRequest
    from protocol.messages.offset_delete import OffsetDeleteRequest

Positions = Sequence[tuple[str, int]]  # (topic, partition)

# A scan, or a deleted topic, may concern very many offsets of one group. They need not go in one batch (Kafka appends
# the records of a scan non-atomically), and a batch larger than message.max.bytes would fail at each attempt.
# DeleteGroups is atomic, as in Kafka, unless the tombstones of a group do not fit in one append or take too long for
# one event: then it is the same as with a scan.
MAX_TOMBSTONES_PER_APPEND: Final = 1000
# Values that tests change are not Final: mypyc would compile them into the code.
MAX_TOMBSTONES_AT_ONCE = 10_000
_INDEX_BYTES: Final = 4  # size of the partition in a key
RECORDS_PER_STEP = 500  # tombstones of DeleteGroups
HASHED_PER_UNIT: Final = 7  # a shift: 128 characters of a group's id are hashed in the time that one record takes
_NONE_CODE: Final = int(ErrorCode.NONE)
_NO_OFFSETS: Final[TopicOffsets] = {}
_SUBSCRIBED: Final = int(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
OFFSET_DELETE: Final = ResponseTypes(OffsetDeleteResponse, OffsetDeleteResponseTopic, OffsetDeleteResponsePartition)


def offset_tombstones(group_id: str, positions: Positions) -> tuple[tuple[bytes, bytes | None], ...]:
    tombstones: list[tuple[bytes, bytes | None]] = []
    prefix_of: str | None = None
    prefix = b""  # common to the keys of that topic's partitions
    for topic, partition in positions:
        if topic != prefix_of:
            prefix_of, prefix = topic, offset_key_prefix(group_id, topic)
        tombstones.append((prefix + encode_partition(partition), None))
    return tuple(tombstones)


class RemoveOffsets(PendingAppend):
    """Pending append of tombstones for some offsets of one group."""

    __slots__ = ("positions",)

    def __init__(self, positions: Positions) -> None:
        self.positions = positions

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            store = group.shard.offsets
            for topic, partition in self.positions:
                store.remove(group.group_id, topic, partition)


class DeleteOffsets(RemoveOffsets):
    """Pending append of the tombstones of an OffsetDelete."""

    __slots__ = ("response", "ticket")

    def __init__(self, positions: Positions, ticket: Ticket, response: OffsetDeleteResponse) -> None:
        super().__init__(positions)
        self.ticket: Ticket | None = ticket
        self.response = response

    def durable(self, context: Context) -> None:
        super().durable(context)
        if self.ticket is not None:
            context.reply(self.ticket, self.response)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.abandoned(client_error(error), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        ticket, self.ticket = self.ticket, None
        if ticket is not None:
            context.reply(ticket, OffsetDeleteResponse(error_code=int(error)))


class PendingDeletion:
    """Collects the result of each group in a DeleteGroups, and replies when the last one is known."""

    __slots__ = ("_results", "_ticket", "_waiting")

    def __init__(self, ticket: Ticket, names: Sequence[str]) -> None:
        self._ticket = ticket
        self._results: dict[str, ErrorCode] = dict.fromkeys(names, ErrorCode.NONE)
        self._waiting = set(names)

    def settle(self, name: str, error: ErrorCode, context: Context) -> None:
        """Record the result of one group. Only the first counts: a timeout may be followed by the actual outcome."""
        if name not in self._waiting:
            return
        self._waiting.remove(name)
        self._results[name] = error
        if not self._waiting:
            results = [
                DeletableGroupResult(group_id=name, error_code=int(error)) for name, error in self._results.items()
            ]
            context.reply(self._ticket, DeleteGroupsResponse(results=results))


class DeleteGroup(PendingAppend):
    """Pending append of the tombstones of a group and all its offsets. The group is Dead meanwhile."""

    __slots__ = ("deletion", "positions")

    def __init__(self, positions: Positions, deletion: PendingDeletion | None) -> None:
        self.positions = positions
        self.deletion = deletion

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            store = group.shard.offsets
            for topic, partition in self.positions:
                store.remove(group.group_id, topic, partition)
            group.shard.forget_any(group)
        self._settle(ErrorCode.NONE, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        if self.group is not None:
            self.group.end_deletion()
        self._settle(client_error(error), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._settle(error, context)

    def _settle(self, error: ErrorCode, context: Context) -> None:
        if self.deletion is not None and self.group is not None:
            self.deletion.settle(self.group.group_id, error, context)


def in_parts(committed: GroupOffsets, at_most: int) -> Iterator[tuple[str, list[int]]]:
    """Yield a topic and some of its partitions, until all committed offsets are named."""
    for topic in list(committed):
        indexes = list(committed.get(topic, ()))
        for start in range(0, len(indexes), at_most):
            yield topic, indexes[start : start + at_most]


def delete_group(group: AnyGroup, timers: GroupTimers, deletion: PendingDeletion, context: Context) -> None:
    """Delete an Empty group and all its offsets, in one append if possible."""
    if _needs_parts(group, context):
        timers.in_turns(_delete_in_parts(group, None, deletion, context), group.shard, context)
    else:
        positions = _all_positions(group)
        group.begin_deletion(context.wall_ms)
        _append_last(group, None, positions, deletion, context)


def _needs_parts(group: AnyGroup, context: Context) -> bool:
    count = size = 0
    for topic, partitions in group.shard.offsets.of_group(group.group_id).items():
        count += len(partitions)
        size += len(partitions) * (len(offset_key_prefix(group.group_id, topic)) + _INDEX_BYTES + RECORD_OVERHEAD)
    return count > MAX_TOMBSTONES_AT_ONCE or size > context.config.message_max_bytes // 2


class _Parts:
    """The appends that remove the offsets of a group before the group itself."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error = ErrorCode.NONE  # of the first that failed


class _RemovePart(RemoveOffsets):
    __slots__ = ("parts",)

    def __init__(self, positions: Positions, parts: _Parts) -> None:
        super().__init__(positions)
        self.parts = parts

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.parts.error = error


def _delete_in_parts(
    group: AnyGroup, quarantined: QuarantinedGroup | None, deletion: PendingDeletion, context: Context
) -> Steps:
    """Delete a group with very many offsets, which is not served meanwhile. After a failure it keeps what is left.

    `group` is Dead meanwhile; if it is `quarantined`, the partition does not have it.
    """
    shard, group_id, parts = group.shard, group.group_id, _Parts()
    if quarantined is None:
        group.begin_deletion(context.wall_ms)
    for topic, indexes in in_parts(shard.offsets.of_group(group_id), MAX_TOMBSTONES_PER_APPEND):
        yield from shard.let_others_run()
        while shard.failed:  # a part may be among them, and then the rest must not be appended
            yield None
        if shard.find(group_id) is not (group if quarantined is None else None) or (
            shard.quarantine.groups.get(group_id) is not quarantined
        ):
            deletion.settle(group_id, ErrorCode.NOT_COORDINATOR, context)
            return
        if parts.error is not ErrorCode.NONE:
            if quarantined is None:
                group.end_deletion()
            deletion.settle(group_id, client_error(parts.error), context)
            return
        for positions in in_appends(group_id, [(topic, index) for index in indexes], context):
            context.append(group, offset_tombstones(group_id, positions), _RemovePart(positions, parts))
    _append_last(group, quarantined, list(shard.offsets.pending_of_group(group_id)), deletion, context)


def _append_last(
    group: AnyGroup,
    quarantined: QuarantinedGroup | None,
    positions: Positions,
    deletion: PendingDeletion,
    context: Context,
) -> None:
    """Append the tombstone of a group, behind those of its offsets that are left."""
    damaged = () if quarantined is None else tuple((key, None) for key in quarantined.keys)
    then = DeleteGroup(positions, deletion) if quarantined is None else DeleteQuarantined(positions, deletion)
    records = (*offset_tombstones(group.group_id, positions), *damaged, *group.tombstones())
    context.append(group, records, then)


def _all_positions(group: AnyGroup) -> list[tuple[str, int]]:
    """List the committed offsets of a group, and those of open transactions."""
    store = group.shard.offsets
    positions = [(topic, index) for topic, indexes in store.of_group(group.group_id).items() for index in indexes]
    known = set(positions)
    return positions + [position for position in store.pending_of_group(group.group_id) if position not in known]


class DeleteQuarantined(RemoveOffsets):
    """Pending append of the tombstones of a quarantined group, which stays quarantined until they are durable."""

    __slots__ = ("deletion",)

    def __init__(self, positions: Positions, deletion: PendingDeletion) -> None:
        super().__init__(positions)
        self.deletion = deletion

    def durable(self, context: Context) -> None:
        super().durable(context)
        if self.group is not None:
            self.group.shard.quarantine.release(self.group.group_id)
        self.abandoned(ErrorCode.NONE, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.abandoned(client_error(error), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        if self.group is not None:
            self.deletion.settle(self.group.group_id, error, context)


def _delete_quarantined(
    quarantined: QuarantinedGroup, shard: Shard, timers: GroupTimers, deletion: PendingDeletion, context: Context
) -> None:
    """Delete a quarantined group with all its offsets and damaged records, in one append if possible."""
    group = Group(quarantined.group_id, shard, context.wall_ms)  # for the appends only: the partition does not have it
    if _needs_parts(group, context):
        timers.in_turns(_delete_in_parts(group, quarantined, deletion, context), shard, context)
    else:
        _append_last(group, quarantined, _all_positions(group), deletion, context)


def expire(group: AnyGroup, positions: Positions, *, with_group: bool, context: Context) -> None:
    """Delete the expired offsets of one group, and the group itself if `with_group`, in as many appends as needed."""
    context.counters.offset_expirations += len(positions)
    chunks = in_appends(group.group_id, positions, context)
    if with_group:
        group.begin_deletion(context.wall_ms)
        last = chunks.pop() if chunks else []
    for chunk in chunks:
        context.append(group, offset_tombstones(group.group_id, chunk), RemoveOffsets(chunk))
    if with_group:
        records = (*offset_tombstones(group.group_id, last), *group.tombstones())
        context.append(group, records, DeleteGroup(last, None))


def in_appends(group_id: str, positions: Positions, context: Context) -> list[list[tuple[str, int]]]:
    """Split positions into lists whose tombstones, with that of the group, fit in one append."""
    chunks: list[list[tuple[str, int]]] = []
    record_bytes = len(offset_key_prefix(group_id, "")) + _INDEX_BYTES + RECORD_OVERHEAD  # without the topic's name
    room = context.config.message_max_bytes - record_bytes
    left = 0
    for position in positions:
        size = record_bytes + len(position[0].encode())
        if not chunks or size > left or len(chunks[-1]) >= MAX_TOMBSTONES_PER_APPEND:
            chunks.append([])
            left = room
        chunks[-1].append(position)
        left -= size
    return chunks


# -- requests --------------------------------------------------------------------------------------------------------


def delete_groups(
    registry: GroupRegistry, timers: GroupTimers, request: DeleteGroupsRequest, ticket: Ticket, context: Context
) -> Steps:
    """Handle DeleteGroups in steps. Each group is deleted when it has no append in flight; there is one response."""
    names = list(dict.fromkeys(request.groups_names))
    if not names:
        context.reply(ticket, DeleteGroupsResponse(results=[]))
    deletion = PendingDeletion(ticket, names)
    deadline_ms = context.now_ms + context.commit_timeout_ms
    records = 0  # in this step
    for name in names:
        shard = registry.shard_of(name)
        if records >= RECORDS_PER_STEP:
            records = 0
            yield from shard.let_others_run()
        records += 1 + (len(name) >> HASHED_PER_UNIT) + sum(map(len, shard.offsets.of_group(name).values()))
        _delete_when_idle(registry, timers, name, deadline_ms, deletion, context)


def _delete_when_idle(
    registry: GroupRegistry,
    timers: GroupTimers,
    name: str,
    deadline_ms: int,
    deletion: PendingDeletion,
    context: Context,
) -> None:
    timers.await_appends(
        [("group", name)],
        deadline_ms,
        lambda: not is_busy(registry, name),
        lambda later: _delete_group(registry, timers, name, deletion, later),
        context,
    )


def _delete_group(
    registry: GroupRegistry, timers: GroupTimers, name: str, deletion: PendingDeletion, context: Context
) -> None:
    quarantined = registry.quarantined(name)
    if quarantined is not None and not registry.is_down:
        _delete_quarantined(quarantined, registry.shard_of(name), timers, deletion, context)
        return
    error = registry.refusal(name)
    group = registry.find(name)
    if error is ErrorCode.NONE and is_busy(registry, name):
        error = client_error(ErrorCode.REQUEST_TIMED_OUT)
    if error is ErrorCode.NONE:
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.check_delete()
    if group is None or error is not ErrorCode.NONE:
        deletion.settle(name, error, context)
    else:
        delete_group(group, timers, deletion, context)


def delete_offsets(
    registry: GroupRegistry,
    timers: GroupTimers,
    request: OffsetDeleteRequest,
    exists: Callable[[str, int], bool] | None,
    ticket: Ticket,
    context: Context,
) -> None:
    """Handle OffsetDelete, once the group has no append in flight."""
    group_id = request.group_id
    refused, accepted = split(request.topics, exists)
    error = registry.refusal(group_id)
    if group_id == "" and not registry.is_down:
        error = ErrorCode.INVALID_GROUP_ID
    if error is not ErrorCode.NONE:
        context.reply(ticket, OffsetDeleteResponse(error_code=int(error)))
        return
    timers.await_appends(
        [("group", group_id)],
        context.now_ms + context.commit_timeout_ms,
        lambda: not is_busy(registry, group_id),
        lambda later: _delete_offsets(registry, group_id, refused, accepted, ticket, later),
        context,
    )


def _delete_offsets(
    registry: GroupRegistry,
    group_id: str,
    refused: list[Outcome],
    accepted: list[Accepted],
    ticket: Ticket,
    context: Context,
) -> None:
    error = registry.refusal(group_id)
    group = registry.find(group_id)
    if error is ErrorCode.NONE and is_busy(registry, group_id):
        error = client_error(ErrorCode.REQUEST_TIMED_OUT)
    if error is ErrorCode.NONE:
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.check_offset_delete()
    if group is None or error is not ErrorCode.NONE:
        context.reply(ticket, OffsetDeleteResponse(error_code=int(error)))
        return
    store = group.shard.offsets
    outcomes = list(refused)
    positions: dict[tuple[str, int], None] = {}
    committed, has_pending = store.of_group(group_id), store.has_pending(group_id)
    name: str | None = None
    error_code, offsets = _NONE_CODE, _NO_OFFSETS  # of that topic
    for topic, partition, topic_index in accepted:
        index = partition.partition_index
        if topic != name:
            name, offsets = topic, committed.get(topic, _NO_OFFSETS)
            error_code = _SUBSCRIBED if group.is_subscribed_to(topic) else _NONE_CODE
        outcomes.append((topic, index, error_code, None, topic_index))
        if error_code == _NONE_CODE and (
            index in offsets or (has_pending and store.is_pending(group_id, topic, index))
        ):
            positions[topic, index] = None
    response: OffsetDeleteResponse = build_response(OFFSET_DELETE, outcomes)
    if not positions:
        context.reply(ticket, response)
        return
    context.counters.offset_deletions += len(positions)
    then = DeleteOffsets(list(positions), ticket, response)
    context.append(group, offset_tombstones(group_id, then.positions), then)


def is_busy(registry: GroupRegistry, group_id: str) -> bool:
    """Return whether an append of a group is in flight."""
    group = registry.find(group_id)
    return group is not None and group.in_flight > 0

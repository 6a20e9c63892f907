"""Tombstones: offsets and groups that are deleted, by an administrator, by retention, or with their topic.

All of these decide from what is committed, so they run on a group only while nothing of it is in flight. From the
decision to delete a group until its tombstone is durable it is Dead: requests are told to try again, and if the append
fails an identical Empty group takes its place. Sources: spec 7.8, 8.1, 11, 12.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.context import RECORD_OVERHEAD, PendingAppend, client_error
from coordinator.core.group.checks import check_delete_group, check_offset_delete
from coordinator.core.group.group import CONSUMER, Group
from coordinator.core.group.records import group_tombstone
from coordinator.core.group.state import DEAD
from coordinator.core.offsets.commit import Accepted, Outcome, ResponseTypes, split
from coordinator.core.offsets.commit import answer as answer_partitions
from coordinator.core.shard import PartitionState
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol.messages.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.offsets_records import encode_offset_key, offset_key_prefix

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.messages.delete_groups import DeleteGroupsRequest
    from protocol.messages.offset_delete import OffsetDeleteRequest

Positions = Sequence[tuple[str, int]]  # (topic, partition)

# A scan, or a topic that is gone, may concern very many offsets of one group; they need not go in one batch
# (spec 11.1), and one that is larger than message.max.bytes would fail each time it is tried. DeleteGroups is atomic,
# as in Kafka.
MAX_TOMBSTONES_PER_APPEND: Final = 1000
_INDEX_BYTES: Final = 4  # of the partition in a key
# What tests change is not Final: the compiler would write it into the code.
RECORDS_PER_STEP = 500  # of DeleteGroups
HASHED_PER_UNIT: Final = 7  # as a shift: characters of a group's id that are hashed while one record is made
GROUPS_PER_STEP = 500  # looked at for a topic that is gone
COST_OF_FORGETTING: Final = 10  # of a group that has offsets of it, in groups that have none
RETRY_FORGETTING_MS: Final = 1000
OFFSET_DELETE: Final = ResponseTypes(OffsetDeleteResponse, OffsetDeleteResponseTopic, OffsetDeleteResponsePartition)


def offset_tombstones(group_id: str, positions: Positions) -> tuple[tuple[bytes, bytes | None], ...]:
    return tuple((encode_offset_key(group_id, topic, partition), None) for topic, partition in positions)


class RemoveOffsets(PendingAppend):
    """Tombstones of some offsets of one group are on their way."""

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
    """The same, asked for by OffsetDelete."""

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


class ForgetTopic(RemoveOffsets):
    """The same, because a topic was deleted. Nobody would ask again, so a failure is tried again."""

    __slots__ = ("again", "may_be_more", "timers")

    def __init__(
        self, positions: Positions, timers: GroupTimers, again: Callable[[Context], None], *, may_be_more: bool
    ) -> None:
        super().__init__(positions)
        self.timers = timers
        self.again = again
        self.may_be_more = may_be_more

    def durable(self, context: Context) -> None:
        super().durable(context)
        if self.may_be_more:
            self.timers.run_at(context.now_ms, self.again)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.timers.run_at(context.now_ms + RETRY_FORGETTING_MS, self.again)

    def timed_out(self, context: Context) -> None:
        """Nobody waits for an answer."""


class DeletionAnswer:
    """Collects what became of each group in a DeleteGroups, and answers when all is known."""

    __slots__ = ("_results", "_ticket", "_waiting")

    def __init__(self, ticket: Ticket, names: Sequence[str]) -> None:
        self._ticket = ticket
        self._results: dict[str, ErrorCode] = dict.fromkeys(names, ErrorCode.NONE)
        self._waiting = set(names)

    def settle(self, name: str, error: ErrorCode, context: Context) -> None:
        """The outcome for one group. Only the first counts: a timeout may be followed by the outcome itself."""
        if name not in self._waiting:
            return
        self._waiting.remove(name)
        self._results[name] = error
        self.reply_if_complete(context)

    def reply_if_complete(self, context: Context) -> None:
        if not self._waiting:
            results = [
                DeletableGroupResult(group_id=name, error_code=int(error)) for name, error in self._results.items()
            ]
            context.reply(self._ticket, DeleteGroupsResponse(results=results))


class DeleteGroup(PendingAppend):
    """The tombstones of a group and all its offsets are on their way; the group is Dead."""

    __slots__ = ("answer", "positions")

    def __init__(self, positions: Positions, answer: DeletionAnswer | None) -> None:
        self.positions = positions
        self.answer = answer

    def durable(self, context: Context) -> None:
        group = self.group
        if group is not None:
            store = group.shard.offsets
            for topic, partition in self.positions:
                store.remove(group.group_id, topic, partition)
            group.shard.forget(group)
        self._settle(ErrorCode.NONE, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        if self.group is not None:
            _revive(self.group)
        self._settle(client_error(error), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._settle(error, context)

    def _settle(self, error: ErrorCode, context: Context) -> None:
        if self.answer is not None and self.group is not None:
            self.answer.settle(self.group.group_id, error, context)


def delete_group(group: Group, store: OffsetStore, answer: DeletionAnswer | None, context: Context) -> None:
    """Everything of a group that is Empty, in one append."""
    positions = [(topic, index) for topic, indexes in store.of_group(group.group_id).items() for index in indexes]
    known = set(positions)
    positions += [position for position in store.pending_of_group(group.group_id) if position not in known]
    _die(group, context)
    records = (*offset_tombstones(group.group_id, positions), group_tombstone(group))
    context.append(group, records, DeleteGroup(positions, answer))


def expire(group: Group, positions: Positions, *, with_group: bool, context: Context) -> None:
    """What retention found in one group, in as many appends as it takes."""
    context.counters.offset_expirations += len(positions)
    pieces = _pieces(group.group_id, positions, context)
    if with_group:
        _die(group, context)
        last = pieces.pop() if pieces else []
    for piece in pieces:
        context.append(group, offset_tombstones(group.group_id, piece), RemoveOffsets(piece))
    if with_group:
        records = (*offset_tombstones(group.group_id, last), group_tombstone(group))
        context.append(group, records, DeleteGroup(last, None))


def _pieces(group_id: str, positions: Positions, context: Context) -> list[list[tuple[str, int]]]:
    """Lists of positions whose tombstones, and the group's own, fit in one append."""
    pieces: list[list[tuple[str, int]]] = []
    record_bytes = len(offset_key_prefix(group_id, "")) + _INDEX_BYTES + RECORD_OVERHEAD  # beside the topic
    room = context.config.message_max_bytes - record_bytes
    left = 0
    for position in positions:
        size = record_bytes + len(position[0].encode())
        if not pieces or size > left or len(pieces[-1]) >= MAX_TOMBSTONES_PER_APPEND:
            pieces.append([])
            left = room
        pieces[-1].append(position)
        left -= size
    return pieces


def _die(group: Group, context: Context) -> None:
    for member_id in list(group.pending_join):
        group.remove_pending(member_id)  # such ids do not keep a group; their clients ask for new ones
    timestamp_ms = group.state_timestamp_ms
    group.transition(DEAD, context.wall_ms)
    group.state_timestamp_ms = timestamp_ms  # how long it has been empty, should it come back


def _revive(dead: Group) -> None:
    """The tombstone never happened: an identical Empty group takes the place of the Dead one."""
    group = Group(dead.group_id, dead.shard, dead.state_timestamp_ms)
    group.protocol_type = dead.protocol_type
    group.generation = dead.generation
    group.is_recorded = dead.is_recorded
    group.record_offset = dead.record_offset
    group.rebalances = dead.rebalances
    group.compute_subscribed_topics()
    dead.shard.add(group)


# -- requests --------------------------------------------------------------------------------------------------------


def delete_groups(
    registry: GroupRegistry, timers: GroupTimers, request: DeleteGroupsRequest, ticket: Ticket, context: Context
) -> Steps:
    """DeleteGroups, in steps: each group is decided when it has no append in flight, and all are answered together."""
    names = list(dict.fromkeys(request.groups_names))
    if not names:
        context.reply(ticket, DeleteGroupsResponse(results=[]))
    answer = DeletionAnswer(ticket, names)
    deadline_ms = context.now_ms + context.commit_timeout_ms
    records = 0  # since the last step
    for name in names:
        shard = registry.shard_of(name)
        if records >= RECORDS_PER_STEP:
            records = 0
            yield from shard.let_others_run()
        records += 1 + (len(name) >> HASHED_PER_UNIT) + sum(map(len, shard.offsets.of_group(name).values()))
        _delete_when_idle(registry, timers, name, deadline_ms, answer, context)


def _delete_when_idle(
    registry: GroupRegistry, timers: GroupTimers, name: str, deadline_ms: int, answer: DeletionAnswer, context: Context
) -> None:
    timers.await_appends(
        [("group", name)],
        deadline_ms,
        lambda: not _is_busy(registry, name),
        lambda later: _delete_group(registry, name, answer, later),
        context,
    )


def _delete_group(registry: GroupRegistry, name: str, answer: DeletionAnswer, context: Context) -> None:
    error = registry.refusal(name)
    group = registry.groups.get(name)
    if error is ErrorCode.NONE and _is_busy(registry, name):
        error = client_error(ErrorCode.REQUEST_TIMED_OUT)
    if error is ErrorCode.NONE:
        error = check_delete_group(group)
    if group is None or error is not ErrorCode.NONE:
        answer.settle(name, error, context)
    else:
        delete_group(group, group.shard.offsets, answer, context)


def delete_offsets(
    registry: GroupRegistry,
    timers: GroupTimers,
    request: OffsetDeleteRequest,
    exists: Callable[[str, int], bool] | None,
    ticket: Ticket,
    context: Context,
) -> None:
    """OffsetDelete: decided when the group has no append in flight."""
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
        lambda: not _is_busy(registry, group_id),
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
    group = registry.groups.get(group_id)
    if error is ErrorCode.NONE and _is_busy(registry, group_id):
        error = client_error(ErrorCode.REQUEST_TIMED_OUT)
    if error is ErrorCode.NONE:
        error = check_offset_delete(group, CONSUMER)
    if group is None or error is not ErrorCode.NONE:
        context.reply(ticket, OffsetDeleteResponse(error_code=int(error)))
        return
    store = group.shard.offsets
    outcomes = list(refused)
    positions: dict[tuple[str, int], None] = {}
    for topic, partition, place in accepted:
        index = partition.partition_index
        if group.is_subscribed_to(topic):
            outcomes.append((topic, index, int(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), None, place))
            continue
        outcomes.append((topic, index, int(ErrorCode.NONE), None, place))
        if store.get(group_id, topic, index) is not None or store.is_pending(group_id, topic, index):
            positions[topic, index] = None
    response: OffsetDeleteResponse = answer_partitions(OFFSET_DELETE, outcomes)
    if not positions:
        context.reply(ticket, response)
        return
    context.counters.offset_deletions += len(positions)
    then = DeleteOffsets(list(positions), ticket, response)
    context.append(group, offset_tombstones(group_id, then.positions), then)


class ForgottenTopic(NamedTuple):
    """What is to be forgotten: offsets committed for these partitions before the deletion, and none after it.

    `ends` are the next offsets, at that moment, of the partitions of the offsets log: what is committed later is for a
    new topic of the same name.
    """

    name: str
    partitions: Collection[int]
    ends: Sequence[int]


def forget_topic(
    registry: GroupRegistry, timers: GroupTimers, topic: str, partitions: Collection[int], context: Context
) -> None:
    """A topic, or some of its partitions, is gone: so is what any group committed for it (spec 11.4).

    The groups are looked at in the background, some hundred in one step. What is being loaded remembers the deletion
    for `forget_topics_of_loaded`.
    """
    _forget_in(registry.partitions, registry, timers, topic, partitions, context)


def forget_topics_of_loaded(shard: Shard, registry: GroupRegistry, timers: GroupTimers, context: Context) -> None:
    """A partition is loaded: topics that went while it was not are forgotten now, before anybody commits anew."""
    deleted, shard.deleted_topics = shard.deleted_topics, []
    for topic, partitions in deleted:
        _forget_in([shard], registry, timers, topic, partitions, context)


def _forget_in(
    shards: Sequence[Shard],
    registry: GroupRegistry,
    timers: GroupTimers,
    topic: str,
    partitions: Collection[int],
    context: Context,
) -> None:
    deleted = ForgottenTopic(topic, partitions, [shard.next_offset for shard in registry.partitions])
    waiting = []
    for shard in shards:
        if shard.state is PartitionState.LOADING:
            shard.deleted_topics.append((topic, partitions))
        else:
            waiting.append(shard)
    timers.in_background(_forget_somewhere(waiting, registry, timers, deleted, context), None)


def _forget_somewhere(
    shards: Sequence[Shard], registry: GroupRegistry, timers: GroupTimers, deleted: ForgottenTopic, context: Context
) -> Steps:
    topic = deleted.name
    looked = 0
    for shard in shards:
        if shard.state is PartitionState.LOADING:  # again, since the topic went
            shard.deleted_topics.append((topic, deleted.partitions))
            continue
        for group_id in list(shard.groups):
            if looked >= GROUPS_PER_STEP:
                looked = 0
                yield from shard.let_others_run()
            looked += 1
            group = shard.groups.get(group_id)
            if group is None:
                continue
            if group.in_flight or shard.offsets.may_have(group_id, topic) or shard.offsets.has_pending(group_id):
                looked += COST_OF_FORGETTING
                _forget_when_idle(registry, timers, group_id, deleted, context)


def _forget_when_idle(
    registry: GroupRegistry, timers: GroupTimers, group_id: str, deleted: ForgottenTopic, context: Context
) -> None:
    timers.await_appends(
        [("group", group_id)],
        context.now_ms + context.commit_timeout_ms,
        lambda: not _is_busy(registry, group_id),
        lambda later: _forget(registry, timers, group_id, deleted, later),
        context,
    )


def _forget(
    registry: GroupRegistry, timers: GroupTimers, group_id: str, deleted: ForgottenTopic, context: Context
) -> None:
    group = registry.groups.get(group_id)
    if group is None:
        return

    def again(later: Context) -> None:
        _forget_when_idle(registry, timers, group_id, deleted, later)

    if group.in_flight:
        again(context)  # it commits all the time; there will be a moment
        return
    positions = _positions_of(group, deleted)
    if positions:
        piece = _pieces(group_id, positions, context)[0]
        may_be_more = len(piece) < len(positions) or len(positions) >= MAX_TOMBSTONES_PER_APPEND
        then = ForgetTopic(piece, timers, again, may_be_more=may_be_more)
        context.append(group, offset_tombstones(group_id, piece), then)


def _positions_of(group: Group, deleted: ForgottenTopic) -> list[tuple[str, int]]:
    """The next ones, about as many as go in one append."""
    store, topic, end = group.shard.offsets, deleted.name, deleted.ends[group.shard.partition]
    committed = store.of_group(group.group_id).get(topic, {})
    found = (
        (topic, index) for index, offset in committed.items() if index in deleted.partitions and offset.log_offset < end
    )
    positions = dict.fromkeys(islice(found, MAX_TOMBSTONES_PER_APPEND))
    for position in store.pending_of_group(group.group_id):
        if position[0] == topic and position[1] in deleted.partitions:
            positions[position] = None
    return list(positions)


def _is_busy(registry: GroupRegistry, group_id: str) -> bool:
    group = registry.groups.get(group_id)
    return group is not None and group.in_flight > 0

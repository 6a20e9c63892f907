"""Deletion of the offsets that groups committed for topics that are deleted.

The groups are searched in the background, once for all topics that were deleted before the search begins. A group is
changed only while no append of it is in flight.
Source: Kafka's `OffsetMetadataManager.onPartitionsDeleted`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.offsets.deletion import (
    MAX_TOMBSTONES_PER_APPEND,
    Positions,
    RemoveOffsets,
    in_appends,
    is_busy,
    offset_tombstones,
)
from coordinator.core.shard import PartitionState

if TYPE_CHECKING:
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.context import Context
    from coordinator.core.offsets.committed import TopicOffsets
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.error_codes import ErrorCode

GROUPS_PER_STEP = 500  # groups searched for offsets of one deleted topic; not Final, because tests change it
COST_OF_FORGETTING: Final = 10  # a group with offsets of the topic costs as much as 10 groups without
RETRY_FORGETTING_MS: Final = 1000
NOT_LOADED: Final = -1  # in place of an offset
_NO_OFFSETS: Final[TopicOffsets] = {}


class ForgetTopic(RemoveOffsets):
    """Pending append of the tombstones of deleted topics. A failure is retried here, as no client would retry it."""

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
        if self.may_be_more:  # in the background, because many groups may get here at once
            self.timers.in_background(_go_on(self.again, context), None)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.timers.run_at(context.now_ms + RETRY_FORGETTING_MS, self.again)

    def timed_out(self, context: Context) -> None:
        """Do nothing: no client waits for a response."""


def _go_on(again: Callable[[Context], None], context: Context) -> Steps:
    again(context)
    yield None


class ForgottenTopic(NamedTuple):
    """Partitions of a deleted topic, whose offsets committed before the deletion must be removed.

    `ends` are the next offsets of the partitions of the offsets log at that moment: a later commit is for a new topic
    of the same name. One that was being loaded has NOT_LOADED.
    """

    name: str
    partitions: frozenset[int]
    ends: Sequence[int]


def forget_topic(
    registry: GroupRegistry, timers: GroupTimers, topic: str, partitions: frozenset[int], context: Context
) -> None:
    """Delete the offsets that any group committed for a deleted topic, or for some partitions of it.

    The groups are searched in the background, some hundred in one step. One search is for all topics that were deleted
    before it begins. A partition that is being loaded keeps the deletion for `forget_topics_of_loaded`.
    """
    for shard in registry.partitions:
        if shard.state is PartitionState.LOADING:
            shard.deleted_topics[topic, partitions] = None
    if not registry.deleted_topics:
        timers.in_background(_search_all(registry, timers, context), None)
    registry.deleted_topics[topic, partitions] = ForgottenTopic(topic, partitions, _ends(registry))


def is_forgetting_many(registry: GroupRegistry, most: int) -> bool:
    """Return whether `most` deleted topics or more wait for a search of the groups."""
    if registry.is_down:
        return False
    return len(registry.deleted_topics) >= most or any(
        len(shard.deleted_topics) >= most and shard.state is PartitionState.LOADING for shard in registry.partitions
    )


def forget_topics_of_loaded(shard: Shard, registry: GroupRegistry, timers: GroupTimers, context: Context) -> None:
    """Delete the offsets of topics that were deleted while a partition was loaded, before it accepts commits."""
    deleted, shard.deleted_topics = shard.deleted_topics, {}
    if deleted:
        ends = _ends(registry)
        topics = [ForgottenTopic(topic, partitions, ends) for topic, partitions in deleted]
        timers.in_background(_search([shard], registry, timers, topics, context), None)


def _ends(registry: GroupRegistry) -> list[int]:
    return [NOT_LOADED if shard.state is PartitionState.LOADING else shard.next_offset for shard in registry.partitions]


def _search_all(registry: GroupRegistry, timers: GroupTimers, context: Context) -> Steps:
    deleted, registry.deleted_topics = registry.deleted_topics, {}
    yield from _search(registry.partitions, registry, timers, list(deleted.values()), context)


def _search(
    shards: Sequence[Shard],
    registry: GroupRegistry,
    timers: GroupTimers,
    deleted: Sequence[ForgottenTopic],
    context: Context,
) -> Steps:
    looked = 0
    for shard in shards:
        here = [each for each in deleted if each.ends[shard.partition] != NOT_LOADED]
        for group_id in [*shard.groups, *shard.consumer_groups]:
            if looked >= GROUPS_PER_STEP:
                looked = 0
                yield from shard.let_others_run()
            looked += len(here)
            group, store = shard.find(group_id), shard.offsets
            if group is None:
                continue
            if group.in_flight or store.has_pending(group_id):
                found = here
            else:
                found = [each for each in here if store.may_have(group_id, each.name)]
            if found:
                committed = store.of_group(group_id)
                tombstones = sum([len(committed.get(each.name, ())) for each in found])
                looked += COST_OF_FORGETTING + min(tombstones, MAX_TOMBSTONES_PER_APPEND) // 2
                _forget_when_idle(registry, timers, group_id, found, context)
        if shard.state is PartitionState.LOADING:  # it is being loaded again since the topics were deleted
            shard.deleted_topics.update(dict.fromkeys([(each.name, each.partitions) for each in here]))


def _forget_when_idle(
    registry: GroupRegistry, timers: GroupTimers, group_id: str, deleted: Sequence[ForgottenTopic], context: Context
) -> None:
    timers.await_appends(
        [("group", group_id)],
        context.now_ms + context.commit_timeout_ms,
        lambda: not is_busy(registry, group_id),
        lambda later: _forget(registry, timers, group_id, deleted, later),
        context,
    )


def _forget(
    registry: GroupRegistry, timers: GroupTimers, group_id: str, deleted: Sequence[ForgottenTopic], context: Context
) -> None:
    group = registry.find(group_id)
    if group is None:
        return

    def again(later: Context) -> None:
        _forget_when_idle(registry, timers, group_id, deleted, later)

    if group.in_flight:
        again(context)  # the group commits all the time; try again when it pauses
        return
    positions = _positions_of(group, deleted)
    if positions:
        chunk = in_appends(group_id, positions, context)[0]
        may_be_more = len(chunk) < len(positions) or len(positions) >= MAX_TOMBSTONES_PER_APPEND
        then = ForgetTopic(chunk, timers, again, may_be_more=may_be_more)
        context.append(group, offset_tombstones(group_id, chunk), then)


def _positions_of(group: AnyGroup, deleted: Sequence[ForgottenTopic]) -> list[tuple[str, int]]:
    """Return the next positions to delete, about as many as go in one append."""
    store, shard = group.shard.offsets, group.shard.partition
    committed = store.of_group(group.group_id)
    found = (
        (each.name, index)
        for each in deleted
        for index, offset in committed.get(each.name, _NO_OFFSETS).items()
        if index in each.partitions and offset.log_offset < each.ends[shard]
    )
    positions = dict.fromkeys(islice(found, MAX_TOMBSTONES_PER_APPEND))
    if store.has_pending(group.group_id):
        gone: dict[str, frozenset[int]] = {}
        for each in deleted:
            gone[each.name] = gone.get(each.name, frozenset()) | each.partitions
        for topic, index in store.pending_of_group(group.group_id):
            if topic in gone and index in gone[topic]:
                positions[topic, index] = None
    return list(positions)

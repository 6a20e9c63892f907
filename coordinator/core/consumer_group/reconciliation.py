"""Reconciliation: how far a member may follow its target assignment now.

A member is told to give up first. It gets new partitions when it has given up the others, and only those that are
free; until then it waits in UNRELEASED. Each heartbeat takes one step of one member, and no member waits for the
whole group. Pure functions of values. Source: Kafka's `CurrentAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment, merged, overlaps
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.member import STABLE, UNRELEASED, UNREVOKED, ConsumerMember
from protocol.error_codes import ErrorCode

Epochs = Mapping[bytes, tuple[int, ...]]


class Facts(NamedTuple):
    """All that a reconciliation depends on beside the member."""

    target: Assignment
    target_epoch: int
    owned: Assignment | None  # what the client says it owns; None: it did not say, so it may own anything
    topic_ids: frozenset[bytes]  # the existing topics that the member subscribes to
    is_changed: bool  # the subscription has changed in this event
    holder_of: Callable[[bytes, int], str | None]  # the member that has a partition

    def owns(self, some: Assignment) -> bool:
        """Return whether the client may still own a partition of `some`."""
        return self.owned is None or overlaps(self.owned, some)


def reconcile(member: ConsumerMember, facts: Facts) -> ConsumerMember:
    """Return the member after the step that it may take now; itself if there is none."""
    if member.state == STABLE:
        if member.epoch != facts.target_epoch:
            return _next(member, facts)
        return _trim(member, facts) if facts.is_changed else member
    if member.state == UNREVOKED:
        if not facts.owns(member.pending):
            return _next(member, facts)
        return _trim(member, facts) if facts.is_changed else member
    if member.state == UNRELEASED:
        return _next(member, facts)
    if facts.owned is None or facts.owned:
        raise GroupError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The coordinator does not know the state of this member. It must give up its partitions and join again.",
        )
    return _next(member, facts)


def _trim(member: ConsumerMember, facts: Facts) -> ConsumerMember:
    """Take away the topics that a member no longer subscribes to, without waiting for the next target."""
    gone = {topic_id: some for topic_id, some in member.assigned.items() if topic_id not in facts.topic_ids}
    if not gone:
        return member
    kept = {topic_id: some for topic_id, some in member.assigned.items() if topic_id not in gone}
    pending = merged(member.pending, gone)
    if not facts.owns(pending):
        return member._replace(assigned=kept, assigned_epochs=_epochs_of(kept, member, member.epoch))
    return member._replace(
        state=UNREVOKED,
        assigned=kept,
        assigned_epochs=_epochs_of(kept, member, member.epoch),
        pending=pending,
        pending_epochs=_aligned(
            pending,
            ((member.pending, member.pending_epochs), (member.assigned, member.assigned_epochs)),
            member.epoch,
        ),
    )


def _next(member: ConsumerMember, facts: Facts) -> ConsumerMember:
    """Take the next step: give up, with the same epoch, or else receive what is free, with the target's."""
    keep: dict[bytes, tuple[int, ...]] = {}
    give_up: dict[bytes, tuple[int, ...]] = {}
    owned_next: dict[bytes, tuple[int, ...]] = {}  # what it keeps, with what is free
    adds = blocked = False
    for topic_id in sorted({*member.assigned, *facts.target}):
        target = set(facts.target.get(topic_id, ())) if topic_id in facts.topic_ids else set()
        assigned = member.assigned.get(topic_id, ())
        kept = tuple([partition for partition in assigned if partition in target])
        if kept:
            keep[topic_id] = kept
        if len(kept) < len(assigned):
            give_up[topic_id] = tuple([partition for partition in assigned if partition not in target])
        wanted = target.difference(kept)
        if wanted:
            own_pending = member.pending.get(topic_id, ())
            free = [
                partition
                for partition in wanted
                if facts.holder_of(topic_id, partition) is None or partition in own_pending
            ]
            adds = adds or bool(free)
            blocked = blocked or len(free) < len(wanted)
            kept = tuple(sorted([*kept, *free]))
        if kept:
            owned_next[topic_id] = kept
    if give_up and facts.owns(give_up):
        return member._replace(
            state=UNREVOKED,
            previous_epoch=member.epoch,
            assigned=keep or NOTHING_ASSIGNED,
            pending=give_up,
            assigned_epochs=_epochs_of(keep, member, member.epoch),
            pending_epochs=_epochs_of(give_up, member, member.epoch),
        )
    given = owned_next if adds else keep
    return member._replace(
        state=UNRELEASED if blocked else STABLE,
        previous_epoch=member.epoch,
        epoch=facts.target_epoch,
        assigned=given or NOTHING_ASSIGNED,
        pending=NOTHING_ASSIGNED,
        assigned_epochs=_epochs_of(given, member, facts.target_epoch),
        pending_epochs={},
    )


def _epochs_of(assignment: Assignment, member: ConsumerMember, new_epoch: int) -> Epochs:
    """Return the epochs at which a member got its partitions; `new_epoch` for what was not assigned (KIP-1251)."""
    return _aligned(assignment, ((member.assigned, member.assigned_epochs),), new_epoch)


def _aligned(assignment: Assignment, sources: Iterable[tuple[Assignment, Epochs]], new_epoch: int) -> Epochs:
    epochs = {}
    for topic_id, partitions in assignment.items():
        known: dict[int, int] = {}
        for parts, of_parts in sources:
            if topic_id in of_parts:
                known.update(zip(parts[topic_id], of_parts[topic_id], strict=False))
        epochs[topic_id] = tuple([known.get(partition, new_epoch) for partition in partitions])
    return epochs

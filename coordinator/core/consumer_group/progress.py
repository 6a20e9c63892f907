"""The progress of a KIP-848 group: its current rebalance, from the notes of its events, for the flight recorder.

A rebalance begins when the group epoch is raised and ends when each member has reached the target of that epoch, or
when no member is left. Epochs that are raised before the target is computed belong to the same rebalance; later ones
interrupt it. Its join phase lasts until the target is computed, its sync phase until the last member has reached it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.clients import change_of, client_of
from coordinator.core.consumer_group.incidents import (
    record_downgrade,
    record_replacement,
    record_slow_rebalance,
    record_upgrade,
)
from coordinator.core.consumer_group.member import STABLE, UNREVOKED
from coordinator.core.consumer_group.moves import PartitionMoves
from coordinator.core.consumer_group.owners import note_owners
from coordinator.core.consumer_group.session import MemberTimer
from coordinator.core.events.model import (
    GONE,
    NAMED_AT_MOST,
    NOBODY,
    Cause,
    Change,
    ChangeKind,
    Rebalance,
    RebalanceOutcome,
    Trigger,
    shortened,
)

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.notes import MemberStep, Note
    from coordinator.core.context import Context

OUTCOMES: Final = {"Stable": RebalanceOutcome.STABLE, "Empty": RebalanceOutcome.EMPTY}
CAUSED_BY: Final = {
    ChangeKind.JOINED: Cause.MEMBER_JOINED,
    ChangeKind.LEFT: Cause.MEMBER_LEFT,
    ChangeKind.EXPIRED: Cause.SESSION_EXPIRED,
    ChangeKind.DROPPED: Cause.NOT_REVOKED,
    ChangeKind.REPLACED: Cause.STATIC_MEMBER_REPLACED,
    ChangeKind.RESUBSCRIBED: Cause.PROTOCOLS_CHANGED,
}


class RunningRebalance:
    """The facts of one rebalance so far. Times are those of the core's clock."""

    __slots__ = (
        "assigned_ms",
        "assignor",
        "began_ms",
        "began_wall_ms",
        "changes",
        "counts",
        "last_reconcile_ms",
        "last_revoke_ms",
        "last_to_reconcile",
        "last_to_revoke",
        "members_before",
        "previous_epoch",
        "previous_reconcile_ms",
        "trigger",
        "warning",
    )

    def __init__(self, trigger: Trigger, now_ms: int, wall_ms: int, previous_epoch: int, members_before: int) -> None:
        self.trigger = trigger
        self.began_ms = now_ms
        self.began_wall_ms = wall_ms
        self.previous_epoch = previous_epoch
        self.members_before = members_before
        self.assigned_ms = -1  # when the target was computed; -1: it is not
        self.assignor = ""
        self.changes: list[Change] = []
        self.counts: dict[str, int] = {}
        self.last_to_revoke = self.last_to_reconcile = NOBODY
        self.last_revoke_ms = self.last_reconcile_ms = self.previous_reconcile_ms = -1
        self.warning: MemberTimer | None = None

    def changed(self, change: Change) -> None:
        count = self.counts.get(change.kind.value, 0) + 1
        self.counts[change.kind.value] = count
        if count <= NAMED_AT_MOST:
            self.changes.append(change)

    def follow(self, group: ConsumerGroup, step: MemberStep, note: Note) -> None:
        """Note that a member has given up its partitions, or reached its target."""
        before, after = step
        if before is not None and before.state == UNREVOKED and (after is None or after.state != UNREVOKED):
            self.last_to_revoke, self.last_revoke_ms = client_of(group, before), note.now_ms - self.began_ms
        epoch = note.assignment_epoch
        is_there = after is not None and after.state == STABLE and after.epoch == epoch
        if is_there and after is not None and (before is None or not before.is_reconciled(epoch)):
            self.previous_reconcile_ms = self.last_reconcile_ms
            self.last_to_reconcile, self.last_reconcile_ms = client_of(group, after), note.now_ms - self.began_ms


class ConsumerProgress:
    """The current rebalance of a group, if one runs, and what its events have told so far."""

    __slots__ = ("_moves", "running", "settled_wall_ms")

    def __init__(self, wall_ms: int) -> None:
        self.running: RunningRebalance | None = None
        self.settled_wall_ms = wall_ms  # since when no rebalance runs; -1: not known
        self._moves = PartitionMoves()

    def take(self, note: Note, group: ConsumerGroup, context: Context) -> None:
        """Take the note of an event whose records are durable."""
        changes = self._changes(note, group, context)
        note_owners(note, group, context)
        for _, after in note.steps:
            if after is not None and (session := group.sessions.get(after.member_id)) is not None:
                session.stepped_ms = note.now_ms
        if note.upgraded is not None:
            joined = next((change.member for change in changes if change.kind is ChangeKind.JOINED), NOBODY)
            record_upgrade(group, joined, note, context)
        if note.downgraded is not None:
            self._end(group, RebalanceOutcome.INTERRUPTED, note, context, members=note.members + len(changes))
            record_downgrade(group, changes[0].member if changes else NOBODY, note, context)
            return
        if note.former_epoch >= 0:
            self._bumped(note, changes, group, context)
        most_free = context.config.group_max_unowned_partitions
        for step in note.steps:
            self._moves.follow(group, step, note.now_ms, most_free)
        running = self.running
        if running is None:
            return
        if running.assigned_ms < 0 and note.assignment_epoch >= note.epoch:
            running.assigned_ms = note.now_ms
            running.assignor = note.assignor
        for step in note.steps:
            running.follow(group, step, note)
        outcome = OUTCOMES.get(note.state.value)
        if outcome is not None:
            self._end(group, outcome, note, context)

    def loaded(self, group: ConsumerGroup, context: Context) -> None:
        """Note that the group was loaded; a rebalance that has not ended goes on, for a cause that is not known."""
        self.settled_wall_ms = -1
        if group.state.value not in OUTCOMES:
            trigger = Trigger(Cause.UNKNOWN)
            epoch = group.epoch
            self.running = running = RunningRebalance(
                trigger, context.now_ms, context.wall_ms, max(epoch - 1, 0), len(group.members)
            )
            if group.assignment_epoch >= epoch:
                running.assigned_ms = context.now_ms
            self._warn_later(group, context)

    def cancel(self) -> None:
        """Cancel the timer: the group is no longer coordinated here, or is deleted."""
        if self.running is not None and self.running.warning is not None:
            self.running.warning.cancel()

    def event(self, group: ConsumerGroup, outcome: RebalanceOutcome, now_ms: int, partitions: int) -> Rebalance | None:
        """Return the record of the current rebalance as it is now; None if none runs."""
        running, moves = self.running, self._moves
        if running is None:
            return None
        is_assigned = running.assigned_ms >= 0
        return Rebalance(
            group=shortened(group.group_id),
            at_ms=running.began_wall_ms,
            trigger=running.trigger,
            outcome=outcome,
            previous_generation=running.previous_epoch,
            generation=group.epoch,
            members_before=running.members_before,
            members_after=len(group.members),
            join_ms=running.assigned_ms - running.began_ms if is_assigned else -1,
            plan_ms=0 if is_assigned else -1,
            sync_ms=now_ms - running.assigned_ms if is_assigned else -1,
            changes=running.changes[:],
            counts=running.counts.copy(),
            rebalance_timeout_ms=max((each.rebalance_timeout_ms for each in group.members.values()), default=0),
            protocol=shortened(running.assignor),
            partitions=partitions,
            partitions_moved=moves.moved if moves.is_known else -1,
            unowned_partition_ms=moves.unowned_ms if moves.is_known else -1,
            shares=[] if outcome is RebalanceOutcome.RUNNING else moves.shares(),
            last_to_revoke=running.last_to_revoke,
            last_revoke_ms=running.last_revoke_ms,
            last_to_reconcile=running.last_to_reconcile,
            last_reconcile_ms=running.last_reconcile_ms,
            previous_reconcile_ms=running.previous_reconcile_ms,
            type="consumer",
        )

    # -- steps of `take` -----------------------------------------------------------------------------------------

    def _changes(self, note: Note, group: ConsumerGroup, context: Context) -> list[Change]:
        """Return the members that came, went or subscribe to something else."""
        came = {after.instance_id: after for before, after in note.steps if before is None and after is not None}
        stayed = note.upgraded.members if note.upgraded is not None else {}
        changes: list[Change] = []
        replaced: set[str] = set()
        for before, after in note.steps:
            if before is not None and after is None:
                if before.instance_id is not None and (heir := came.get(before.instance_id)) is not None:
                    replaced.add(heir.member_id)
                    record_replacement(group, heir, before, note, context)
                    changes.append(change_of(ChangeKind.REPLACED, group, heir, context))
                else:
                    reason = note.reasons.get(before.member_id, "")
                    changes.append(change_of(note.how, group, before, context, reason=reason))
            elif after is not None and before is None:
                if after.member_id not in stayed and after.member_id not in replaced:
                    changes.append(change_of(ChangeKind.JOINED, group, after, context))
            elif before is not None and after is not None and _is_resubscribed(before, after):
                changes.append(change_of(ChangeKind.RESUBSCRIBED, group, after, context))
        return changes

    def _bumped(self, note: Note, changes: list[Change], group: ConsumerGroup, context: Context) -> None:
        running = self.running
        if running is None or running.assigned_ms >= 0:
            came = sum(change.kind is ChangeKind.JOINED for change in changes)
            gone = sum(change.kind in GONE for change in changes)
            before = note.members - came + gone
            if running is not None:
                self._end(group, RebalanceOutcome.INTERRUPTED, note, context, note.former_epoch, before)
            trigger = _trigger(note, changes)
            self.running = running = RunningRebalance(trigger, note.now_ms, note.wall_ms, note.former_epoch, before)
            self._moves.begin()
            self._warn_later(group, context)
        after_ms = note.now_ms - running.began_ms
        for change in changes:
            running.changed(_at(change, after_ms) if after_ms else change)

    def _warn_later(self, group: ConsumerGroup, context: Context) -> None:
        if self.running is not None and context.config.group_rebalance_warn_ms:
            deadline_ms = context.now_ms + context.config.group_rebalance_warn_ms
            self.running.warning = MemberTimer(deadline_ms, partial(record_slow_rebalance, group))
            context.timers.watch_member(self.running.warning)

    def _end(
        self,
        group: ConsumerGroup,
        outcome: RebalanceOutcome,
        note: Note,
        context: Context,
        epoch: int | None = None,
        members: int | None = None,
    ) -> None:
        """End the current rebalance and record it. Epoch and members are those of the note if they are not given."""
        event = self.event(group, outcome, note.now_ms, note.partitions)
        self.cancel()
        self.running = None
        self.settled_wall_ms = note.wall_ms
        if event is None:
            return
        event.generation = note.epoch if epoch is None else epoch
        event.members_after = note.members if members is None else members
        if outcome is RebalanceOutcome.STABLE:
            self._moves.settled()
        context.recorder.rebalance(event)


def _is_resubscribed(before: ConsumerMember, after: ConsumerMember) -> bool:
    return before.topic_names != after.topic_names or before.regex != after.regex or before.assignor != after.assignor


def _trigger(note: Note, changes: list[Change]) -> Trigger:
    if not changes:
        return Trigger(note.cause or Cause.TOPICS_CHANGED)
    first = changes[0]
    cause = CAUSED_BY[first.kind]
    if first.kind is ChangeKind.DROPPED and note.cause is not None:
        cause = note.cause
    return Trigger(
        cause,
        first.member,
        first.reason,
        first.session_timeout_ms,
        first.rebalance_timeout_ms,
        subscription_changed=first.kind is ChangeKind.RESUBSCRIBED,
    )


def _at(change: Change, after_ms: int) -> Change:
    return Change(
        change.kind, change.member, after_ms, change.reason, change.session_timeout_ms, change.rebalance_timeout_ms
    )

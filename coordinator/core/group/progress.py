"""The facts of the current rebalance of a group, collected while it runs.

A rebalance begins with a trigger (a cause and the member that caused it), has a join phase and, if members remain, a
sync phase. It ends Stable, Empty, or interrupted by the next trigger; then `event` makes the record that the flight
recorder keeps. Times are those of the core's clock.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import (
    LONGEST_REASON,
    NAMED_AT_MOST,
    NOBODY,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Rebalance,
    RebalanceOutcome,
    Share,
    Trigger,
    shortened,
)
from coordinator.core.group.group import CONSUMER
from coordinator.core.group.owner_records import OwnersAfter
from coordinator.core.group.ownership import FormerOwners, OwnerChanges, changes
from coordinator.core.group.read_twice import ReadTwice

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from coordinator.core.context import Context
    from coordinator.core.effects import ClientSoftware, Ticket
    from coordinator.core.events.recorder import FlightRecorder
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member, Timer
    from coordinator.core.work import Steps

NO_ASSIGNMENTS: Final[Mapping[str, bytes]] = MappingProxyType({})

# The change that is the cause. A leader that rejoins changes nothing.
CHANGE_OF: Final = {
    Cause.MEMBER_JOINED: ChangeKind.JOINED,
    Cause.PROTOCOLS_CHANGED: ChangeKind.RESUBSCRIBED,
    Cause.STATIC_MEMBER_REPLACED: ChangeKind.REPLACED,
    Cause.MEMBER_LEFT: ChangeKind.LEFT,
    Cause.SESSION_EXPIRED: ChangeKind.EXPIRED,
    Cause.NO_SYNC: ChangeKind.DROPPED,
    Cause.NO_REJOIN: ChangeKind.DROPPED,
    Cause.NOT_REVOKED: ChangeKind.DROPPED,
}

# How many members the group had more when the rebalance was caused than when it begins.
REMOVED_BEFORE: Final = {
    Cause.MEMBER_JOINED: -1,
    Cause.MEMBER_LEFT: 1,
    Cause.SESSION_EXPIRED: 1,
    Cause.NO_SYNC: 1,
    Cause.NO_REJOIN: 1,
    Cause.NOT_REVOKED: 1,
}


def client_of(member: Member) -> ClientInfo:
    """Return a member as events name it."""
    client_id, client_host = member.run_as
    return ClientInfo(
        shortened(member.member_id),
        shortened(member.group_instance_id or ""),
        shortened(client_id),
        client_host.lstrip("/"),
        _software(member.client_software),
    )


def requester_of(ticket: Ticket, member_id: str = "", instance_id: str | None = None) -> ClientInfo:
    """Return the client of a request as events name it; the ids are those of the request."""
    return ClientInfo(
        shortened(member_id),
        shortened(instance_id or ""),
        shortened(ticket.client_id),
        ticket.client_host.lstrip("/"),
        _software(ticket.client_software),
    )


def _software(software: ClientSoftware) -> str:
    return f"{software.name} {software.version}".strip()


def trigger_of(
    cause: Cause, member: Member, reason: str | None = None, *, subscription_changed: bool = False
) -> Trigger:
    return Trigger(
        cause,
        client_of(member),
        (reason or "")[:LONGEST_REASON],
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        subscription_changed,
    )


class RebalanceProgress:
    """The facts of one rebalance so far."""

    __slots__ = (
        "_change_counts",
        "_changes",
        "_former_owners",
        "_last_join_ms",
        "_last_to_join",
        "_leader",
        "_members_after",
        "_members_before",
        "_previous_generation",
        "_previous_join_ms",
        "join_ms",
        "plan_ms",
        "started_ms",
        "started_wall_ms",
        "trigger",
        "warning",
    )

    def __init__(self, group: Group, triggers: Sequence[Trigger], context: Context) -> None:
        self.trigger = triggers[0]
        self.started_ms = context.now_ms
        self.started_wall_ms = context.wall_ms
        self.join_ms = -1  # duration of the join phase; -1: not complete
        self.plan_ms = -1  # from its end to the SyncGroup of the leader
        self.warning: Timer | None = None  # armed until the rebalance has waited for group.rebalance.warn.ms
        self._former_owners = owners_before(group)
        self._previous_generation = group.generation
        self._members_before = len(group.members)
        self._changes: list[Change] = []
        self._change_counts: dict[str, int] = {}
        self._leader: Member | None = None  # of the new generation
        self._members_after = 0
        self._last_to_join: Member | None = None
        self._last_join_ms = -1
        self._previous_join_ms = -1
        for trigger in triggers:
            self._members_before += REMOVED_BEFORE.get(trigger.cause, 0)
            self.caused(trigger, context)
        for member in group.members.values():
            if member.parked_join is not None:
                self.member_joined(member, context)

    def caused(self, trigger: Trigger, context: Context) -> None:
        """Record a change that would have started a rebalance."""
        kind = CHANGE_OF.get(trigger.cause)
        if kind is not None:
            timeouts = trigger.session_timeout_ms, trigger.rebalance_timeout_ms
            self.changed(kind, trigger.member, context, trigger.reason, timeouts)

    def changed(
        self,
        kind: ChangeKind,
        member: ClientInfo,
        context: Context,
        reason: str = "",
        timeouts: tuple[int, int] = (0, 0),
    ) -> None:
        count = self._change_counts.get(kind.value, 0) + 1
        self._change_counts[kind.value] = count
        if count <= NAMED_AT_MOST:
            self._changes.append(Change(kind, member, context.now_ms - self.started_ms, reason, *timeouts))

    def member_joined(self, member: Member, context: Context) -> None:
        """Record a JoinGroup that waits for the others."""
        if self._former_owners is not None and not member.is_new:
            self._former_owners.joined(member, context.now_ms)
        if self.join_ms < 0:
            self._previous_join_ms = self._last_join_ms
            self._last_join_ms = context.now_ms - self.started_ms
            self._last_to_join = member

    def join_phase_over(self, group: Group, context: Context) -> None:
        self.join_ms = context.now_ms - self.started_ms
        self._members_after = len(group.members)
        self._leader = group.leader

    def planned(self, leader: Member, context: Context) -> None:
        """Record the SyncGroup of the leader."""
        if self.plan_ms < 0:
            self.plan_ms = context.now_ms - self.started_ms - self.join_ms
            self._leader = leader

    def event(self, group: Group, outcome: RebalanceOutcome, context: Context) -> Rebalance:
        """Return the record of the rebalance as it is now."""
        has_joined = self.join_ms >= 0
        last = self._last_to_join
        leader = self._leader or group.leader
        return Rebalance(
            group=shortened(group.group_id),
            at_ms=self.started_wall_ms,
            trigger=self.trigger,
            outcome=outcome,
            previous_generation=self._previous_generation,
            generation=group.generation,
            members_before=self._members_before,
            members_after=self._members_after,
            join_ms=self.join_ms,
            plan_ms=self.plan_ms,
            sync_ms=context.now_ms - self.started_ms - self.join_ms if has_joined else -1,
            changes=self._changes[:],
            counts=self._change_counts.copy(),
            leader=client_of(leader) if leader is not None else NOBODY,
            last_to_join=client_of(last) if last is not None else NOBODY,
            last_join_ms=self._last_join_ms,
            previous_join_ms=self._previous_join_ms,
            rebalance_timeout_ms=group.rebalance_timeout_ms,
            protocol=shortened(group.protocol_name or ""),
            partitions_moved=0 if group.protocol_type == CONSUMER else -1,
            unowned_partition_ms=0 if group.protocol_type == CONSUMER else -1,
        )


def owners_before(group: Group) -> FormerOwners | None:
    """Return the owners before the current or next rebalance of a group of consumers, else None."""
    if group.former_owners is None and group.protocol_type == CONSUMER:
        group.former_owners = FormerOwners()
    return group.former_owners


def end_rebalance(
    group: Group, outcome: RebalanceOutcome, context: Context, assignments: Mapping[str, bytes] = NO_ASSIGNMENTS
) -> None:
    """End the current rebalance and record it, with the new assignments by member id if there are any.

    The owners of a large group are counted in steps after this event, and later records of the group wait for that.
    """
    rebalance, group.rebalance = group.rebalance, None
    if rebalance is None:
        return
    if rebalance.warning is not None:
        rebalance.warning.cancel()
    event = rebalance.event(group, outcome, context)
    former = group.former_owners
    if former is None:
        context.recorder.rebalance(event)
        return
    if former.counting >= context.config.group_max_uncounted_rebalances:
        # Its owners are left to a later one, and its record does not wait.
        event.partitions_moved = event.unowned_partition_ms = -1
        context.recorder.rebalance(event)
        return
    counting = owners = None  # an interrupted rebalance leaves them to the next one
    if outcome is not RebalanceOutcome.INTERRUPTED:
        topics = group.subscribed_topics if group.members else frozenset()
        members = list(group.members.values())
        read_twice = ReadTwice(group.group_id, group.shard, context.take_read_up_to, context.wall_ms)
        taken = former.take()
        owners = OwnersAfter(group, taken, members, assignments, context)
        counting = changes(
            former,
            taken,
            members,
            assignments,
            group.protocol_name,
            topics,
            context.now_ms,
            read_twice,
            context.config.group_max_unowned_partitions,
        )
    steps = _complete(group, former, event, owners, counting, context.recorder)
    former.counting += 1
    if former.counting > 1:
        context.timers.in_background(steps, None)
        return
    for _ in steps:  # one step is enough for most groups
        context.timers.in_background(steps, None)
        return


def _complete(
    group: Group,
    former: FormerOwners,
    event: Rebalance,
    owners: OwnersAfter | None,
    counting: Generator[None, None, OwnerChanges | None] | None,
    recorder: FlightRecorder,
) -> Steps:
    """Note and count the owners, complete the record of a rebalance, and publish it."""
    if owners is not None:
        yield from owners.note(recorder.owners)
    if counting is not None:
        found = yield from counting
        if found is None:
            former.carried = []
            event.partitions_moved = event.unowned_partition_ms = -1
        else:
            former.carried = found.carried
            event.partitions, event.partitions_moved = found.partitions, found.moved
            event.unowned_partition_ms = found.unowned_ms
            event.records_read_twice = found.read_twice
            event.shares = [Share(client_of(member), lost, gained) for member, lost, gained in found.shares]
    former.counting -= 1
    if group.rebalance is None and former.is_idle:
        group.former_owners = None
    recorder.rebalance(event)

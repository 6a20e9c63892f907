"""The rebalance: how it begins, and how its join phase ends in a new generation.

Everything that makes a group rebalance comes through `maybe_rebalance` or `prepare_rebalance` with a `Trigger` that
says why. The join phase ends when everybody has joined or when time is up; the first one after an empty period waits
for its initial delay instead, so that a group starting up does not rebalance once for each of its members.

Not durable here: the new generation is written with the leader's assignments (sync.py). After a crash before that the
group comes back Stable in its previous generation. Sources: spec 2.4, 2.5, 3.9, 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.context import PendingAppend
from coordinator.core.group.history import Cause, Rebalance, RebalanceOutcome, Trigger
from coordinator.core.group.records import empty_group_record
from coordinator.core.group.responses import join_success, refuse_parked_join, refuse_parked_sync
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member

# With nobody there to elect, the phase is tried again after the rebalance timeout; a timeout of 0 must not spin.
MIN_ELECTION_RETRY_MS: Final = 100
REBALANCED_FROM: Final = frozenset({EMPTY, COMPLETING_REBALANCE, STABLE})


def maybe_rebalance(group: Group, trigger: Trigger, context: Context) -> None:
    """Begin a rebalance; in one that runs, see whether it can go on."""
    if group.state in REBALANCED_FROM:
        prepare_rebalance(group, trigger, context)
    else:
        context.timers.check_joins(group, context)


def prepare_rebalance(group: Group, trigger: Trigger, context: Context) -> None:
    """Enter PreparingRebalance and wait for everybody's JoinGroup (which may be complete already)."""
    if group.state is COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
            if refuse_parked_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, context):
                restart_session(group, member, member.session_timeout_ms, context)
    group.pending_sync = {}
    if group.sync_timer is not None:
        group.sync_timer.cancel()
        group.sync_timer = None
    group.end_rebalance(RebalanceOutcome.INTERRUPTED, context)
    causes = context.counters.rebalances_by_cause
    causes[trigger.cause.name] = causes.get(trigger.cause.name, 0) + 1
    group.rebalance = Rebalance(group.group_id, trigger, group.generation, context.now_ms)
    was_empty = group.state is EMPTY
    group.transition(PREPARING_REBALANCE, context.wall_ms)
    if was_empty:
        delay_ms = context.config.group_initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        context.timers.await_first_joins(group, delay_ms, remaining_ms, context)
    else:
        context.timers.await_joins(group, context.now_ms + group.rebalance_timeout_ms, context)


def initial_delay_over(group: Group, delay_ms: int, remaining_ms: int, context: Context) -> None:
    """The initial delay ran out: once more if somebody new came meanwhile and there is time left, else complete."""
    if group.new_member_added and remaining_ms > 0:
        group.new_member_added = False
        next_delay_ms = min(context.config.group_initial_rebalance_delay_ms, remaining_ms)
        context.timers.await_first_joins(group, next_delay_ms, max(remaining_ms - delay_ms, 0), context)
    else:
        complete_join_phase(group, context)


def complete_join_phase(group: Group, context: Context) -> None:
    """Everybody who will join has joined: the next generation, or an empty group."""
    if group.join_timer is not None:
        group.join_timer.cancel()
        group.join_timer = None
    group.new_member_added = False
    rebalance = group.rebalance
    for member in [m for m in group.members.values() if m.parked_join is None and m.group_instance_id is None]:
        refuse_parked_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, context)
        group.remove(member)
        if rebalance is not None:
            rebalance.dropped(member.member_id)
    if group.state is DEAD:
        return
    if group.members and not group.elect_leader():
        # Only static members are left and none is there: their sessions will end them, or they come back.
        retry_ms = max(group.rebalance_timeout_ms, MIN_ELECTION_RETRY_MS)
        context.timers.await_joins(group, context.now_ms + retry_ms, context)
        return
    # The generation advances before anyone is told: a SyncGroup or a commit still on its way from the old one must
    # find a number it cannot match.
    group.advance_generation()
    if rebalance is not None:
        rebalance.joined(group.generation, len(group.members), context.now_ms)
    if not group.members:
        _become_empty(group, context)
        return
    group.protocol_name = group.select_protocol()
    group.compute_subscribed_topics()
    group.transition(COMPLETING_REBALANCE, context.wall_ms)
    group.pending_sync = dict.fromkeys(group.members)
    for member in group.members.values():
        ticket = group.take_join(member)
        if ticket is not None:
            context.reply(ticket, join_success(group, member))
        member.is_new = False
        restart_session(group, member, member.session_timeout_ms, context)
    context.timers.await_syncs(group, context.now_ms + group.rebalance_timeout_ms)


def _become_empty(group: Group, context: Context) -> None:
    group.protocol_name = None
    group.compute_subscribed_topics()
    group.transition(EMPTY, context.wall_ms)
    group.end_rebalance(RebalanceOutcome.EMPTY, context)
    context.append(group, (empty_group_record(group),), EmptyGroup())


class EmptyGroup(PendingAppend):
    """The record of a group without members is on its way. The group is Empty whether it arrives or not."""

    writes_group = True
    __slots__ = ("response", "ticket")

    def __init__(self) -> None:
        self.ticket: Ticket | None = None  # of the LeaveGroup that emptied the group: answered after the record
        self.response: object = None

    def durable(self, context: Context) -> None:
        if self.group is not None:
            self.group.is_recorded = True
        self._answer(context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self._answer(context)  # the member has left all the same: after a crash its session ends it

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._answer(context)

    def _answer(self, context: Context) -> None:
        if self.ticket is not None:
            context.reply(self.ticket, self.response)
            self.ticket = None


def drop_member(group: Group, member: Member, context: Context) -> None:
    """Take a member out and answer what it had parked: UNKNOWN_MEMBER_ID (spec 6.2). No rebalance begins here."""
    refuse_parked_join(group, member, ErrorCode.UNKNOWN_MEMBER_ID, context)
    refuse_parked_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, context)
    group.remove(member)


def expire_unsynced(group: Group, generation: int, context: Context) -> None:
    """The sync timer: whoever has not sent SyncGroup by now is removed, all in one rebalance (spec 4.5)."""
    if group.generation != generation or group.state not in (COMPLETING_REBALANCE, STABLE) or not group.pending_sync:
        return
    late = [group.members[member_id] for member_id in group.pending_sync]
    trigger = Trigger.by(Cause.NO_SYNC, late[0])
    for member in late:
        drop_member(group, member, context)
    prepare_rebalance(group, trigger, context)

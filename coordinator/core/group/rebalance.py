"""The rebalance: its start, and the end of its join phase in a new generation.

Every rebalance starts in `maybe_rebalance` or `prepare_rebalance` with a `Trigger` that holds its cause. The join phase
ends when all members have joined or at its deadline. The first one of an empty group waits for the initial delay
instead, so that a starting group does not rebalance once per member (KIP-134).

The new generation is not durable here: it is written with the leader's assignments (sync.py). After a crash before
that, the group is loaded as Stable in its previous generation. Source: Kafka's `GroupMetadataManager.prepareRebalance`
and `completeClassicGroupJoin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import NAMED_AT_MOST, Cause, ChangeKind, RebalanceOutcome, Trigger
from coordinator.core.group.classic_append import ClassicAppend
from coordinator.core.group.parked_heartbeat import Release, release_all, release_of
from coordinator.core.group.progress import RebalanceProgress, client_of, end_rebalance, owners_before, trigger_of
from coordinator.core.group.records import empty_group_record
from coordinator.core.group.responses import join_success, refuse_parked_join, refuse_parked_sync
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from coordinator.core.work import Steps

# Without a leader the join phase is repeated after the rebalance timeout; a timeout of 0 must not cause a busy loop.
MIN_ELECTION_RETRY_MS: Final = 100
# Members of one group. Not Final, because tests change it and mypyc inlines Final constants.
ANSWERED_AT_ONCE = 250
REBALANCED_FROM: Final = frozenset({EMPTY, COMPLETING_REBALANCE, STABLE})


def maybe_rebalance(group: Group, trigger: Trigger, context: Context) -> None:
    """Start a rebalance; in PreparingRebalance, complete the join phase if all members have joined."""
    if group.state in REBALANCED_FROM:
        prepare_rebalance(group, trigger, context)
    else:
        if group.rebalance is not None:
            group.rebalance.caused(trigger, context)
        context.timers.check_joins(group, context)


def prepare_rebalance(group: Group, trigger: Trigger, context: Context, also: Sequence[Trigger] = ()) -> None:
    """Enter PreparingRebalance and wait for the JoinGroup of each member. All may have joined already.

    `also` are further causes of the same event.
    """
    if group.state is COMPLETING_REBALANCE:
        if group.former_owners is not None:
            group.former_owners.keep(group.members)
        for member in group.members.values():
            member.assignment = b""
            if refuse_parked_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, context):
                restart_session(group, member, member.session_timeout_ms, context)
    group.pending_sync = {}
    if group.sync_timer is not None:
        group.sync_timer.cancel()
        group.sync_timer = None
    end_rebalance(group, RebalanceOutcome.INTERRUPTED, context)
    causes = context.counters.rebalances_by_cause
    causes[trigger.cause.value] = causes.get(trigger.cause.value, 0) + 1
    group.rebalance = progress = RebalanceProgress(group, (trigger, *also), context)
    if context.config.group_rebalance_warn_ms:
        progress.warning = context.timers.warn_at(group, context.now_ms + context.config.group_rebalance_warn_ms)
    was_empty = group.state is EMPTY
    group.transition(PREPARING_REBALANCE, context.wall_ms)
    release_all(group, Release.REBALANCE, context)  # now: the next generation may begin below
    if was_empty:
        delay_ms = context.config.group_initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        context.timers.await_first_joins(group, delay_ms, remaining_ms, context)
    else:
        context.timers.await_joins(group, context.now_ms + group.rebalance_timeout_ms, context)


def initial_delay_over(group: Group, delay_ms: int, remaining_ms: int, context: Context) -> None:
    """Extend the initial delay if a new member joined meanwhile and time remains, else complete the join phase."""
    if group.new_member_added and remaining_ms > 0:
        group.new_member_added = False
        next_delay_ms = min(context.config.group_initial_rebalance_delay_ms, remaining_ms)
        context.timers.await_first_joins(group, next_delay_ms, max(remaining_ms - delay_ms, 0), context)
    else:
        complete_join_phase(group, context)


def complete_join_phase(group: Group, context: Context) -> None:
    """End the join phase: begin the next generation, or make the group Empty."""
    if group.join_timer is not None:
        group.join_timer.cancel()
        group.join_timer = None
    group.new_member_added = False
    rebalance = group.rebalance
    for member in [m for m in group.members.values() if m.parked_join is None and m.group_instance_id is None]:
        refuse_parked_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, context)
        remove_member(group, member, context)
        if rebalance is not None:
            rebalance.changed(ChangeKind.DROPPED, client_of(member), context)
    if group.state is DEAD:
        return
    if group.members and not group.elect_leader():
        # Only static members remain and none has joined: their sessions end, or they rejoin.
        retry_ms = max(group.rebalance_timeout_ms, MIN_ELECTION_RETRY_MS)
        context.timers.await_joins(group, context.now_ms + retry_ms, context)
        return
    # Advance the generation before replying, so that a SyncGroup or commit of the old generation that is still in
    # flight is refused.
    group.advance_generation()
    if rebalance is not None:
        rebalance.join_phase_over(group, context)
    if not group.members:
        _become_empty(group, context)
        return
    group.protocol_name = group.select_protocol()
    group.compute_subscribed_topics()
    group.transition(COMPLETING_REBALANCE, context.wall_ms)
    group.pending_sync = dict.fromkeys(group.members)
    if len(group.members) <= ANSWERED_AT_ONCE:
        _answer_joins(group, group.members.values(), context)
    else:
        context.timers.in_turns(_answer_joins_in_steps(group, context), group.shard, context)
    context.timers.await_syncs(group, context.now_ms + group.rebalance_timeout_ms)


def _answer_joins(group: Group, members: Iterable[Member], context: Context) -> None:
    for member in members:
        ticket = group.take_join(member)
        if ticket is not None:
            context.reply(ticket, join_success(group, member))
        member.is_new = False
        restart_session(group, member, member.session_timeout_ms, context)


def _answer_joins_in_steps(group: Group, context: Context) -> Steps:
    """Answer the members of a large group, the leader last, so that the assignment comes when all have joined.

    If a rebalance begins meanwhile, the JoinGroups that are still parked are those of the next generation.
    """
    generation = group.generation
    members = [member for member in group.members.values() if member.member_id != group.leader_id]
    if (leader := group.leader) is not None:
        members.append(leader)
    for start in range(0, len(members), ANSWERED_AT_ONCE):
        if start:
            yield None
            if group.generation != generation or group.state is not COMPLETING_REBALANCE:
                return
        _answer_joins(group, members[start : start + ANSWERED_AT_ONCE], context)


def _become_empty(group: Group, context: Context) -> None:
    group.protocol_name = None
    group.compute_subscribed_topics()
    group.transition(EMPTY, context.wall_ms)
    end_rebalance(group, RebalanceOutcome.EMPTY, context)
    context.append(group, (empty_group_record(group),), EmptyGroup())


class EmptyGroup(ClassicAppend):
    """Pending append of the record of an empty group. The group is Empty even if the append fails."""

    __slots__ = ("response", "ticket")

    def __init__(self) -> None:
        self.ticket: Ticket | None = None  # of the LeaveGroup that emptied the group, answered after the append
        self.response: object = None

    def durable(self, context: Context) -> None:
        if self.group is not None:
            self.group.is_recorded = True
        self._answer(context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self._answer(context)  # the member has left anyway; after a crash its session ends

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._answer(context)

    def _answer(self, context: Context) -> None:
        if self.ticket is not None:
            context.reply(self.ticket, self.response)
            self.ticket = None


def drop_member(group: Group, member: Member, context: Context) -> None:
    """Remove a member and answer its parked requests with UNKNOWN_MEMBER_ID. Starts no rebalance."""
    refuse_parked_join(group, member, ErrorCode.UNKNOWN_MEMBER_ID, context)
    refuse_parked_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, context)
    remove_member(group, member, context)


def remove_member(group: Group, member: Member, context: Context) -> None:
    """Remove a member. What it owned is kept for the record of the rebalance."""
    former = owners_before(group)
    if former is not None and not member.is_new:
        former.removed(member, context.now_ms)
    group.remove(member)
    release_of(member, Release.MEMBER_REMOVED, context)


def expire_unsynced(group: Group, generation: int, context: Context) -> None:
    """Remove the members that have not sent SyncGroup, in one rebalance (`expirePendingSync`)."""
    if group.generation != generation or group.state not in (COMPLETING_REBALANCE, STABLE) or not group.pending_sync:
        return
    late = [group.members[member_id] for member_id in group.pending_sync]
    triggers = [trigger_of(Cause.NO_SYNC, member) for member in late[:NAMED_AT_MOST]]
    triggers += triggers[-1:] * (len(late) - len(triggers))  # of the others only their number is recorded
    for member in late:
        drop_member(group, member, context)
    prepare_rebalance(group, triggers[0], context, triggers[1:])

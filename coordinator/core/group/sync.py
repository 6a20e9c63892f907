"""SyncGroup: the leader sends the assignments, and each member receives its own once they are durable.

The SyncGroup requests of followers are parked. The leader's request appends the group record; when that is durable, the
group becomes Stable and all parked requests are answered, unless a rebalance began meanwhile. In a Stable group the
stored assignment is returned at once, so that a member that lost the response recovers. Source: Kafka's
`GroupMetadataManager.classicGroupSync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.model import Cause, RebalanceOutcome, Trigger
from coordinator.core.group.checks import check_sync
from coordinator.core.group.classic_append import ClassicAppend
from coordinator.core.group.first_round import is_newcomer, others_will_rejoin
from coordinator.core.group.incidents import record_refusal
from coordinator.core.group.parked_heartbeat import Release, release_of
from coordinator.core.group.progress import end_rebalance
from coordinator.core.group.rebalance import maybe_rebalance
from coordinator.core.group.records import group_record
from coordinator.core.group.responses import refuse_parked_sync, sync_error, sync_success
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from coordinator.core.log_errors import client_error
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from protocol.messages.sync_group import SyncGroupRequest


def sync(group: Group, request: SyncGroupRequest, ticket: Ticket, context: Context) -> None:
    """Handle a SyncGroup for an existing group. The ticket is answered or parked."""
    error = check_sync(group, request)
    if error is ErrorCode.NONE and group.state is PREPARING_REBALANCE:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    if error is not ErrorCode.NONE:
        record_refusal(
            group,
            ApiKey.SYNC_GROUP,
            error,
            ticket,
            request.member_id,
            request.group_instance_id,
            context,
            request.generation_id,
        )
        context.reply(ticket, sync_error(error))
        return
    member = group.members[request.member_id]
    is_repeated = member.member_id not in group.pending_sync
    _has_synced(group, member)
    if group.state is STABLE:
        release_of(member, Release.OTHER_CONNECTION, context)
        restart_session(group, member, member.session_timeout_ms, context)
        is_held = (
            not is_repeated
            and is_newcomer(group, member, ticket)
            and others_will_rejoin(group)
            and context.timers.hold_sync(group, member, ticket, context)
        )
        if not is_held:
            context.reply(ticket, sync_success(group, member))
        return
    refuse_parked_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, context)  # a repeated request replaces the older one
    member.parked_sync = ticket
    if member.member_id == group.leader_id:
        given = {assignment.member_id: assignment.assignment for assignment in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        if group.rebalance is not None:
            group.rebalance.planned(member, context)
        context.append(group, (group_record(group, assignments),), StoreAssignment(group.generation, assignments))


def _has_synced(group: Group, member: Member) -> None:
    group.has_synced(member)
    if not group.pending_sync and group.sync_timer is not None:
        group.sync_timer.cancel()
        group.sync_timer = None


class StoreAssignment(ClassicAppend):
    """Pending append of the group record with the leader's assignments."""

    __slots__ = ("assignments", "generation")

    def __init__(self, generation: int, assignments: dict[str, bytes]) -> None:
        self.generation = generation
        self.assignments = assignments

    def durable(self, context: Context) -> None:
        group = self.classic_group
        if group is None:
            return
        group.is_recorded = True
        if not self._is_awaited(group):
            return  # a rebalance began, which has answered the parked requests
        if group.former_owners is not None and group.static_members:  # these may be members without a JoinGroup
            group.former_owners.keep(group.members)
        newcomers: list[tuple[Member, Ticket]] = []
        for member in group.members.values():
            member.assignment = self.assignments.get(member.member_id, b"")
            ticket = member.parked_sync
            if ticket is not None:
                member.parked_sync = None
                restart_session(group, member, member.session_timeout_ms, context)
                if is_newcomer(group, member, ticket):
                    newcomers.append((member, ticket))
                else:
                    context.reply(ticket, sync_success(group, member))
        group.transition(STABLE, context.wall_ms)
        will_rejoin = bool(newcomers) and others_will_rejoin(group)
        for member, ticket in newcomers:
            if not (will_rejoin and context.timers.hold_sync(group, member, ticket, context)):
                context.reply(ticket, sync_success(group, member))
        context.counters.completed_rebalances += 1
        end_rebalance(group, RebalanceOutcome.STABLE, context, self.assignments)

    def timed_out(self, context: Context) -> None:
        self.failed(ErrorCode.REQUEST_TIMED_OUT, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        group = self.classic_group
        if group is None or not self._is_awaited(group):
            return
        for member in group.members.values():
            if refuse_parked_sync(member, client_error(error), context):
                restart_session(group, member, member.session_timeout_ms, context)
        maybe_rebalance(group, Trigger(Cause.APPEND_FAILED), context)

    def _is_awaited(self, group: Group) -> bool:
        return group.state is COMPLETING_REBALANCE and group.generation == self.generation

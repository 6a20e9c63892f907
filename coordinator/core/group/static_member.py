"""Replacement of a static member: the next run of a known instance takes the place of the previous one.

It gets a new member id, so that the previous run is fenced, and keeps everything else. A Stable group whose protocol
would not change needs no rebalance: the group record is written with the new id, and then the member receives the
current generation. A leader that returns this way is told not to assign (v9+, KIP-814); before v9 it is told the old
leader's id, so that it does not act as leader. A changed subscription alone starts no rebalance, as in Kafka.

Source: KIP-345 and Kafka's `GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import InvariantError
from coordinator.core.events.model import Cause
from coordinator.core.group.classic_append import ClassicAppend
from coordinator.core.group.incidents import record_replacement
from coordinator.core.group.member import Member
from coordinator.core.group.parked_heartbeat import Release, release_of
from coordinator.core.group.progress import client_of, trigger_of
from coordinator.core.group.rebalance import prepare_rebalance
from coordinator.core.group.records import group_record
from coordinator.core.group.rejoin import update_member
from coordinator.core.group.responses import join_success, refuse_parked_join, refuse_parked_sync
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from coordinator.core.log_errors import client_error
from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Protocols
    from protocol.messages.join_group import JoinGroupRequest


def replace_static_member(
    group: Group,
    request: JoinGroupRequest,
    protocols: Protocols,
    new_id: str,
    ticket: Ticket,
    context: Context,
    *,
    knows_skip_assignment: bool,
) -> None:
    """Replace the member of the instance in `request` by `new_id`, with its JoinGroup parked."""
    old = group.members[group.static_members[request.group_instance_id or ""]]
    old_leader = group.leader_id or ""
    refuse_parked_join(group, old, ErrorCode.FENCED_INSTANCE_ID, context, old.member_id)
    refuse_parked_sync(old, ErrorCode.FENCED_INSTANCE_ID, context)
    other = client_of(old)
    member = _take_over(group, old, new_id, context)
    if (ticket.client_id, ticket.client_host) != (old.client_id, old.client_host):
        member.run_by = ticket.client_id, ticket.client_host
    record_replacement(group, member, other, ticket, context)
    restart_session(group, member, old.session_timeout_ms, context)
    update_member(group, member, request, protocols, ticket, context)
    trigger = trigger_of(Cause.STATIC_MEMBER_REPLACED, member, request.reason)
    if group.state is PREPARING_REBALANCE:
        if group.rebalance is not None:
            group.rebalance.caused(trigger, context)
        context.timers.check_joins(group, context)
    elif group.state is COMPLETING_REBALANCE or (
        group.state is STABLE and group.select_protocol() != group.protocol_name
    ):
        prepare_rebalance(group, trigger, context)
    elif group.state is STABLE:
        then = ReplaceStaticMember(member, old, ticket, old_leader, group.generation, knows_skip_assignment)
        context.append(group, (group_record(group),), then)
    else:
        raise InvariantError(group.group_id, f"static member {old.member_id!r} in a group that is {group.state.value}")


def _take_over(group: Group, old: Member, new_id: str, context: Context) -> Member:
    """Replace `old` by a copy with a new id, which inherits the leadership, the instance id and the pending sync.

    The parked heartbeat of `old` is answered, with FENCED_INSTANCE_ID if it named its instance.
    """
    member = Member(
        new_id,
        old.group_instance_id,
        old.client_id,
        old.client_host,
        old.rebalance_timeout_ms,
        old.session_timeout_ms,
        old.protocol_type,
        old.protocols,
        old.assignment,
    )
    was_leader = group.leader_id == old.member_id
    was_to_sync = old.member_id in group.pending_sync
    protocol_type = group.protocol_type
    group.remove(old)
    group.add(member)
    group.protocol_type = protocol_type
    if was_leader:
        group.leader_id = new_id
    if was_to_sync:  # else the sync timer would start a needless rebalance for the old id, as in Kafka
        group.pending_sync[new_id] = None
    release_of(old, Release.MEMBER_REPLACED, context)
    return member


class CorrectGroup(ClassicAppend):
    """Pending append of a group record that corrects the log. No request waits for it."""

    __slots__ = ()


class ReplaceStaticMember(ClassicAppend):
    """Pending append of the group record with the new member id. The JoinGroup of the member is parked."""

    __slots__ = ("generation", "is_undone", "knows_skip_assignment", "member", "old", "old_leader", "ticket")

    def __init__(
        self,
        member: Member,
        old: Member,
        ticket: Ticket,
        old_leader: str,
        generation: int,
        knows_skip_assignment: bool,
    ) -> None:
        self.member = member
        self.old = old
        self.ticket = ticket
        self.old_leader = old_leader
        self.generation = generation
        self.knows_skip_assignment = knows_skip_assignment
        self.is_undone = False

    def _is_current(self, group: Group) -> bool:
        """Return whether the group is unchanged. If a rebalance began, the parked JoinGroup belongs to that."""
        return (
            group.state is STABLE
            and group.generation == self.generation
            and not self.member.is_gone
            and self.member.parked_join is self.ticket
        )

    def durable(self, context: Context) -> None:
        group = self.classic_group
        if group is None:
            return
        group.is_recorded = True
        if self.is_undone and group.state is STABLE:
            # The append succeeded after its timeout: the log names a member that was removed. Write the group again.
            context.append(group, (group_record(group),), CorrectGroup())
        elif self._is_current(group):
            group.take_join(self.member)
            session = self.member.session
            if session is None or not session.is_armed:
                # The timer fired while the JoinGroup was parked, without effect. An armed timer is left as it is.
                restart_session(group, self.member, self.member.session_timeout_ms, context)
            if self.knows_skip_assignment:
                leads = group.leader_id == self.member.member_id
                answer = join_success(group, self.member, skip_assignment=leads)
            else:
                answer = join_success(group, self.member, leader=self.old_leader)
            context.reply(self.ticket, answer)

    def timed_out(self, context: Context) -> None:
        self.failed(ErrorCode.REQUEST_TIMED_OUT, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        group = self.classic_group
        if group is None or self.is_undone or not self._is_current(group):
            return
        self.is_undone = True
        group.take_join(self.member)
        restored = _take_over(group, self.member, self.old.member_id, context)
        group.set_protocols(restored, self.old.protocols)
        restored.rebalance_timeout_ms = self.old.rebalance_timeout_ms
        restored.session_timeout_ms = self.old.session_timeout_ms
        restored.client_software = self.old.client_software
        restored.run_by = self.old.run_by
        restart_session(group, restored, restored.session_timeout_ms, context)
        self._refuse(group, client_error(error), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        """Refuse the parked JoinGroup, because the partition is unloaded."""
        group = self.classic_group
        if group is not None and not self.is_undone and self._is_current(group):
            group.take_join(self.member)
            self._refuse(group, error, context)

    def _refuse(self, group: Group, error: ErrorCode, context: Context) -> None:
        """Answer with an error and the generation of the group, which Kafka sends with this JoinGroup error only."""
        context.reply(
            self.ticket,
            JoinGroupResponse(
                error_code=int(error),
                generation_id=group.generation,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                leader=self.old_leader,
                member_id="",
            ),
        )

"""LeaveGroup: members leave before their sessions end, one or several at once.

An entry names a member by its id, a static member by its instance id (used by administrators), or a pending id. The
whole batch starts one rebalance at most, and none if only pending ids were given back. Source: KIP-345 and Kafka's
`GroupMetadataManager.classicGroupLeave`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import NAMED_AT_MOST, Cause, Trigger
from coordinator.core.group.checks import check_member
from coordinator.core.group.progress import trigger_of
from coordinator.core.group.rebalance import EmptyGroup, drop_member, prepare_rebalance
from coordinator.core.group.state import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from protocol.error_codes import ErrorCode
from protocol.messages.leave_group import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.work import Steps
    from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

LEAVING_AT_ONCE: Final = 500  # members


def leave(group: Group, request: LeaveGroupRequest, ticket: Ticket, context: Context) -> None:
    """Handle a LeaveGroup for an existing group. If it empties the group, the answer waits for the group's record."""
    if group.state is DEAD:
        context.reply(ticket, LeaveGroupResponse(error_code=int(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
        return
    steps = _leave(group, request, ticket, context)
    if len(request.members) > LEAVING_AT_ONCE:
        context.timers.in_turns(steps, group.shard, context)
        return
    for _ in steps:
        pass


def _leave(group: Group, request: LeaveGroupRequest, ticket: Ticket, context: Context) -> Steps:
    entries: list[MemberResponse] = []
    leaving: list[Trigger] = []
    any_left = False
    for identity in request.members:
        named = leaving[-1] if len(leaving) >= NAMED_AT_MOST else None  # then only their number is recorded
        outcome = _leave_one(group, identity, named, context)
        error = ErrorCode.NONE if isinstance(outcome, Trigger) else outcome
        if error is ErrorCode.NONE:
            any_left = True
        if isinstance(outcome, Trigger):
            leaving.append(outcome)
        entries.append(_entry(identity, error))
        if not len(entries) % LEAVING_AT_ONCE and len(entries) < len(request.members):
            yield None
            if group.state is DEAD:
                context.reply(ticket, LeaveGroupResponse(error_code=int(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
                return
    appends_before = len(context.appends)
    if group.state is PREPARING_REBALANCE:
        if any_left:
            context.timers.check_joins(group, context)
    elif leaving and group.state in (COMPLETING_REBALANCE, STABLE):
        prepare_rebalance(group, leaving[0], context, leaving[1:])
    response = LeaveGroupResponse(error_code=int(ErrorCode.NONE), members=entries)
    if len(context.appends) > appends_before:
        then = context.appends[-1].then
        if isinstance(then, EmptyGroup):
            then.ticket, then.response = ticket, response
            return
    context.reply(ticket, response)


def leave_unknown_group(request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Answer for a group that does not exist: every entry is an unknown member."""
    return LeaveGroupResponse(members=[_entry(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in request.members])


def _leave_one(group: Group, identity: MemberIdentity, named: Trigger | None, context: Context) -> ErrorCode | Trigger:
    """Return an error, NONE if a pending id was given back, or the trigger for a rebalance if a member left.

    `named` stands for the trigger if it need not name this member.
    """
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id == "":
        owner = group.static_members.get(instance_id) if instance_id is not None else None
        if owner is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = owner
    elif group.remove_pending(member_id):
        return ErrorCode.NONE
    else:
        error = check_member(group, member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
    member = group.members[member_id]
    trigger = named or trigger_of(Cause.MEMBER_LEFT, member, identity.reason)
    if group.state is PREPARING_REBALANCE and group.rebalance is not None:
        group.rebalance.caused(trigger, context)
    drop_member(group, member, context)
    return trigger


def _entry(identity: MemberIdentity, error: ErrorCode) -> MemberResponse:
    """Echo the ids of the request, also an empty member id."""
    return MemberResponse(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=int(error)
    )

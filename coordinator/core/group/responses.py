"""The forms of answers: what JoinGroup and SyncGroup carry on success and on error, and any request's error.

Responses are version-neutral (an absent protocol name is None); the rows in `coordinator/api` shape them to a version.
Source: spec 3.1, 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member


def join_error(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=int(error), generation_id=-1, protocol_type=None, protocol_name=None, leader="", member_id=member_id
    )


def join_success(
    group: Group, member: Member, *, leader: str | None = None, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The present generation, for `member`: with the list of all members if the answer names it as the leader."""
    named_leader = leader if leader is not None else group.leader_id or ""
    return JoinGroupResponse(
        error_code=int(ErrorCode.NONE),
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=named_leader,
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=member_list(group) if named_leader == member.member_id else [],
    )


def member_list(group: Group) -> list[JoinGroupResponseMember]:
    """What the leader needs to assign: everyone's metadata for the selected protocol."""
    protocol_name = group.protocol_name
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(protocol_name),
        )
        for member in group.members.values()
    ]


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=int(error), protocol_type=None, protocol_name=None, assignment=b"")


def sync_success(group: Group, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=int(ErrorCode.NONE),
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def refuse_parked_join(group: Group, member: Member, error: ErrorCode, context: Context, member_id: str = "") -> None:
    """Answer the parked JoinGroup of a member, if there is one, with an error."""
    ticket = group.take_join(member)
    if ticket is not None:
        context.reply(ticket, join_error(error, member_id))


def refuse_parked_sync(member: Member, error: ErrorCode, context: Context) -> bool:
    """Answer the parked SyncGroup of a member, if there is one, with an error."""
    ticket = member.parked_sync
    if ticket is None:
        return False
    member.parked_sync = None
    context.reply(ticket, sync_error(error))
    return True

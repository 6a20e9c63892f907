"""Builders of JoinGroup and SyncGroup responses, for success and for errors.

Responses are independent of the version (an absent protocol name is None); `coordinator.server.api` encodes them for
one.
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
    """Describe the current generation to `member`. The list of members is included if the response names it leader."""
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
    """Return the metadata of each member for the selected protocol, from which the leader computes the assignment."""
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
    """Answer the parked JoinGroup of a member with an error, if there is one."""
    ticket = group.take_join(member)
    if ticket is not None:
        context.reply(ticket, join_error(error, member_id))


def refuse_parked_sync(member: Member, error: ErrorCode, context: Context) -> bool:
    """Answer the parked SyncGroup of a member with an error. Returns False if there is none."""
    ticket = member.parked_sync
    if ticket is None:
        return False
    member.parked_sync = None
    context.reply(ticket, sync_error(error))
    return True

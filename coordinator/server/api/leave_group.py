"""LeaveGroup (key 13), handled by `coordinator.core.group.leave`.

Versions 0 to 2 name one member and have one error: a list of one, whose error moves to the top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section, handle_in_core
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.leave_group import MemberIdentity

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

FIRST_WITH_LIST: Final = 3


def handle(node: Node, request: LeaveGroupRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version < FIRST_WITH_LIST:
        request.members = [MemberIdentity(member_id=request.member_id)]
    handle_in_core(node, request, ticket, now_ms)


def shape(response: LeaveGroupResponse, version: int) -> LeaveGroupResponse:
    if version < FIRST_WITH_LIST and response.error_code == ErrorCode.NONE and response.members:
        response.error_code = response.members[0].error_code
    return response


API = Api(
    ApiKey.LEAVE_GROUP,
    0,
    5,
    handle,
    shape,
    max_elements=5_000,
    rebalances=True,
    chunked=((0, Array("members")),),
    section=Section.GROUPS,
    does="Several members at once from 3 on, static ones by instance id.",
)

"""JoinGroup (key 11), handled by `coordinator.core.group.join`. Fields that a version lacks become plain facts here.

Version 0 has one timeout for both purposes. From 4 on a dynamic member first gets its id (KIP-394); from 9 on a
returning static leader can be told not to assign (KIP-814). An absent protocol name is null from 7 on, "" before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.group.join import JoinGroup
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

FIRST_WITH_REBALANCE_TIMEOUT: Final = 1
FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4
FIRST_WITH_NULL_PROTOCOL_NAME: Final = 7
FIRST_WITH_SKIP_ASSIGNMENT: Final = 9


def handle(node: Node, request: JoinGroupRequest, ticket: Ticket, now_ms: int) -> None:
    version = ticket.version
    if version < FIRST_WITH_REBALANCE_TIMEOUT:
        request.rebalance_timeout_ms = request.session_timeout_ms
    if version >= FIRST_WITH_MEMBER_ID_REQUIRED:
        ticket.throttle_ms = max(ticket.throttle_ms, node.core.throttle_ms(request, ticket, now_ms))
    command = JoinGroup(request, version >= FIRST_WITH_MEMBER_ID_REQUIRED, version >= FIRST_WITH_SKIP_ASSIGNMENT)
    node.execute(node.core.handle(command, ticket, now_ms))


def shape(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if version >= FIRST_WITH_NULL_PROTOCOL_NAME:
        response.protocol_name = response.protocol_name or None
    else:
        response.protocol_name = response.protocol_name or ""
    return response


API = Api(
    ApiKey.JOIN_GROUP,
    0,
    9,
    handle,
    shape,
    max_elements=500,
    rebalances=True,
    chunked=((0, Array("members", long_field="metadata")),),
    amplifies=True,
    section=Section.GROUPS,
    does=(
        "Dynamic and static members (KIP-345), the member id first (KIP-394, from 4), "
        "`skip_assignment` (KIP-814, from 9), any protocol type."
    ),
    refuses=(
        "Beyond `group.max.size`, `max.members` and the bounds of metadata: GROUP_MAX_SIZE_REACHED. Beyond "
        "`max.groups`: COORDINATOR_NOT_AVAILABLE."
    ),
)

"""SyncGroup (key 14), handled by `coordinator.core.group.sync`.

From 5 on the request must name the protocol that the client uses. Clients of versions 0 to 2 do not know
COORDINATOR_LOAD_IN_PROGRESS: they get REBALANCE_IN_PROGRESS, and the JoinGroup that follows tells them to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.group.responses import sync_error
from coordinator.server.api.handler import Api, Section, handle_in_core
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

FIRST_WITH_LOAD_IN_PROGRESS: Final = 3
FIRST_WITH_PROTOCOL: Final = 5


def handle(node: Node, request: SyncGroupRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version >= FIRST_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        node.reply(ticket, sync_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return
    handle_in_core(node, request, ticket, now_ms)


def shape(response: SyncGroupResponse, version: int) -> SyncGroupResponse:
    if version < FIRST_WITH_LOAD_IN_PROGRESS and response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        response.error_code = int(ErrorCode.REBALANCE_IN_PROGRESS)
    return response


API = Api(
    ApiKey.SYNC_GROUP,
    0,
    5,
    handle,
    shape,
    max_elements=20_000,
    rebalances=True,
    waits_for_log=True,
    section=Section.GROUPS,
    does="The assignment is handed out when it is on disk.",
)

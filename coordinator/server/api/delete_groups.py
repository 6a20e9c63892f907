"""DeleteGroups (key 42); see `coordinator.core.offsets.deletion`. The versions differ in nothing that matters here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.delete_groups import DeleteGroupsRequest


def handle(node: Node, request: DeleteGroupsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


API = Api(ApiKey.DELETE_GROUPS, 0, 2, handle, max_elements=20_000)

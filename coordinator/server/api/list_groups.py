"""ListGroups (key 16); see `coordinator.core.group.describe`. A version without a filter lists everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.list_groups import ListGroupsRequest


def handle(node: Node, request: ListGroupsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


API = Api(ApiKey.LIST_GROUPS, 0, 5, handle, max_elements=1_000)

"""ListGroups (key 16); see `coordinator.group.describe`. A filter that a version lacks is an empty one: everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.api.node import Node
    from coordinator.effects import Ticket
    from protocol.messages.list_groups import ListGroupsRequest


def handle(node: Node, request: ListGroupsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


API = Api(ApiKey.LIST_GROUPS, 0, 5, handle, max_elements=1_000)

"""OffsetDelete (key 47); see `coordinator.core.offsets.deletion`. There is one version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.offset_delete import OffsetDeleteRequest


def handle(node: Node, request: OffsetDeleteRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


API = Api(ApiKey.OFFSET_DELETE, 0, 0, handle, max_elements=12_000)

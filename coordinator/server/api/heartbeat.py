"""Heartbeat (key 12); see `coordinator.core.group.heartbeat`. The versions differ in nothing that matters here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.heartbeat import HeartbeatRequest


def handle(node: Node, request: HeartbeatRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(request, ticket, now_ms))


API = Api(ApiKey.HEARTBEAT, 0, 4, handle)

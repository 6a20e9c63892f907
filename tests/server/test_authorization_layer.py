"""Access rules before a connection that recognises the requests it has seen before."""

from __future__ import annotations

from typing import Any

from coordinator.core.effects import Ticket
from coordinator.server import authorization_layer
from coordinator.server.api.node import Node
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.server.api.authorization_kit import Rights
from tests.support.edge import Edge


def test_a_refused_heartbeat_is_refused_each_time_it_is_repeated() -> None:
    handled: list[Any] = []

    def heartbeat(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        handled.append(request)
        node.reply(ticket, HeartbeatResponse())

    edge = Edge({ApiKey.HEARTBEAT: heartbeat})
    authorization_layer.install(edge.runtime.routes, lambda *_: Rights())
    peer = edge.peer()
    for _ in range(3):
        peer.send(HeartbeatRequest("g", 1, "m"))
    assert [each.error_code for each in peer.answers] == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 3
    assert not handled

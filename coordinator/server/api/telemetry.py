"""GetTelemetrySubscriptions (key 71) and PushTelemetry (key 72), version 0: metrics of clients (KIP-714).

They need no rights, as in Kafka. The rules are in `coordinator.telemetry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api, Section
from coordinator.telemetry.instances import ClientFacts
from protocol.api_keys import ApiKey
from protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.error_codes import ErrorCode
    from protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest


def _client(ticket: Ticket) -> ClientFacts:
    address, _, port = ticket.session.peer.rpartition(":")
    return ClientFacts(ticket.client_id, ticket.client_software.name, ticket.client_software.version, address, port)


def get_subscriptions(node: Node, request: GetTelemetrySubscriptionsRequest, ticket: Ticket, now_ms: int) -> None:
    node.reply(
        ticket,
        node.telemetry.get_subscriptions(request.client_instance_id, _client(ticket), ticket.session, now_ms),
    )


def push(node: Node, request: PushTelemetryRequest, ticket: Ticket, now_ms: int) -> None:
    def reply(error: ErrorCode) -> None:
        node.answer_later(ticket, PushTelemetryResponse(error_code=error))

    error = node.telemetry.push(request, _client(ticket), ticket.session, now_ms, reply)
    if error is not None:
        node.reply(ticket, PushTelemetryResponse(error_code=error))


GET_SUBSCRIPTIONS = Api(
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    0,
    0,
    get_subscriptions,
    section=Section.OTHERS,
    does="The metrics of [telemetry.metrics](client-metrics.md), and those of subscriptions.",
)
PUSH = Api(
    ApiKey.PUSH_TELEMETRY,
    0,
    0,
    push,
    section=Section.OTHERS,
    does="/metrics shows the newest figures of each client; all are sent on to telemetry.otlp.endpoint.",
)

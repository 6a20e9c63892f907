"""InitProducerId (key 22), versions 0 to 5, for idempotent producers. There are no transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: InitProducerIdRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.init_producer_id(request, ticket, now_ms))


API = Api(
    ApiKey.INIT_PRODUCER_ID,
    0,
    5,
    handle,
    does="Ids for idempotent producers.",
    refuses=("A transactional id: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, on which every client gives up at once."),
)

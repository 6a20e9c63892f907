"""DeleteRecords (key 21), versions 0 to 2, which are handled alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.delete_records import DeleteRecordsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DeleteRecordsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.delete_records(request, ticket, now_ms))


API = Api(
    ApiKey.DELETE_RECORDS,
    0,
    2,
    handle,
    max_elements=12_000,
    chunked=TOPICS,
    refuses="Of a topic with `cleanup.policy=compact` alone: POLICY_VIOLATION.",
)

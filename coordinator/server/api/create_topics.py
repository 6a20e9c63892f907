"""CreateTopics (key 19), versions 0 to 7. Answers when the topics are durable; from 5 on with their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreateTopicsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: CreateTopicsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.create_topics(request, ticket, now_ms))


API = Api(
    ApiKey.CREATE_TOPICS,
    0,
    7,
    handle,
    max_elements=5_000,
    chunked=((0, Array("topics")),),
    does=("Settings of a topic are kept and shown; those with a meaning here have it. Manual assignments to any node."),
    refuses=(
        "Replication factors other than 1 and -1: INVALID_REPLICATION_FACTOR. Assignments to more "
        "than one broker: INVALID_REPLICA_ASSIGNMENT. Beyond `max.topics` and `max.partitions`: "
        "POLICY_VIOLATION."
    ),
)

"""CreatePartitions (key 37), versions 0 to 3, which are handled alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.create_partitions import CreatePartitionsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: CreatePartitionsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.create_partitions(request, ticket, now_ms))


API = Api(
    ApiKey.CREATE_PARTITIONS,
    0,
    3,
    handle,
    max_elements=10_000,
    chunked=((0, Array("results")),),
    does="Manual assignments to any node.",
    refuses=(
        "Fewer than there are: INVALID_PARTITIONS. Assignments to more than one broker: INVALID_REPLICA_ASSIGNMENT."
    ),
)

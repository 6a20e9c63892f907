"""DescribeProducers (key 61), version 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.describe_producers import DescribeProducersRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeProducersRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.describe_producers(request, ticket, now_ms))


API = Api(
    ApiKey.DESCRIBE_PRODUCERS,
    0,
    0,
    handle,
    max_elements=12_000,
    chunked=TOPICS,
    amplifies=True,
    does="The producers of partitions of this node, and the first offsets of their open transactions.",
    refuses="A partition that is named more than once: INVALID_REQUEST.",
)

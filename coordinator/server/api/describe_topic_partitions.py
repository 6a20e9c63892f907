"""DescribeTopicPartitions, version 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.describe_topic_partitions import describe_topic_partitions
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeTopicPartitionsRequest, ticket: Ticket, now_ms: int) -> None:
    response = DescribeTopicPartitionsResponse()
    steps = describe_topic_partitions(request, node.topics.catalogue, response)
    answer_in_steps(node, ticket, response, steps)


API = Api(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    0,
    0,
    handle,
    chunked=((0, Array("topics", head_bytes=4, is_owned=True, of=Array("partitions", tail_bytes=4, is_owned=True))),),
    amplifies=True,
    does="At most 2,000 partitions in a page.",
)

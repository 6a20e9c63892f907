"""ConsumerGroupDescribe (key 69, KIP-848), handled by `coordinator.core.consumer_group.describe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.describe import DescribeConsumerGroups
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest


def handle(node: Node, request: ConsumerGroupDescribeRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(DescribeConsumerGroups(request), ticket, now_ms))


API = Api(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    0,
    1,
    handle,
    max_elements=50_000,
    chunked=((0, Array("groups", of=Array("members", tail_bytes=4))),),
    amplifies=True,
    section=Section.GROUPS,
    does="Groups of the consumer protocol: epochs, members, what they have and what they shall have.",
)

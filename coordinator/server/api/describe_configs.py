"""DescribeConfigs, versions 1 to 4, of topics and of this broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.describe_configs import DescribeConfigsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeConfigsRequest, ticket: Ticket, now_ms: int) -> None:
    steps = _answer(node, request, ticket)
    if len(request.resources) == 1:
        next(steps, None)
    else:
        node.take_turns(ticket, steps)


def _answer(node: Node, request: DescribeConfigsRequest, ticket: Ticket) -> Iterator[None]:
    node.reply(ticket, (yield from node.topics.describe_configs(request)))


API = Api(
    ApiKey.DESCRIBE_CONFIGS,
    1,
    4,
    handle,
    max_elements=10_000,
    chunked=((0, Array("results", of=Array("configs"))),),
    amplifies=True,
    does="Of topics, of this node, and the levels of its loggers.",
)

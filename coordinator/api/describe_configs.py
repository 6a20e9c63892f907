"""DescribeConfigs, versions 1 to 4, of topics and of this broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.describe_configs import DescribeConfigsRequest

if TYPE_CHECKING:
    from coordinator.api.node import Node
    from coordinator.effects import Ticket


def handle(node: Node, request: DescribeConfigsRequest, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, node.topics.describe_configs(request))


API = Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, handle)

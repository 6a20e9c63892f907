"""IncrementalAlterConfigs, versions 0 and 1: the settings of topics that may change while they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

if TYPE_CHECKING:
    from coordinator.api.node import Node
    from coordinator.effects import Ticket


def handle(node: Node, request: IncrementalAlterConfigsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.alter_configs(request, ticket, now_ms))


API = Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, handle)

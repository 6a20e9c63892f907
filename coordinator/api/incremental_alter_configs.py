"""IncrementalAlterConfigs, versions 0 and 1: the settings of topics that may change while they are in use.

A node that is not the controller passes the request on and hands back the answer: this is the one change of topics,
with AlterConfigs, that admin clients send to any node, and they do not get over NOT_CONTROLLER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.api.handler import Api
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.api.node import Node
    from coordinator.effects import Ticket
    from coordinator.topics.alter_configs import AnyRequest


def handle(node: Node, request: AnyRequest, ticket: Ticket, now_ms: int) -> None:
    if node.cluster.is_controller:
        node.execute_topics(node.topics.alter_configs(request, ticket, now_ms))
    else:
        node.ask_controller(request, ticket)


API = Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, handle, max_elements=10_000)

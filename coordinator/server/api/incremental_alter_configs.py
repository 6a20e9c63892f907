"""IncrementalAlterConfigs (key 44), versions 0 and 1: settings of topics, nodes and groups that may change in use.

The levels of loggers are changed by the node that is asked. A node that is not the controller forwards changes of
topics and returns the answer: admin clients send them to any node, and do not retry NOT_CONTROLLER.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from coordinator.config import broker_loggers
from coordinator.core.topics.describe import BROKER_LOGGER
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.alter_configs import AnyRequest
    from coordinator.core.topics.create_topics import Refusal
    from coordinator.server.api.node import Node


def handle(node: Node, request: IncrementalAlterConfigsRequest, ticket: Ticket, now_ms: int) -> None:
    if request.resources and all(asked.resource_type == BROKER_LOGGER for asked in request.resources):
        node.reply(ticket, _alter_loggers(request, node.cluster.node_id))
    else:
        alter(node, request, ticket, now_ms)


def alter(node: Node, request: AnyRequest, ticket: Ticket, now_ms: int) -> None:
    """Change settings of topics and nodes on the controller, or have the controller do it."""
    if node.cluster.is_controller:
        node.execute_topics(node.topics.alter_configs(request, ticket, now_ms))
    else:
        node.ask_controller(request, ticket)


def _alter_loggers(request: IncrementalAlterConfigsRequest, node_id: int) -> IncrementalAlterConfigsResponse:
    times = Counter(asked.resource_name for asked in request.resources)
    response = IncrementalAlterConfigsResponse()
    for asked in request.resources:
        if times[asked.resource_name] > 1:
            refusal: Refusal | None = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        else:
            refusal = broker_loggers.alter(
                asked.resource_name, node_id, asked.configs, validate_only=request.validate_only
            )
        error, reason = refusal or (ErrorCode.NONE, None)
        response.responses.append(AlterConfigsResourceResponse(error, reason, asked.resource_type, asked.resource_name))
    return response


API = Api(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    0,
    1,
    handle,
    max_elements=6_000,
    chunked=((0, Array("responses")),),
    does=(
        "Of topics, of nodes ([which](operations.md#settings-that-change-while-a-node-runs)), of groups "
        "([which](consumer-groups.md#settings)), subscriptions to [metrics of clients](client-metrics.md), and levels "
        "of loggers."
    ),
    refuses=(
        "Of a node, what is read at start only: INVALID_REQUEST. Of a topic, another value of what has no effect "
        "here: INVALID_CONFIG."
    ),
)

"""Metadata: the nodes of the cluster, whether they are up or not, and the topics with their leaders.

Version 0 has no null list: an empty one asks for all topics; later an empty list asks for none. Versions 10 and 11
carry topic ids that nobody may use yet, so asking by id or without a name is an invalid request there. Before version
4 every request may create topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.describe import ALL_CLUSTER_OPERATIONS, NOT_ASKED
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_IDS_SINCE = 12


def handle(node: Node, request: MetadataRequest, ticket: Ticket, now_ms: int) -> None:
    asked = request.topics
    if asked is not None and not asked and ticket.version == 0:
        asked = None
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=each.id, host=each.host, port=each.port)
            for each in node.cluster.nodes.values()
        ],
        cluster_id=node.cluster_id,
        controller_id=node.cluster.controller.id,
        cluster_authorized_operations=(
            ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
    if (
        asked is not None
        and ticket.version < _IDS_SINCE
        and any(topic.name is None or topic.topic_id != ZERO_UUID for topic in asked)
    ):
        response.topics = [
            MetadataResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name or "") for topic in asked
        ]
        node.reply(ticket, response)
        return
    response.topics, effects = node.topics.metadata(
        asked,
        now_ms,
        may_create=request.allow_auto_topic_creation,
        with_authorized_operations=request.include_topic_authorized_operations,
    )
    node.reply(ticket, response)
    node.execute_topics(effects)


API = Api(ApiKey.METADATA, 0, 12, handle, max_elements=10_000)

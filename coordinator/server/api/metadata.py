"""Metadata (key 3): the nodes of the cluster, up or not, and the topics with their leaders.

Version 0 has no null list: an empty list asks for all topics. Later an empty list asks for none. Versions 10 and 11
have topic ids that Kafka does not support yet, so a request by id or without a name is invalid there. Requests before
version 4 may always create topics. Version 13 has an error for all of it, which is not used here: a node always
knows its cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.describe import ALL_CLUSTER_OPERATIONS, NOT_ASKED
from coordinator.server.api.chunked_responses import Array
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
            for each in map(node.seen_by(ticket), node.cluster.nodes.values())
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


# Four bytes of authorized operations: behind each topic from 8 on, behind the topics in 8 to 10. Then an error from 13.
LONG_TOPICS: Final = (
    (0, Array("topics", of=Array("partitions"))),
    (8, Array("topics", tail_bytes=4, of=Array("partitions", tail_bytes=4))),
    (11, Array("topics", of=Array("partitions", tail_bytes=4))),
    (13, Array("topics", tail_bytes=2, of=Array("partitions", tail_bytes=4))),
)

API = Api(
    ApiKey.METADATA,
    0,
    13,
    handle,
    max_elements=10_000,
    chunked=LONG_TOPICS,
    amplifies=True,
    does="May create topics (`auto.create.topics.enable`).",
)

"""DeleteTopics, versions 0 to 6: a list of names, from 6 on a list of names or ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_IDS_SINCE = 6


def handle(node: Node, request: DeleteTopicsRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version < _IDS_SINCE:
        request.topics = [DeleteTopicState(name=name) for name in request.topic_names]
    node.execute_topics(node.topics.delete_topics(request, ticket, now_ms))


API = Api(
    ApiKey.DELETE_TOPICS,
    0,
    6,
    handle,
    max_elements=10_000,
    chunked=((0, Array("responses")),),
    does="Names, from 6 on ids as well; committed offsets go with their topic.",
)

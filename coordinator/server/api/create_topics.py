"""CreateTopics, versions 0 to 7. Answers when the topics exist durably; the settings are in the answer from 5 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreateTopicsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: CreateTopicsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.create_topics(request, ticket, now_ms))


API = Api(ApiKey.CREATE_TOPICS, 0, 7, handle, max_elements=5_000)

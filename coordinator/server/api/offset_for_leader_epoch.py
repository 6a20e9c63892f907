"""OffsetForLeaderEpoch (key 23), versions 2 to 4. Consumers ask after a change of leader; leaders never change here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: OffsetForLeaderEpochRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.offsets_for_leader_epoch(request, ticket, now_ms))


API = Api(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    2,
    4,
    handle,
    max_elements=12_000,
    chunked=TOPICS,
    does="There is one epoch, 0.",
)

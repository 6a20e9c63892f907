"""ListOffsets (key 2), versions 1 to 8. The meaning of a negative timestamp depends on the version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.effects import MAX_TIMESTAMP
from coordinator.core.topics.offsets import EARLIEST, EARLIEST_LOCAL, LATEST
from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.list_offsets import ListOffsetsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_SINCE: Final = ((LATEST, 1), (EARLIEST, 1), (MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8))
_MAX_VERSION: Final = 8
SPECIALS: Final = tuple(
    frozenset(timestamp for timestamp, since in _SINCE if version >= since) for version in range(_MAX_VERSION + 1)
)


def handle(node: Node, request: ListOffsetsRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(node.topics.list_offsets(request, ticket, now_ms, specials=SPECIALS[ticket.version]))


API = Api(
    ApiKey.LIST_OFFSETS,
    1,
    _MAX_VERSION,
    handle,
    max_elements=12_000,
    chunked=TOPICS,
    does="Earliest, latest, by timestamp, the largest timestamp (from 7).",
)

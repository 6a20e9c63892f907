"""ListOffsets (key 2), versions 1 to 11. The meaning of a negative timestamp depends on the version.

The last two kinds ask about remote storage. There is none here, so that they find no offset. For the same reason the
timeout of version 10 on is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.effects import MAX_TIMESTAMP
from coordinator.core.topics.offsets import EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD, LATEST, LATEST_TIERED
from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.list_offsets import ListOffsetsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

_SINCE: Final = (
    (LATEST, 1),
    (EARLIEST, 1),
    (MAX_TIMESTAMP, 7),
    (EARLIEST_LOCAL, 8),
    (LATEST_TIERED, 9),
    (EARLIEST_PENDING_UPLOAD, 11),
)
_MAX_VERSION: Final = 11
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
    does="Earliest, latest, by timestamp, the largest timestamp (from 7). No offset is in remote storage.",
)

"""WriteTxnMarkers (key 27): the ends of transactions, for partitions of the offsets log and of embedded topics.

The transaction coordinator of this node uses it, and an admin client that aborts a transaction which hangs
(KIP-664). It is answered when each marker is durable or has failed. Source:
`KafkaApis.handleWriteTxnMarkersRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


class SplitMarkers:
    """One request whose markers go to the offsets log and to the embedded topics."""

    __slots__ = ("_left", "_markers", "_node", "_results", "_ticket")

    def __init__(self, node: Node, request: WriteTxnMarkersRequest, ticket: Ticket) -> None:
        self._node = node
        self._ticket = ticket
        self._markers = request.markers
        self._left = 0
        self._results: dict[tuple[int, str], Any] = {}  # by the number of the marker and the topic

    def send(self, now_ms: int) -> None:
        """Write the markers of each kind of partition."""
        offsets = self._part(is_offsets=True)
        others = self._part(is_offsets=False)
        self._left = bool(offsets) + bool(others)
        node = self._node
        if offsets:
            request = WriteTxnMarkersRequest(markers=[marker for _, marker in offsets])
            ticket = node.inner_ticket(lambda response: self._take(offsets, response))
            node.execute(node.core.handle(request, ticket, now_ms))
        if others:
            request = WriteTxnMarkersRequest(markers=[marker for _, marker in others])
            ticket = node.inner_ticket(lambda response: self._take(others, response))
            node.execute_topics(node.topics.write_txn_markers(request, ticket, now_ms, wall_ms=node.wall_ms()))
        if not offsets and not others:
            self._answer()

    def _part(self, *, is_offsets: bool) -> list[tuple[int, WritableTxnMarker]]:
        part = []
        for number, marker in enumerate(self._markers):
            topics = [topic for topic in marker.topics if (topic.name == OFFSETS_TOPIC) is is_offsets]
            if topics:
                part.append((number, changed(marker, topics=topics)))
        return part

    def _take(self, part: list[tuple[int, WritableTxnMarker]], response: WriteTxnMarkersResponse | None) -> None:
        if response is None:
            self._ticket.session.close("the lease of this node ended while markers were written")
            return
        for (number, _), result in zip(part, response.markers, strict=True):
            for topic in result.topics:
                self._results[number, topic.name] = topic
        self._left -= 1
        if not self._left:
            self._answer()

    def _answer(self) -> None:
        results = [
            WritableTxnMarkerResult(marker.producer_id, [self._results[number, topic.name] for topic in marker.topics])
            for number, marker in enumerate(self._markers)
        ]
        self._node.reply(self._ticket, WriteTxnMarkersResponse(markers=results))


def handle(node: Node, request: WriteTxnMarkersRequest, ticket: Ticket, now_ms: int) -> None:
    SplitMarkers(node, request, ticket).send(now_ms)


FIRST_SERVED: Final = 1  # as in Kafka 4

API = Api(
    ApiKey.WRITE_TXN_MARKERS,
    FIRST_SERVED,
    2,
    handle,
    max_elements=12_000,
    chunked=((0, Array("markers")),),
    section=Section.OTHERS,
    does="For `kafka-transactions.sh abort`, which ends a transaction that hangs.",
)

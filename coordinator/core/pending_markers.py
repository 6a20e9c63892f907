"""WriteTxnMarkers in progress, of the offsets log and of topics alike.

Source: `handleWriteTxnMarkersRequest` of Kafka's `KafkaApis`, which answers when each partition has its marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket


class _Replies(Protocol):
    def reply(self, ticket: Ticket, response: Any) -> None: ...


class AskedMarker(NamedTuple):
    """A marker, the partition that it is asked for, and the result to fill in."""

    marker: WritableTxnMarker
    topic: str
    result: WritableTxnMarkerPartitionResult


class PendingMarkers:
    """One request in progress. It is answered when the outcome of each marker is known."""

    __slots__ = ("_response", "_ticket", "_waiting", "asked")

    def __init__(self, request: WriteTxnMarkersRequest, ticket: Ticket) -> None:
        self._ticket = ticket
        self._response, self.asked = _unanswered(request)
        self._waiting = 1  # for `all_asked`: a marker may settle while others are asked for

    def wait(self) -> None:
        """Wait for one marker more, until `settle` tells its outcome."""
        self._waiting += 1

    def settle(self, result: WritableTxnMarkerPartitionResult, error: ErrorCode, replies: _Replies) -> None:
        """Note the outcome of a marker that was waited for, and answer if it was the last."""
        result.error_code = int(error)
        self._answer_if_last(replies)

    def all_asked(self, replies: _Replies) -> None:
        """Let the answer leave as soon as no marker is waited for."""
        self._answer_if_last(replies)

    def _answer_if_last(self, replies: _Replies) -> None:
        self._waiting -= 1
        if not self._waiting:
            replies.reply(self._ticket, self._response)


def markers_refused(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    """Return the answer to a request that is refused as a whole."""
    response, asked = _unanswered(request)
    for each in asked:
        each.result.error_code = int(error)
    return response


def _unanswered(request: WriteTxnMarkersRequest) -> tuple[WriteTxnMarkersResponse, list[AskedMarker]]:
    """Return the answer without errors, and each partition in it."""
    response = WriteTxnMarkersResponse()
    asked: list[AskedMarker] = []
    for marker in request.markers:
        topics: list[WritableTxnMarkerTopicResult] = []
        response.markers.append(WritableTxnMarkerResult(marker.producer_id, topics))
        for topic in marker.topics:
            results = [WritableTxnMarkerPartitionResult(index) for index in topic.partition_indexes]
            topics.append(WritableTxnMarkerTopicResult(topic.name, results))
            asked.extend(AskedMarker(marker, topic.name, result) for result in results)
    return response, asked

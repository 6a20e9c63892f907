"""WriteTxnMarkers: append the markers that end transactions, one control batch for each partition.

The transaction coordinator sends it when the outcome of a transaction is decided. The response follows when all markers
are durable, or have failed. A marker is written even if the transaction put nothing into the partition.
Internal topics are not written here: their owner ends the transactions in them.
Source: Kafka's KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.transactional_batches import check_marker
from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.produce import Producing


class _PendingMarkers:
    __slots__ = ("response", "ticket", "waiting")

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.response = WriteTxnMarkersResponse()
        self.waiting = 0


class _MarkerWaiter:
    """The result of one partition, which waits for its marker."""

    __slots__ = ("request", "result")

    def __init__(self, request: _PendingMarkers, result: WritableTxnMarkerPartitionResult) -> None:
        self.request = request
        self.result = result

    def durable(self, partition: Partition, out: Outbox) -> None:
        self._settle(out)

    def failed(self, error: ErrorCode, out: Outbox) -> None:
        self.result.error_code = error
        self._settle(out)

    def _settle(self, out: Outbox) -> None:
        request = self.request
        request.waiting -= 1
        if not request.waiting:
            out.reply(request.ticket, request.response)


class TxnMarkers:
    """Writes the markers of all partitions."""

    def __init__(self, catalogue: Catalogue, producing: Producing) -> None:
        self._catalogue = catalogue
        self._producing = producing

    def write_txn_markers(self, request: WriteTxnMarkersRequest, ticket: Ticket, out: Outbox, *, wall_ms: int) -> None:
        """Handle one request; `wall_ms` is the timestamp of its markers."""
        pending = _PendingMarkers(ticket)
        for marker in request.markers:
            topics: list[WritableTxnMarkerTopicResult] = []
            pending.response.markers.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
            for asked in marker.topics:
                results: list[WritableTxnMarkerPartitionResult] = []
                topics.append(WritableTxnMarkerTopicResult(name=asked.name, partitions=results))
                for index in asked.partition_indexes:
                    result = WritableTxnMarkerPartitionResult(partition_index=index)
                    results.append(result)
                    partition, error = self._usable(asked.name, index)
                    if partition is not None:
                        error = check_marker(partition, marker)
                    if partition is not None and error is ErrorCode.NONE:
                        pending.waiting += 1
                        self._producing.write_marker(partition, marker, wall_ms, _MarkerWaiter(pending, result), out)
                    result.error_code = error
        if not pending.waiting:
            out.reply(ticket, pending.response)

    def _usable(self, topic: str, index: int) -> tuple[Partition | None, ErrorCode]:
        partition = self._catalogue.partition(topic, index)
        if partition is None:
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.topic.is_internal:
            return None, ErrorCode.INVALID_TOPIC_EXCEPTION
        if not partition.is_local:
            return None, ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.is_offline:
            return None, ErrorCode.KAFKA_STORAGE_ERROR
        return partition, ErrorCode.NONE

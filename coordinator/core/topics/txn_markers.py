"""WriteTxnMarkers: append the markers that end transactions, one control batch for each partition.

The transaction coordinator sends it when the outcome of a transaction is decided. The response follows when all markers
are durable, or have failed. A marker is written even if the transaction put nothing into the partition.
Internal topics are not written here: their owner ends the transactions in them.
Source: Kafka's KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.pending_markers import PendingMarkers
from coordinator.core.topics.transactional_batches import check_marker
from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import WritableTxnMarkerPartitionResult, WriteTxnMarkersRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.produce import Producing


class _MarkerWaiter:
    """The result of one partition, which waits for its marker."""

    __slots__ = ("request", "result")

    def __init__(self, request: PendingMarkers, result: WritableTxnMarkerPartitionResult) -> None:
        self.request = request
        self.result = result

    def durable(self, partition: Partition, out: Outbox) -> None:
        self.request.settle(self.result, ErrorCode.NONE, out)

    def failed(self, error: ErrorCode, out: Outbox) -> None:
        self.request.settle(self.result, error, out)


class TxnMarkers:
    """Writes the markers of all partitions."""

    def __init__(self, catalogue: Catalogue, producing: Producing) -> None:
        self._catalogue = catalogue
        self._producing = producing

    def write_txn_markers(self, request: WriteTxnMarkersRequest, ticket: Ticket, out: Outbox, *, wall_ms: int) -> None:
        """Handle one request; `wall_ms` is the timestamp of its markers."""
        pending = PendingMarkers(request, ticket)
        for marker, topic, result in pending.asked:
            partition, error = self._usable(topic, result.partition_index)
            if partition is not None:
                error = check_marker(partition, marker)
            if partition is None or error is not ErrorCode.NONE:
                result.error_code = int(error)
                continue
            pending.wait()
            self._producing.write_marker(partition, marker, wall_ms, _MarkerWaiter(pending, result), out)
        pending.all_asked(out)

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

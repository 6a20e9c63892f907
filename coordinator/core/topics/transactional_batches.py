"""Transactional batches of a partition: data of transactions, and the markers that end them.

A marker is a control batch of one record, which commits or aborts the transaction of its producer in this partition.
`record_transactional` notes such a batch in the state of producers and of transactions: when it is accepted, and when
it is read again at start.
Source: Kafka's ProducerAppendInfo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.partition_transactions import PartitionTransactions
from coordinator.core.topics.sequences import ANY_SEQUENCE
from protocol.error_codes import ErrorCode
from protocol.record_batch import ControlType, build_control_batch, control_type, coordinator_epoch, read_records

if TYPE_CHECKING:
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.partition_transactions import TransactionUndo
    from coordinator.core.topics.sequences import MarkerUndo, Undo
    from protocol.messages.write_txn_markers import WritableTxnMarker
    from protocol.record_batch import BatchHeader

BUMPS_EPOCH: Final = 2  # transaction version from which a marker has a higher epoch than the data


def check_marker(partition: Partition, marker: WritableTxnMarker) -> ErrorCode:
    """Return an error if a newer producer or transaction coordinator has taken over."""
    transactions = partition.transactions
    ongoing = None if transactions is None else transactions.ongoing.get(marker.producer_id)
    if ongoing is not None:
        least = ongoing.epoch + 1 if marker.transaction_version >= BUMPS_EPOCH else ongoing.epoch
        if marker.producer_epoch < least:
            return ErrorCode.INVALID_PRODUCER_EPOCH
    return partition.sequences.check_marker(marker.producer_id, marker.producer_epoch, marker.coordinator_epoch)


def marker_batch(marker: WritableTxnMarker, wall_ms: int) -> bytes:
    """Return the control batch of a marker, without its offset."""
    return bytes(
        build_control_batch(
            ControlType.COMMIT if marker.transaction_result else ControlType.ABORT,
            timestamp_ms=wall_ms,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
        )
    )


def record_transactional(
    partition: Partition, header: BatchHeader, batch: bytes, base_offset: int, now_ms: int
) -> tuple[Undo | MarkerUndo | None, TransactionUndo | None]:
    """Record a transactional batch that gets these offsets. Return what is needed to take it back."""
    producer_id, epoch = header.producer_id, header.producer_epoch
    transactions = partition.transactions
    if not header.is_control:
        if transactions is None:
            transactions = partition.transactions = PartitionTransactions()
        undo = partition.sequences.record(header, base_offset, now_ms) if header.base_sequence >= 0 else None
        return undo, transactions.appended(producer_id, epoch, base_offset)
    records = read_records(batch, 0, header)
    kind = control_type(records[0]) if records else ControlType.UNKNOWN
    if kind is ControlType.UNKNOWN:
        return None, None
    ongoing = None if transactions is None else transactions.ongoing.get(producer_id)
    # A producer that was dropped during its transaction may continue with any number, unless the epoch is new.
    due = ANY_SEQUENCE if ongoing is not None and ongoing.epoch == epoch else 0
    marker_undo = partition.sequences.record_marker(
        producer_id, epoch, coordinator_epoch(records[0]), header.max_timestamp, now_ms, due=due
    )
    if transactions is None:
        return marker_undo, None
    return marker_undo, transactions.completed(producer_id, base_offset, is_aborted=kind is ControlType.ABORT)


def replay_batch(partition: Partition, header: BatchHeader, batch: bytes, now_ms: int) -> None:
    """Record a batch that was read from the log at start."""
    if header.is_transactional and header.producer_id >= 0:
        record_transactional(partition, header, batch, header.base_offset, now_ms)
    else:
        partition.sequences.replay(header, now_ms)

"""InitProducerId: which producer id and epoch a starting producer gets.

A producer that names the id and epoch that it has wants the next epoch, and may repeat the request. One that names none
is a new instance, which fences the former one. Source: `prepareInitProducerIdTransit` of Kafka's
`TransactionCoordinator`, `prepareIncrementProducerEpoch` and `prepareProducerIdRotation` of its `TransactionMetadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.transactions.metadata import EXHAUSTED_FROM, NO_EPOCH, NO_PRODUCER_ID, NO_TIME
from coordinator.core.transactions.states import TransactionState
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.transactions.metadata import TransactionMetadata


def is_plausible(metadata: TransactionMetadata, producer_id: int, producer_epoch: int) -> bool:
    """Return whether a producer with this id and epoch may be the one that is known, or the one before its rotation."""
    if metadata.producer_epoch == NO_EPOCH or producer_id in (NO_PRODUCER_ID, metadata.producer_id):
        return True
    return producer_id == metadata.previous_producer_id and producer_epoch >= EXHAUSTED_FROM


def needs_new_id(metadata: TransactionMetadata, producer_epoch: int) -> bool:
    """Return whether the next producer gets another id. `producer_epoch` is the one that it names, or -1."""
    return metadata.is_exhausted and producer_epoch in (NO_EPOCH, metadata.producer_epoch)


def next_producer(
    metadata: TransactionMetadata, producer_epoch: int, *, timeout_ms: int, wall_ms: int, new_id: int
) -> TransactionMetadata | ErrorCode:
    """Return the state after InitProducerId of an id without an open transaction, or the error that refuses it.

    `new_id` is a producer id that was never used, if `needs_new_id`.
    """
    known = metadata.producer_epoch
    is_named = producer_epoch != NO_EPOCH
    producer_id, previous = metadata.producer_id, metadata.previous_producer_id
    if needs_new_id(metadata, producer_epoch):
        producer_id, previous, epoch = new_id, metadata.producer_id, 0
        last = known if is_named else NO_EPOCH
    elif not is_named:
        epoch, last = known + 1, NO_EPOCH
    elif known == NO_EPOCH or producer_epoch == known:
        epoch, last = known + 1, known
    elif producer_epoch == metadata.last_producer_epoch:
        epoch, last = known, metadata.last_producer_epoch  # the answer was lost
    else:
        return ErrorCode.PRODUCER_FENCED
    return metadata._replace(
        producer_id=producer_id,
        previous_producer_id=previous,
        producer_epoch=epoch,
        last_producer_epoch=last,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        start_ms=NO_TIME,
        update_ms=wall_ms,
        has_failed_fence=False,
    )

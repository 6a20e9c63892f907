"""The state of a transactional id: an immutable value, one for each record of its log.

A change makes a new value. The coordinator keeps the newest one, on which it decides, and the newest durable one; if an
append fails, the value before it is in force again. Source: Kafka's `TransactionMetadata`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from coordinator.core.transactions.states import TransactionState

TopicPartition: TypeAlias = tuple[str, int]

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
LAST_EPOCH: Final = 32_767
EXHAUSTED_FROM: Final = LAST_EPOCH - 1  # the last epoch itself is kept for fencing
EPOCH_BUMPS: Final = 2  # clients of this transaction version (KIP-890) get a new epoch with each transaction


class TransactionMetadata(NamedTuple):
    """The state of a transactional id. Times are wall-clock ms since the epoch; -1: none."""

    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_producer_epoch: int = NO_EPOCH  # before the last raise that a client asked for; recognises its repetition
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID  # takes over when the transaction is complete: the epochs are exhausted
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    client_version: int = 0
    has_failed_fence: bool = False  # a raised epoch was not written: no producer has it, and it is not raised again

    @property
    def is_exhausted(self) -> bool:
        """True if the next producer needs a new id, because there is no epoch left for it."""
        return self.producer_epoch >= EXHAUSTED_FROM

    def added(self, partitions: frozenset[TopicPartition], wall_ms: int, client_version: int) -> TransactionMetadata:
        """Return the transaction with more partitions; the first ones begin it."""
        is_ongoing = self.state is TransactionState.ONGOING
        return self._replace(
            state=TransactionState.ONGOING,
            partitions=self.partitions | partitions if is_ongoing else partitions,
            start_ms=self.start_ms if is_ongoing else wall_ms,
            update_ms=wall_ms,
            client_version=client_version,
        )

    def ended(self, *, commit: bool, wall_ms: int, client_version: int, next_producer_id: int) -> TransactionMetadata:
        """Return the decided transaction. A client with new epochs gets one, and the markers carry it."""
        is_raised = client_version >= EPOCH_BUMPS
        return self._replace(
            state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else wall_ms,
            partitions=self.partitions if self.state is TransactionState.ONGOING else frozenset(),
            update_ms=wall_ms,
            client_version=client_version,
            next_producer_id=next_producer_id,
            producer_epoch=self.producer_epoch + is_raised,
            last_producer_epoch=self.producer_epoch if is_raised else self.last_producer_epoch,
        )

    def fenced(self, wall_ms: int, next_producer_id: int) -> TransactionMetadata:
        """Return the transaction that is aborted because a newer producer starts, or because it took too long.

        Its producer may ask for the next epoch with the one that it has. The client version is the one that new
        epochs belong to, whatever the client was, as in Kafka.
        """
        return self._replace(
            state=TransactionState.PREPARE_ABORT,
            producer_epoch=self.producer_epoch + (not self.has_failed_fence),
            last_producer_epoch=self.producer_epoch - self.has_failed_fence,
            next_producer_id=next_producer_id,
            update_ms=wall_ms,
            client_version=EPOCH_BUMPS,
            has_failed_fence=False,
        )

    def completed(self, wall_ms: int) -> TransactionMetadata:
        """Return the id after all markers of its decided transaction were written."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        is_rotated = self.next_producer_id != NO_PRODUCER_ID
        producer_id, producer_epoch = self.next_identity
        return self._replace(
            state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            partitions=frozenset(),
            update_ms=wall_ms,
            producer_id=producer_id,
            previous_producer_id=self.producer_id if is_rotated else self.previous_producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=producer_epoch,
        )

    @property
    def next_identity(self) -> tuple[int, int]:
        """Producer id and epoch for the transaction after this one."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

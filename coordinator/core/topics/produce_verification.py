"""Verification of a Produce request with transactional batches, before any of its batches is appended.

A batch without an open transaction in its partition needs the word of the transaction coordinator: that the partition
is in the producer's transaction, or is added to it now (transaction version 2). Meanwhile the whole request is parked.
So no batch can be appended behind the marker that ends its transaction, where it would hold the last stable offset
for ever; for the same reason a marker that comes meanwhile takes the word back.
Source: Kafka's ReplicaManager.handleProduceAppend and AddPartitionsToTxnManager (KIP-890).
"""

from __future__ import annotations

from enum import Enum
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.effects import VerifyTransaction
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.record_batch import HEADER_BYTES, MAGIC, TRANSACTIONAL

if TYPE_CHECKING:
    from coordinator.core.topics.partition import Partition
    from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
    from protocol.messages.produce import ProduceRequest
    from protocol.record_batch import BatchHeader

_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22  # the lower byte
_PRODUCER: Final = Struct(">43xqh").unpack_from  # producer id and epoch of a batch


class TransactionSupportedOperation(Enum):
    """Transactions as the client of a Produce request knows them, by its version."""

    DEFAULT_ERROR = "INVALID_TXN_STATE for a partition that is not in the transaction"
    GENERIC_ERROR = "TRANSACTION_ABORTABLE for it"
    ADD_PARTITION = "the partition is added to the transaction"


# Errors of the transaction coordinator as producers expect them. Clients retry NOT_ENOUGH_REPLICAS without a refresh of
# their metadata.
_OF_ALL: Final = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ErrorCode.INVALID_TXN_STATE,
}
_ERRORS: Final = {
    TransactionSupportedOperation.DEFAULT_ERROR: _OF_ALL
    | {
        ErrorCode.TRANSACTION_ABORTABLE: ErrorCode.INVALID_TXN_STATE,
        ErrorCode.CONCURRENT_TRANSACTIONS: ErrorCode.NOT_ENOUGH_REPLICAS,
    },
    TransactionSupportedOperation.GENERIC_ERROR: _OF_ALL
    | {
        ErrorCode.INVALID_TXN_STATE: ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.CONCURRENT_TRANSACTIONS: ErrorCode.NOT_ENOUGH_REPLICAS,
    },
    TransactionSupportedOperation.ADD_PARTITION: _OF_ALL,
}


class CheckedBatch:
    """A batch of a parked request. `is_asked`: the transaction coordinator decides on it."""

    __slots__ = ("header", "is_asked", "partition", "records", "size", "waiter")

    def __init__(self, partition: Partition, header: BatchHeader, records: bytes, size: int, waiter: Any) -> None:
        self.partition = partition
        self.header = header
        self.records = records
        self.size = size
        self.waiter = waiter
        self.is_asked = header.is_transactional and not self.is_in_transaction

    @property
    def is_in_transaction(self) -> bool:
        """True if the transaction of the batch is open in the partition."""
        return self.partition.is_in_transaction(self.header.producer_id, self.header.producer_epoch)

    @property
    def skips_sequences(self) -> bool:
        """True if nothing is known of its producer in the partition, and its sequence is not 0."""
        return self.header.base_sequence != 0 and self.header.producer_id not in self.partition.sequences

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.partition.topic.name, self.partition.index


class ParkedProduce:
    """One request with transactional batches, of one producer."""

    __slots__ = ("batches", "operation", "producer", "refused", "request")

    def __init__(self, request: Any, producer: tuple[int, int], operation: TransactionSupportedOperation) -> None:
        self.request = request  # the pending request, whose response has a place for each batch
        self.producer = producer  # id and epoch
        self.operation = operation
        self.batches: list[CheckedBatch] = []
        self.refused = ErrorCode.NONE  # the error of a batch that is not parked

    def verification(self, transactional_id: str) -> VerifyTransaction | None:
        """Return the question to the transaction coordinator; None if each batch is in an open transaction."""
        asked: dict[str, dict[int, None]] = {}
        for batch in self.batches:
            if batch.is_asked:
                topic, partition = batch.key
                asked.setdefault(topic, {})[partition] = None
        if not asked:
            return None
        producer_id, epoch = self.producer
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            verify_only=self.operation is not TransactionSupportedOperation.ADD_PARTITION,
            topics=[AddPartitionsToTxnTopic(name=name, partitions=list(indexes)) for name, indexes in asked.items()],
        )
        return VerifyTransaction(AddPartitionsToTxnRequest(transactions=[transaction]), self.request.ticket, self)

    def marker_written(self, partition: Partition, epoch: int) -> None:
        """Forget that the transaction coordinator was asked: the transaction has ended."""
        for batch in self.batches:
            if batch.partition is partition and batch.header.producer_epoch == epoch:
                batch.is_asked = False

    def check(self, batch: CheckedBatch, errors: dict[tuple[str, int], int]) -> tuple[ErrorCode, str | None]:
        """Return the error of a batch and its reason, after the transaction coordinator has answered."""
        if batch.partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if batch.partition.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, "the log of this partition cannot be written at the moment"
        if not batch.header.is_transactional:
            return ErrorCode.NONE, None
        if batch.is_asked:
            error = self._error_of(ErrorCode(errors.get(batch.key, ErrorCode.COORDINATOR_NOT_AVAILABLE)))
            if error[0] is ErrorCode.NONE and self._must_begin_with_0 and batch.skips_sequences:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "a producer begins in a partition with sequence 0"
            return error
        if not batch.is_in_transaction:
            return ErrorCode.INVALID_TXN_STATE, "the transaction has ended in this partition"
        return ErrorCode.NONE, None

    @property
    def _must_begin_with_0(self) -> bool:
        """True for clients that get a new epoch with each transaction, and begin each with sequence 0."""
        return self.operation is TransactionSupportedOperation.ADD_PARTITION

    def _error_of(self, found: ErrorCode) -> tuple[ErrorCode, str | None]:
        error = _ERRORS[self.operation].get(found, found)
        if error is ErrorCode.NOT_ENOUGH_REPLICAS:
            return error, f"it is not known yet whether the partition is in the transaction: {found.name}"
        if error in (ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE):
            return error, "the partition was not added to the transaction"
        return error, None


def transactional_producers(request: ProduceRequest) -> set[tuple[int, int]]:
    """Return id and epoch of each producer that sent a transactional batch in this request."""
    found: set[tuple[int, int]] = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if (
                records
                and len(records) >= HEADER_BYTES
                and records[_ATTRIBUTES_AT] & TRANSACTIONAL
                and records[_MAGIC_AT] == MAGIC
            ):
                found.add(_PRODUCER(records))
    return found


def errors_of(request: AddPartitionsToTxnRequest, response: AddPartitionsToTxnResponse) -> dict[tuple[str, int], int]:
    """Return the error code of each partition that was asked about, as far as the response has it."""
    if response.error_code != ErrorCode.NONE:
        return {
            (topic.name, index): response.error_code
            for transaction in request.transactions
            for topic in transaction.topics
            for index in topic.partitions
        }
    return {
        (topic.name, result.partition_index): result.partition_error_code
        for transaction in response.results_by_transaction
        for topic in transaction.topic_results
        for result in topic.results_by_partition
    }

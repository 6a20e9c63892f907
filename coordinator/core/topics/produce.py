"""Produce: checks a batch, assigns its offsets, and responds when it is durable.

The checks are Kafka's, in its order: the partition exists and this node leads it; exactly one batch of magic 2 (zstd
only for clients that support it); the acks; internal topics; offsets, size, checksum and counts of the batch; its
transaction; then the producer's sequence. A repeated batch gets the offset of the first, once that one is durable. A
request with transactional batches may wait between the two: see `produce_verification`.
Source: Kafka's ReplicaManager.appendRecords, UnifiedLog.append and ProducerStateManager.

With one replica acks=1 and acks=-1 give the same guarantee: the topic's flush policy. acks=0 has no response; if such a
batch is refused or lost the connection is closed, which is the only thing such a client notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.produce_verification import (
    CheckedBatch,
    ParkedProduce,
    TransactionSupportedOperation,
    errors_of,
    transactional_producers,
)
from coordinator.core.topics.sequences import NO_TIMESTAMP
from coordinator.core.topics.transactional_batches import BUMPS_EPOCH, marker_batch
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError
from protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.record_batch import BatchHeader, read_header, verify, with_append_time

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox, VerifyTransaction
    from coordinator.core.topics.partition import AppendWaiter, Partition, PendingBatch
    from coordinator.core.topics.settings import TopicSettings
    from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
    from protocol.messages.write_txn_markers import WritableTxnMarker

UNKNOWN_OFFSET: Final = -1
BATCH_OVERHEAD: Final = 61
_LENGTH_END: Final = 12  # base offset and batch length
_MAGIC_AT: Final = 16
_LEGACY_MINIMUM: Final = 14  # the least length of a message of any magic
_ZSTD: Final = 4
_QUEUE_FULL: Final = "too much waits to be written to disk; try again"
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()  # shared: it is never changed and never encoded


class PendingProduce:
    """One request in progress. Its response is sent when the last of its partitions is settled."""

    __slots__ = ("is_silent", "response", "ticket", "waiting")

    def __init__(self, ticket: Ticket, *, is_silent: bool) -> None:
        self.ticket = ticket
        self.response = ProduceResponse()
        self.is_silent = is_silent  # acks=0
        self.waiting = 0


class _Waiter:
    """The result of one partition, which waits for one batch."""

    __slots__ = ("request", "response")

    def __init__(self, request: PendingProduce, response: PartitionProduceResponse) -> None:
        self.request = request
        self.response = response

    def durable(self, partition: Partition, out: Outbox) -> None:
        self.response.log_start_offset = partition.log_start_offset
        request = self.request
        request.waiting -= 1
        if not request.waiting and not request.is_silent:
            out.reply(request.ticket, request.response)

    def failed(self, error: ErrorCode, out: Outbox) -> None:
        request, response = self.request, self.response
        response.error_code = error
        response.error_message = "the batch could not be written" if error.retriable else None
        response.base_offset = UNKNOWN_OFFSET
        request.waiting -= 1
        if request.is_silent:
            out.disconnect(request.ticket, f"a batch sent with acks=0 was lost: {error.name}")
        elif not request.waiting:
            out.reply(request.ticket, request.response)


class Producing:
    """The write path of all partitions."""

    def __init__(self, config: Config, catalogue: Catalogue) -> None:
        self._config = config
        self._catalogue = catalogue
        self.serves_transactions = False
        self.wall_offset_ms = 0  # the time of day is this plus the time of an event
        self._parked: dict[int, list[ParkedProduce]] = {}  # by producer id
        self.in_flight_bytes = 0  # of parked requests, too
        self.batches = 0  # accepted since the start
        self.bytes = 0

    def produce(
        self,
        request: ProduceRequest,
        ticket: Ticket,
        out: Outbox,
        *,
        by_id: bool,
        zstd_allowed: bool,
        is_internal_allowed: bool = False,
        operation: TransactionSupportedOperation = TransactionSupportedOperation.DEFAULT_ERROR,
    ) -> None:
        """Handle one request; `by_id`: topics are named by their ids."""
        pending = PendingProduce(ticket, is_silent=request.acks == 0)
        parked: ParkedProduce | None = None
        if self.serves_transactions and (producers := transactional_producers(request)):
            error = _check_producers(request, producers)
            if error is not ErrorCode.NONE:
                _refuse(request, pending, error, out)
                return
            parked = ParkedProduce(pending, producers.pop(), operation)
        topics = pending.response.responses
        refused = ErrorCode.NONE
        for topic_data in request.topic_data:
            name: str | None = topic_data.name
            if by_id:
                topic = self._catalogue.by_id(topic_data.topic_id)
                name = None if topic is None else topic.name
            results: list[PartitionProduceResponse] = []
            topics.append(TopicProduceResponse(topic_data.name, topic_data.topic_id, results))
            for data in topic_data.partition_data:
                result = PartitionProduceResponse(
                    index=data.index, base_offset=UNKNOWN_OFFSET, current_leader=_NO_LEADER_HINT
                )
                results.append(result)
                if name is None:
                    error, reason = ErrorCode.UNKNOWN_TOPIC_ID, None
                else:
                    partition = self._catalogue.partition(name, data.index)
                    error, reason = self._take(
                        request,
                        data,
                        partition,
                        _Waiter(pending, result),
                        out,
                        zstd_allowed,
                        is_internal_allowed,
                        parked,
                    )
                if error is not ErrorCode.NONE:
                    result.error_code = error
                    result.error_message = reason
                    refused = error
        if parked is None:
            _finish(pending, refused, out)
            return
        parked.refused = refused
        verification = parked.verification(request.transactional_id or "")
        if verification is None:
            self._go_on(parked, {}, out)
        else:
            self._parked.setdefault(parked.producer[0], []).append(parked)
            out.verify(verification)

    def _take(
        self,
        request: ProduceRequest,
        data: PartitionProduceData,
        partition: Partition | None,
        waiter: _Waiter,
        out: Outbox,
        zstd_allowed: bool,
        is_internal_allowed: bool,
        parked: ParkedProduce | None,
    ) -> tuple[ErrorCode, str | None]:
        """Check the batch of one partition and append it, or park it. Return an error and its reason."""
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if not partition.is_local:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
        records = data.records or b""
        error, reason, size = _check_form(records, zstd_allowed)
        if error is not ErrorCode.NONE:
            return error, reason
        if request.acks not in (-1, 0, 1):
            return ErrorCode.INVALID_REQUIRED_ACKS, f"acks must be -1, 0 or 1, not {request.acks}"
        topic = partition.topic
        if topic.is_internal and not is_internal_allowed:
            return ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} can be read, but not written to"
        try:
            header = read_header(records)
            if not self.serves_transactions and (request.transactional_id is not None or header.is_transactional):
                return ErrorCode.INVALID_TXN_STATE, "this server takes no part in transactions"
            error, reason = _check_batch(header, size, topic.settings.max_message_bytes)
            if error is not ErrorCode.NONE:
                return error, reason
            verify(records, 0, header)
        except DecodeError as failure:
            return ErrorCode.CORRUPT_MESSAGE, str(failure)
        error, reason = _check_records(header, topic.settings)
        if error is not ErrorCode.NONE:
            waiter.response.log_start_offset = partition.log_start_offset
            return error, reason
        if partition.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, "the log of this partition cannot be written at the moment"
        if len(records) != size:
            records = records[:size]
        if parked is None:
            return self._append(partition, header, records, size, waiter, out)
        if header.is_transactional and header.producer_id < 0:
            return ErrorCode.INVALID_RECORD, "a transactional batch needs a producer id"
        if self.in_flight_bytes and self.in_flight_bytes + size > self._config.log_max_queued_bytes:
            return ErrorCode.KAFKA_STORAGE_ERROR, _QUEUE_FULL
        parked.batches.append(CheckedBatch(partition, header, records, size, waiter))
        self.in_flight_bytes += size
        return ErrorCode.NONE, None

    def _append(
        self, partition: Partition, header: BatchHeader, records: bytes, size: int, waiter: _Waiter, out: Outbox
    ) -> tuple[ErrorCode, str | None]:
        """Accept a checked batch, or return an error and its reason."""
        if header.producer_id >= 0:
            verdict = partition.sequences.check(header)
            if verdict.error is not ErrorCode.NONE:
                waiter.response.log_start_offset = partition.log_start_offset
                return verdict.error, verdict.reason
            if verdict.duplicate_of is not None:
                _wait_for_first(partition, verdict.duplicate_of.base_offset, waiter)
                waiter.response.log_append_time_ms = _time_of_first(partition, verdict.duplicate_of.base_offset, header)
                return ErrorCode.NONE, None
            if (
                partition.transactions is not None
                and header.producer_id in partition.transactions.ongoing
                and not header.is_transactional
            ):
                waiter.response.log_start_offset = partition.log_start_offset
                return ErrorCode.INVALID_TXN_STATE, "the producer has an open transaction in this partition"
        if self.in_flight_bytes and self.in_flight_bytes + size > self._config.log_max_queued_bytes:
            return ErrorCode.KAFKA_STORAGE_ERROR, _QUEUE_FULL
        if partition.topic.settings.has_append_time:
            header, records = with_append_time(records, header, out.now_ms + self.wall_offset_ms)
            waiter.response.log_append_time_ms = header.max_timestamp
        append, pending = partition.accept(header, records, out.now_ms)
        self.in_flight_bytes += size
        self.batches += 1
        self.bytes += size
        waiter.response.base_offset = pending.base_offset
        pending.waiters.append(waiter)
        waiter.request.waiting += 1
        out.append(append)
        return ErrorCode.NONE, None

    # -- transactions --------------------------------------------------------------------------------------------

    def transaction_verified(
        self, verification: VerifyTransaction, response: AddPartitionsToTxnResponse, out: Outbox
    ) -> None:
        """Go on with a parked request: append its batches in their order, except those with an error."""
        parked: ParkedProduce = verification.then
        producer_id = parked.producer[0]
        self._parked[producer_id].remove(parked)
        if not self._parked[producer_id]:
            del self._parked[producer_id]
        self._go_on(parked, errors_of(verification.request, response), out)

    def _go_on(self, parked: ParkedProduce, errors: dict[tuple[str, int], int], out: Outbox) -> None:
        for batch in parked.batches:
            self.in_flight_bytes -= batch.size
        for batch in parked.batches:
            error, reason = parked.check(batch, errors)
            if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                batch.waiter.response.log_start_offset = batch.partition.log_start_offset
            if error is ErrorCode.NONE:
                error, reason = self._append(
                    batch.partition, batch.header, batch.records, batch.size, batch.waiter, out
                )
            if error is not ErrorCode.NONE:
                batch.waiter.response.error_code = error
                batch.waiter.response.error_message = reason
                parked.refused = error
        _finish(parked.request, parked.refused, out)

    def write_marker(
        self, partition: Partition, marker: WritableTxnMarker, wall_ms: int, waiter: AppendWaiter, out: Outbox
    ) -> None:
        """Append a checked marker. `waiter` learns of its outcome."""
        batch = marker_batch(marker, wall_ms)
        header = read_header(batch)
        if partition.topic.settings.has_append_time:
            header, batch = with_append_time(batch, header, wall_ms)
        append, pending = partition.accept(header, batch, out.now_ms)
        self.in_flight_bytes += len(batch)
        self.bytes += len(batch)
        pending.waiters.append(waiter)
        out.append(append)
        if marker.transaction_version < BUMPS_EPOCH:  # else the epoch tells batches of the ended transaction apart
            for parked in self._parked.get(marker.producer_id, ()):
                parked.marker_written(partition, marker.producer_epoch)

    # -- outcomes ------------------------------------------------------------------------------------------------

    def appended(self, partition: Partition, high_watermark: int, out: Outbox) -> None:
        """Settle the batches of `partition` below `high_watermark`: they are durable by its flush policy."""
        for pending in partition.durable_up_to(high_watermark):
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.durable(partition, out)

    def append_failed(self, partition: Partition, from_offset: int, error: ErrorCode, out: Outbox) -> None:
        """Fail the batches of `partition` from `from_offset` on: they were not written."""
        self._fail(partition.failed_from(from_offset), error, out)

    def _fail(self, batches: list[PendingBatch], error: ErrorCode, out: Outbox) -> None:
        for pending in batches:
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.failed(error, out)

    def deleted(self, partition: Partition, out: Outbox) -> None:
        """Fail all batches of a deleted partition."""
        self._fail(partition.failed_from(0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, out)


def _finish(pending: PendingProduce, refused: ErrorCode, out: Outbox) -> None:
    """Respond, unless a batch waits for its outcome. `refused` is the error of a batch that was not accepted."""
    if pending.is_silent:
        if refused is not ErrorCode.NONE:
            out.disconnect(pending.ticket, f"a batch sent with acks=0 was refused: {refused.name}")
        out.reply(pending.ticket, None)
    elif not pending.waiting:
        out.reply(pending.ticket, pending.response)


def _check_producers(request: ProduceRequest, producers: set[tuple[int, int]]) -> ErrorCode:
    """Check the request with regard to the producers of its transactional batches."""
    if request.transactional_id is None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE if len(producers) == 1 else ErrorCode.INVALID_PRODUCER_ID_MAPPING


def _refuse(request: ProduceRequest, pending: PendingProduce, error: ErrorCode, out: Outbox) -> None:
    """Refuse all batches of a request."""
    for topic in request.topic_data:
        results = [
            PartitionProduceResponse(
                index=data.index, error_code=error, base_offset=UNKNOWN_OFFSET, current_leader=_NO_LEADER_HINT
            )
            for data in topic.partition_data
        ]
        pending.response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, results))
    _finish(pending, error, out)


def _wait_for_first(partition: Partition, base_offset: int, waiter: _Waiter) -> None:
    """Return the offset of a repeated batch. If the first is in flight, wait for the same append."""
    waiter.response.base_offset = base_offset
    pending = partition.pending_at(base_offset)
    if pending is None:
        waiter.response.log_start_offset = partition.log_start_offset
    else:
        pending.waiters.append(waiter)
        waiter.request.waiting += 1


def _time_of_first(partition: Partition, base_offset: int, repeated: BatchHeader) -> int:
    """Return the timestamp that Kafka gives the producer of a repeated batch: that of the first one; -1 if unknown."""
    if not partition.topic.settings.has_append_time:
        return repeated.max_timestamp
    first_ms = partition.cached_time_of(base_offset)
    return -1 if first_ms is None else first_ms


def _batch_size(data: bytes, position: int) -> int:
    """Return the size of the batch at `position`; 0 if it is incomplete, -1 if the bytes cannot be a batch."""
    left = len(data) - position
    if left < _LENGTH_END:
        return 0
    length = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
    if length < _LEGACY_MINIMUM:
        return -1
    if left <= _MAGIC_AT:
        return 0
    if data[position + _MAGIC_AT] > 2:
        return -1
    return _LENGTH_END + length if left >= _LENGTH_END + length else 0


def _check_form(records: bytes, zstd_allowed: bool) -> tuple[ErrorCode, str | None, int]:
    """Check for exactly one batch of magic 2, and return its size. Bytes after it that are no batch are dropped."""
    size = _batch_size(records, 0)
    if size <= 0:
        if size < 0:
            return ErrorCode.CORRUPT_MESSAGE, "the records are not a record batch", 0
        return ErrorCode.INVALID_RECORD, "there must be exactly one record batch for each partition", 0
    if records[_MAGIC_AT] != 2:
        return ErrorCode.INVALID_RECORD, f"record batches must have magic 2, not {records[_MAGIC_AT]}", 0
    if size < BATCH_OVERHEAD:
        return ErrorCode.CORRUPT_MESSAGE, f"a record batch of {size} bytes is shorter than its header", 0
    if not zstd_allowed and records[22] & 7 == _ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs version 7 of Produce", 0
    if len(records) != size:
        second = _batch_size(records, size)
        if second < 0:
            return ErrorCode.CORRUPT_MESSAGE, "what follows the record batch is not one", 0
        if second:
            return ErrorCode.INVALID_RECORD, "there must be exactly one record batch for each partition", 0
    return ErrorCode.NONE, None, size


def _check_batch(header: BatchHeader, size: int, max_bytes: int) -> tuple[ErrorCode, str | None]:
    """Check the header before the checksum."""
    if header.base_offset != 0:
        return ErrorCode.INVALID_RECORD, f"the base offset of a new batch must be 0, not {header.base_offset}"
    if size > max_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE, f"the batch is {size} bytes long, the topic accepts {max_bytes}"
    if header.record_count < 0 or header.last_offset_delta < 0:
        return ErrorCode.INVALID_RECORD, f"a batch cannot hold {header.record_count} records"
    return ErrorCode.NONE, None


def _check_records(header: BatchHeader, settings: TopicSettings) -> tuple[ErrorCode, str | None]:
    """Check the header after the checksum."""
    count = header.record_count
    if count == 0 or count != header.last_offset_delta + 1:
        return (
            ErrorCode.INVALID_RECORD,
            f"a batch that says it has {count} records cannot end at offset delta {header.last_offset_delta}",
        )
    if header.is_control:
        return ErrorCode.INVALID_RECORD, "clients may not write control records"
    if header.producer_id >= 0 and header.base_sequence < 0:
        return ErrorCode.INVALID_RECORD, f"producer {header.producer_id} sent no sequence number"
    if header.codec > _ZSTD:
        return ErrorCode.INVALID_RECORD, f"there is no compression codec {header.codec}"
    if header.has_log_append_time and (settings.has_append_time or header.max_timestamp == NO_TIMESTAMP):
        return ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp"
    return ErrorCode.NONE, None

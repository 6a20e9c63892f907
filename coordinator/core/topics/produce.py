"""Produce: checks a batch, assigns its offsets, and responds when it is durable.

The checks are Kafka's, in its order: the partition exists and this node leads it; exactly one batch of magic 2 (zstd
only for clients that support it); the acks; internal topics; transactions, which are refused; offsets, size, checksum
and counts of the batch; then the producer's sequence. A repeated batch gets the offset of the first, once that one is
durable. Source: Kafka's ReplicaManager.appendRecords, UnifiedLog.append and ProducerStateManager.

With one replica acks=1 and acks=-1 give the same guarantee: the topic's flush policy. acks=0 has no response; if such a
batch is refused or lost the connection is closed, which is the only thing such a client notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
from protocol.record_batch import BatchHeader, read_header, verify

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.partition import Partition, PendingBatch

UNKNOWN_OFFSET: Final = -1
BATCH_OVERHEAD: Final = 61
_LENGTH_END: Final = 12  # base offset and batch length
_MAGIC_AT: Final = 16
_LEGACY_MINIMUM: Final = 14  # the least length of a message of any magic
_ZSTD: Final = 4
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


class Producing:
    """The write path of all partitions."""

    def __init__(self, config: Config, catalogue: Catalogue) -> None:
        self._config = config
        self._catalogue = catalogue
        self.in_flight_bytes = 0
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
    ) -> None:
        """Handle one request; `by_id`: topics are named by their ids."""
        pending = PendingProduce(ticket, is_silent=request.acks == 0)
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
                        request, data, partition, _Waiter(pending, result), out, zstd_allowed, is_internal_allowed
                    )
                if error is not ErrorCode.NONE:
                    result.error_code = error
                    result.error_message = reason
                    refused = error
        if pending.is_silent:
            if refused is not ErrorCode.NONE:
                out.disconnect(ticket, f"a batch sent with acks=0 was refused: {refused.name}")
            out.reply(ticket, None)
        elif not pending.waiting:
            out.reply(ticket, pending.response)

    def _take(
        self,
        request: ProduceRequest,
        data: PartitionProduceData,
        partition: Partition | None,
        waiter: _Waiter,
        out: Outbox,
        zstd_allowed: bool,
        is_internal_allowed: bool,
    ) -> tuple[ErrorCode, str | None]:
        """Accept the batch of one partition, or return an error and its reason."""
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
            if request.transactional_id is not None or header.is_transactional:
                return ErrorCode.INVALID_TXN_STATE, "this server takes no part in transactions"
            error, reason = _check_batch(header, size, topic.settings.max_message_bytes)
            if error is not ErrorCode.NONE:
                return error, reason
            verify(records, 0, header)
        except DecodeError as failure:
            return ErrorCode.CORRUPT_MESSAGE, str(failure)
        error, reason = _check_records(header)
        if error is not ErrorCode.NONE:
            return error, reason
        if partition.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, "the log of this partition cannot be written at the moment"
        if header.producer_id >= 0:
            verdict = partition.sequences.check(header)
            if verdict.error is not ErrorCode.NONE:
                return verdict.error, verdict.reason
            if verdict.duplicate_of is not None:
                _wait_for_first(partition, verdict.duplicate_of.base_offset, waiter)
                return ErrorCode.NONE, None
        if self.in_flight_bytes and self.in_flight_bytes + size > self._config.log_max_queued_bytes:
            return ErrorCode.KAFKA_STORAGE_ERROR, "too much waits to be written to disk; try again"
        append, pending = partition.accept(header, records if len(records) == size else records[:size], out.now_ms)
        self.in_flight_bytes += size
        self.batches += 1
        self.bytes += size
        waiter.response.base_offset = pending.base_offset
        pending.waiters.append(waiter)
        waiter.request.waiting += 1
        out.append(append)
        return ErrorCode.NONE, None

    def appended(self, partition: Partition, high_watermark: int, out: Outbox) -> None:
        """Settle the batches of `partition` below `high_watermark`: they are durable by its flush policy."""
        for pending in partition.durable_up_to(high_watermark):
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.response.log_start_offset = partition.log_start_offset
                _settle(waiter, out)

    def append_failed(self, partition: Partition, from_offset: int, error: ErrorCode, out: Outbox) -> None:
        """Fail the batches of `partition` from `from_offset` on: they were not written."""
        self._fail(partition.failed_from(from_offset), error, out)

    def _fail(self, batches: list[PendingBatch], error: ErrorCode, out: Outbox) -> None:
        for pending in batches:
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.response.error_code = error
                waiter.response.error_message = "the batch could not be written" if error.retriable else None
                waiter.response.base_offset = UNKNOWN_OFFSET
                if waiter.request.is_silent:
                    out.disconnect(waiter.request.ticket, f"a batch sent with acks=0 was lost: {error.name}")
                _settle(waiter, out)

    def deleted(self, partition: Partition, out: Outbox) -> None:
        """Fail all batches of a deleted partition."""
        self._fail(partition.failed_from(0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, out)


def _settle(waiter: _Waiter, out: Outbox) -> None:
    request = waiter.request
    request.waiting -= 1
    if not request.waiting and not request.is_silent:
        out.reply(request.ticket, request.response)


def _wait_for_first(partition: Partition, base_offset: int, waiter: _Waiter) -> None:
    """Return the offset of a repeated batch. If the first is in flight, wait for the same append."""
    waiter.response.base_offset = base_offset
    pending = partition.pending_at(base_offset)
    if pending is None:
        waiter.response.log_start_offset = partition.log_start_offset
    else:
        pending.waiters.append(waiter)
        waiter.request.waiting += 1


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


def _check_records(header: BatchHeader) -> tuple[ErrorCode, str | None]:
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
    return ErrorCode.NONE, None

"""Produce: check a batch, give it its offsets, answer when it is durable.

The checks are Kafka's, in its order: the partition exists and this node leads it; exactly one batch of magic 2 (zstd
only for clients that know it); the acks; internal topics; transactions, which are refused; offsets, size, checksum and
counts of the batch; then the producer's sequence. A repeated batch is answered with the offset of the first, once that
one is durable.

With one node acks=1 and acks=-1 are the same promise: the topic's flush policy. acks=0 gets no answer; if such a batch
is refused or lost the connection is closed, which is the only thing such a client notices.
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
_LEGACY_MINIMUM: Final = 14  # no message of any magic is shorter than this after its length
_ZSTD: Final = 4
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()  # shared: it is never changed and never on the wire


class ProduceAnswer:
    """One request on its way: answered when the last of its partitions is settled."""

    __slots__ = ("is_silent", "response", "ticket", "waiting")

    def __init__(self, ticket: Ticket, *, is_silent: bool) -> None:
        self.ticket = ticket
        self.response = ProduceResponse()
        self.is_silent = is_silent  # acks=0
        self.waiting = 0


class _Waiter:
    """The part of an answer that waits for one batch."""

    __slots__ = ("answer", "response")

    def __init__(self, answer: ProduceAnswer, response: PartitionProduceResponse) -> None:
        self.answer = answer
        self.response = response


class Producing:
    """The write path of all partitions."""

    def __init__(self, config: Config, catalogue: Catalogue) -> None:
        self._config = config
        self._catalogue = catalogue
        self.in_flight_bytes = 0
        self.batches = 0  # accepted since the start
        self.bytes = 0

    def produce(self, request: ProduceRequest, ticket: Ticket, out: Outbox, *, zstd_allowed: bool) -> None:
        """Handle one request."""
        answer = ProduceAnswer(ticket, is_silent=request.acks == 0)
        topics = answer.response.responses
        refused = ErrorCode.NONE
        for topic_data in request.topic_data:
            results: list[PartitionProduceResponse] = []
            topics.append(TopicProduceResponse(name=topic_data.name, partition_responses=results))
            for data in topic_data.partition_data:
                result = PartitionProduceResponse(
                    index=data.index, base_offset=UNKNOWN_OFFSET, current_leader=_NO_LEADER_HINT
                )
                results.append(result)
                partition = self._catalogue.partition(topic_data.name, data.index)
                error, reason = self._take(request, data, partition, _Waiter(answer, result), out, zstd_allowed)
                if error is not ErrorCode.NONE:
                    result.error_code = error
                    result.error_message = reason
                    refused = error
        if answer.is_silent:
            if refused is not ErrorCode.NONE:
                out.disconnect(ticket, f"a batch sent with acks=0 was refused: {refused.name}")
            out.reply(ticket, None)
        elif not answer.waiting:
            out.reply(ticket, answer.response)

    def _take(
        self,
        request: ProduceRequest,
        data: PartitionProduceData,
        partition: Partition | None,
        waiter: _Waiter,
        out: Outbox,
        zstd_allowed: bool,
    ) -> tuple[ErrorCode, str | None]:
        """Accept the batch for one partition, or say why not."""
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
        if topic.is_internal:
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
                _answer_duplicate(partition, verdict.duplicate_of.base_offset, waiter)
                return ErrorCode.NONE, None
        if self.in_flight_bytes and self.in_flight_bytes + size > self._config.log_max_queued_bytes:
            return ErrorCode.KAFKA_STORAGE_ERROR, "too much waits to be written to disk; try again"
        append, pending = partition.accept(header, records if len(records) == size else records[:size], out.now_ms)
        self.in_flight_bytes += size
        self.batches += 1
        self.bytes += size
        waiter.response.base_offset = pending.base_offset
        pending.waiters.append(waiter)
        waiter.answer.waiting += 1
        out.append(append)
        return ErrorCode.NONE, None

    def appended(self, partition: Partition, high_watermark: int, out: Outbox) -> None:
        """Everything of `partition` below `high_watermark` is as safe as its flush policy promises."""
        for pending in partition.durable_up_to(high_watermark):
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.response.log_start_offset = partition.log_start_offset
                _settle(waiter, out)

    def append_failed(self, partition: Partition, from_offset: int, error: ErrorCode, out: Outbox) -> None:
        """Nothing of `partition` from `from_offset` on was written."""
        self._fail(partition.failed_from(from_offset), error, out)

    def _fail(self, batches: list[PendingBatch], error: ErrorCode, out: Outbox) -> None:
        for pending in batches:
            self.in_flight_bytes -= pending.size_bytes
            for waiter in pending.waiters:
                waiter.response.error_code = error
                waiter.response.error_message = "the batch could not be written" if error.retriable else None
                waiter.response.base_offset = UNKNOWN_OFFSET
                if waiter.answer.is_silent:
                    out.disconnect(waiter.answer.ticket, f"a batch sent with acks=0 was lost: {error.name}")
                _settle(waiter, out)

    def deleted(self, partition: Partition, out: Outbox) -> None:
        """The partition is gone: whoever waits for it hears so."""
        self._fail(partition.failed_from(0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, out)


def _settle(waiter: _Waiter, out: Outbox) -> None:
    answer = waiter.answer
    answer.waiting -= 1
    if not answer.waiting and not answer.is_silent:
        out.reply(answer.ticket, answer.response)


def _answer_duplicate(partition: Partition, base_offset: int, waiter: _Waiter) -> None:
    """The batch is in the log already, or on its way there: then this answer waits for the same write."""
    waiter.response.base_offset = base_offset
    pending = partition.pending_at(base_offset)
    if pending is None:
        waiter.response.log_start_offset = partition.log_start_offset
    else:
        pending.waiters.append(waiter)
        waiter.answer.waiting += 1


def _batch_size(data: bytes, position: int) -> int:
    """The size of the batch at `position`; 0 when no whole one is there, -1 when these bytes cannot be one."""
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
    """Exactly one batch of magic 2. Returns its size; what follows it is no batch and is dropped."""
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
    """What is looked at before the checksum."""
    if header.base_offset != 0:
        return ErrorCode.INVALID_RECORD, f"the base offset of a new batch must be 0, not {header.base_offset}"
    if size > max_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE, f"the batch is {size} bytes long, the topic accepts {max_bytes}"
    if header.record_count < 0 or header.last_offset_delta < 0:
        return ErrorCode.INVALID_RECORD, f"a batch cannot hold {header.record_count} records"
    return ErrorCode.NONE, None


def _check_records(header: BatchHeader) -> tuple[ErrorCode, str | None]:
    """What is looked at after the checksum."""
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

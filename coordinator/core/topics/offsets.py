"""Queries of offsets: ListOffsets and OffsetForLeaderEpoch; and DeleteRecords, which moves the start of a log.

The start and the end of a partition are in memory. An offset by timestamp needs the log, so the executor looks up those
partitions of a request together, and the response waits for them. If no record is young enough, the offset is -1
without an error. For a reader of committed data a partition ends at the last stable offset. There is one leader epoch,
0, which ends where the partition ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.effects import Lookup, LookupItem, Opened, ReadFailure, TrimLog
from coordinator.core.topics.fetch import READ_COMMITTED, check_leader_epoch
from coordinator.core.topics.partition import LEADER_EPOCH
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.fetch import Fetching
    from coordinator.core.topics.partition import Partition

LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_REMOTE: Final = frozenset((LATEST_TIERED, EARLIEST_PENDING_UPLOAD))  # nothing is in remote storage: no offset
HIGH_WATERMARK: Final = -1  # DeleteRecords: everything
_UNKNOWN: Final = -1


class _PendingList:
    __slots__ = ("is_committed", "looked_up", "response", "ticket")

    def __init__(self, ticket: Ticket, *, is_committed: bool) -> None:
        self.ticket = ticket
        self.is_committed = is_committed
        self.response = ListOffsetsResponse()
        self.looked_up: list[ListOffsetsPartitionResponse] = []


class _PendingDelete:
    __slots__ = ("response", "ticket", "waiting")

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.response = DeleteRecordsResponse()
        self.waiting = 0


class Offsets:
    """Handles the requests for offsets of all partitions."""

    def __init__(self, catalogue: Catalogue, fetching: Fetching) -> None:
        self._catalogue = catalogue
        self._fetching = fetching

    def _usable(self, topic: str, index: int) -> tuple[Partition | None, ErrorCode]:
        partition = self._catalogue.partition(topic, index)
        if partition is None:
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not partition.is_local:
            return None, ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.is_offline:
            return None, ErrorCode.KAFKA_STORAGE_ERROR
        partition.refresh()
        return partition, ErrorCode.NONE

    # -- ListOffsets ---------------------------------------------------------------------------------------------

    def list_offsets(
        self, request: ListOffsetsRequest, ticket: Ticket, out: Outbox, *, specials: frozenset[int]
    ) -> None:
        """Handle one request; `specials` are the negative timestamps that its version defines."""
        pending = _PendingList(ticket, is_committed=request.isolation_level == READ_COMMITTED)
        asked_often = {
            key
            for key, times in Counter(
                (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
            ).items()
            if times > 1
        }
        items: list[LookupItem] = []
        for topic in request.topics:
            results: list[ListOffsetsPartitionResponse] = []
            pending.response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=results))
            for asked in topic.partitions:
                result = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
                results.append(result)
                if (topic.name, asked.partition_index) in asked_often:
                    result.error_code = ErrorCode.INVALID_REQUEST
                elif asked.timestamp < 0 and asked.timestamp not in specials:
                    result.error_code = ErrorCode.UNSUPPORTED_VERSION
                else:
                    item = self._list_one(topic.name, asked, result, pending.is_committed)
                    if item is not None:
                        items.append(item)
                        pending.looked_up.append(result)
        if items:
            out.read(Lookup(tuple(items), pending))
        else:
            out.reply(ticket, pending.response)

    def _list_one(
        self, topic: str, asked: ListOffsetsPartition, result: ListOffsetsPartitionResponse, is_committed: bool
    ) -> LookupItem | None:
        """Set the result of one partition, or return what must be looked up for it."""
        partition, error = self._usable(topic, asked.partition_index)
        if partition is None:
            result.error_code = error
            return None
        error = check_leader_epoch(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            result.error_code = error
        elif asked.timestamp == LATEST:
            result.offset = partition.last_stable_offset if is_committed else partition.high_watermark
            result.leader_epoch = LEADER_EPOCH
        elif asked.timestamp in (EARLIEST, EARLIEST_LOCAL):
            result.offset = partition.log_start_offset
            result.leader_epoch = LEADER_EPOCH
        elif asked.timestamp not in _REMOTE:
            return LookupItem(partition, asked.timestamp)
        return None

    def lookup_done(self, lookup: Lookup, found: Sequence[tuple[int, int] | ReadFailure | None], out: Outbox) -> None:
        """Take the result of a `Lookup`: (timestamp, offset), or None where no record is young enough."""
        pending: _PendingList = lookup.request
        for result, item, each in zip(pending.looked_up, lookup.items, found, strict=True):
            if item.partition.is_deleted:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif isinstance(each, ReadFailure):
                result.error_code = each.error
            elif each is not None and not (pending.is_committed and each[1] >= item.partition.last_stable_offset):
                result.timestamp, result.offset = each
                result.leader_epoch = LEADER_EPOCH
        out.reply(pending.ticket, pending.response)

    # -- OffsetForLeaderEpoch ------------------------------------------------------------------------------------

    def offsets_for_leader_epoch(self, request: OffsetForLeaderEpochRequest, ticket: Ticket, out: Outbox) -> None:
        """Handle one request: return the end offset of an epoch."""
        response = OffsetForLeaderEpochResponse()
        for topic in request.topics:
            results: list[EpochEndOffset] = []
            response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=results))
            for asked in topic.partitions:
                result = EpochEndOffset(partition=asked.partition)
                results.append(result)
                partition, error = self._usable(topic.topic, asked.partition)
                if error is ErrorCode.NONE:
                    error = check_leader_epoch(asked.current_leader_epoch)
                result.error_code = error
                # An unknown epoch gives -1 and -1, which a client takes as undefined.
                if partition is not None and error is ErrorCode.NONE and asked.leader_epoch == LEADER_EPOCH:
                    result.leader_epoch = LEADER_EPOCH
                    result.end_offset = partition.high_watermark
        out.reply(ticket, response)

    # -- DeleteRecords -------------------------------------------------------------------------------------------

    def delete_records(self, request: DeleteRecordsRequest, ticket: Ticket, out: Outbox) -> None:
        """Handle one request. The response has the new start offset of each partition."""
        pending = _PendingDelete(ticket)
        for topic in request.topics:
            results: list[DeleteRecordsPartitionResult] = []
            pending.response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
            for asked in topic.partitions:
                result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=_UNKNOWN)
                results.append(result)
                partition, error = self._usable(topic.name, asked.partition_index)
                if partition is not None:
                    error = _check_deletion(partition, asked.offset)
                    offset = partition.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
                    if error is ErrorCode.NONE and offset > partition.log_start_offset:
                        pending.waiting += 1
                        out.do(TrimLog(partition, offset, (pending, result)))
                    elif error is ErrorCode.NONE:
                        result.low_watermark = partition.log_start_offset
                result.error_code = error
        if not pending.waiting:
            out.reply(ticket, pending.response)

    def log_trimmed(self, trim: TrimLog, outcome: Opened | ReadFailure, out: Outbox) -> None:
        """Take the result of a `TrimLog`: the extent of the log now, or the error."""
        pending, result = trim.request
        if trim.partition.is_deleted:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif isinstance(outcome, ReadFailure):
            result.error_code = outcome.error
        else:
            trim.partition.trimmed(outcome.log_start_offset, outcome.size_bytes)
            result.low_watermark = trim.partition.log_start_offset
            self._fetching.changed(trim.partition, out)
        pending.waiting -= 1
        if not pending.waiting:
            out.reply(pending.ticket, pending.response)


def _check_deletion(partition: Partition, offset: int) -> ErrorCode:
    topic = partition.topic
    if topic.is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if topic.settings.compacts and not topic.settings.deletes:
        return ErrorCode.POLICY_VIOLATION  # a compacted topic keeps the newest record of each key
    if offset != HIGH_WATERMARK and not 0 <= offset <= partition.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE

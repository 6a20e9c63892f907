"""Fetch: whole batches from some partitions, within limits of bytes, waiting a while when there is too little.

`Fetching.fetch` finds the partitions. `collect` measures what can be read now: if there is enough the fetch responds,
otherwise it waits in the purgatory, holding no data, until `is_satisfied`. `finish` responds, once.
Data in the tail cache is returned at once; older data is read by the executor, in one `Read` for all partitions, after
which `read_done` continues.
Kafka's limits hold: each partition up to its own limit, all up to that of the request, but the first batch is whole, so
that a large batch cannot stop a consumer. `MAX_RESPONSE_BYTES` limits the response further.
A fetch of committed data (isolation level 1) reads up to the last stable offset, and is told the aborted transactions.
Bytes are counted by position in the stream of all bytes of a partition, so measuring needs no read. Fetch sessions are
not kept: a client that asks for one gets a full response, as from Kafka when its session cache is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.delayed_fetch import DelayedFetch
from coordinator.core.topics.effects import Read, ReadFailure, ReadItem
from coordinator.core.topics.partition import LEADER_EPOCH
from coordinator.core.topics.readers import note_read
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.core.purgatory.purgatory import Purgatory
    from coordinator.core.topics.catalogue import Catalogue, Topic
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.partition import Partition

NO_SESSION: Final = 0
MAX_RESPONSE_BYTES: Final = 8 << 20  # of records: building a response blocks the event loop
SLOTS_PER_STEP: Final = 1000  # partitions found in one step, which takes about a millisecond
MAX_WAIT_MS: Final = 300_000  # more than any client asks for: the connection of a waiting fetch may be closed already
READ_COMMITTED: Final = 1
_FULL_FETCH_EPOCHS: Final = frozenset({0, -1})  # "open a session" and "no session": both name every partition
_UNKNOWN: Final = -1
_ZSTD: Final = 4
_OFFSETS: Final = Struct(">q15xi").unpack_from  # base offset and last offset delta of a batch
# Shared by all responses: never changed, and not encoded while they have their defaults.
_NO_DIVERGENCE: Final = EpochEndOffset()
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()


def _empty_result(index: int) -> PartitionData:
    return PartitionData(
        partition_index=index,
        high_watermark=_UNKNOWN,
        diverging_epoch=_NO_DIVERGENCE,
        current_leader=_NO_LEADER_HINT,
        snapshot_id=_NO_SNAPSHOT,
        records=b"",
    )


class _Slot:
    """One partition of a fetch."""

    __slots__ = ("error", "max_bytes", "offset", "partition", "read_position", "read_up_to", "result", "start_position")

    def __init__(self, asked: FetchPartition, partition: Partition | None, error: ErrorCode) -> None:
        self.offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.partition = partition
        self.error = error
        self.result = _empty_result(asked.partition)
        self.start_position = -1  # position of the wanted data among all bytes of the partition; -1: not known yet
        self.read_up_to = -1  # the end of the readable data when a read from disk was requested, and its position
        self.read_position = -1

    def check(self) -> ErrorCode:
        """Return an error if the partition cannot be read from this offset now."""
        partition = self.partition
        if partition is None or self.error is not ErrorCode.NONE:
            return self.error
        if partition.is_deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition.view is not None:
            partition.refresh()
        if not partition.log_start_offset <= self.offset <= partition.next_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE

    def available(self, is_committed: bool) -> int:
        """Return the bytes that a read would return now, within its limit; -1 if only a read from disk can tell."""
        partition = self.partition
        if partition is None or self.offset >= partition.high_watermark:
            return 0
        end = partition.visible_position
        if partition.transactions is not None and is_committed:
            if self.offset >= partition.last_stable_offset:
                return 0
            stable_position = partition.stable_position
            if stable_position is None:
                return -1
            end = stable_position
        if self.start_position < 0:
            position = partition.tail.position_of(self.offset)
            if position is None:
                return -1
            self.start_position = position
        return min(end - self.start_position, max(self.max_bytes, 0))


class Fetch:
    """One Fetch request in progress."""

    __slots__ = (
        "_fetching",
        "_is_final",
        "deadline_ms",
        "is_committed",
        "max_bytes",
        "min_bytes",
        "response",
        "slots",
        "ticket",
        "zstd_allowed",
    )

    def __init__(
        self, fetching: Fetching, request: FetchRequest, ticket: Ticket, now_ms: int, zstd_allowed: bool
    ) -> None:
        self._fetching = fetching
        self._is_final = False
        self.ticket = ticket
        self.response = FetchResponse(session_id=NO_SESSION)
        self.slots: list[_Slot] = []
        self.deadline_ms = now_ms + min(max(request.max_wait_ms, 0), fetching.config.fetch_max_wait_ms, MAX_WAIT_MS)
        self.max_bytes = min(max(request.max_bytes, 0), fetching.config.fetch_max_bytes, MAX_RESPONSE_BYTES)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.is_committed = request.isolation_level == READ_COMMITTED
        self.zstd_allowed = zstd_allowed

    # -- waiting -------------------------------------------------------------------------------------------------

    def is_satisfied(self) -> bool:
        """Return True if there are enough bytes, an error, or data on disk whose size only a read can tell."""
        if not self.slots or self.min_bytes <= 0:
            return True
        total = 0
        for slot in self.slots:
            if slot.check() is not ErrorCode.NONE:
                return True
            available = slot.available(self.is_committed)
            if available < 0:
                return True
            total += available
            if total >= self.min_bytes:
                return True
        return False

    def _is_over(self, out: Outbox) -> bool:
        """Return True if it must not wait."""
        return out.now_ms >= self.deadline_ms or self._fetching.is_crowded or self.ticket.is_followed

    def collect(self, out: Outbox) -> None:
        """Respond if there is enough, or wait."""
        if self._is_over(out) or self.is_satisfied():
            # A read from disk may find too little; then `data_read` lets the fetch wait after all.
            self._read(out)
        else:
            self._wait()

    def finish(self, out: Outbox) -> None:
        """Respond with the data there is."""
        self._is_final = True
        self.ticket.delayed_fetch = None
        self._read(out)

    def _wait(self) -> None:
        keys = [slot.partition for slot in self.slots if slot.partition is not None]
        self.ticket.delayed_fetch = DelayedFetch(self, self.deadline_ms)
        self._fetching.purgatory.watch(self.ticket.delayed_fetch, keys)

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, out: Outbox) -> None:
        left = self.max_bytes
        nothing_yet = True
        items: list[ReadItem] = []
        on_disk: list[_Slot] = []
        for slot in self.slots:
            result = slot.result
            error = slot.check()
            if error is not ErrorCode.NONE:
                _refuse(result, error)
                self._is_final = True
                continue
            partition = slot.partition
            if partition is None:
                continue
            up_to_offset = self._describe(result, partition)
            if slot.offset >= up_to_offset or (left <= 0 and not nothing_yet):
                continue
            limit = min(slot.max_bytes, left)
            batches = partition.tail.read(slot.offset, limit, up_to_offset, at_least_one=nothing_yet)
            if batches is None:
                items.append(ReadItem(partition, slot.offset, limit, up_to_offset))
                on_disk.append(slot)
                slot.read_up_to = up_to_offset
                slot.read_position = partition.visible_position
                if up_to_offset != partition.high_watermark:
                    slot.read_position = _UNKNOWN if partition.stable_position is None else partition.stable_position
                # The size of the result is not known here; the size of the partition bounds it.
                left -= min(limit, max(partition.size_bytes, 0))
                nothing_yet = False
                continue
            if batches:
                last = batches[-1]
                if self._put(result, last if len(batches) == 1 else b"".join(batches)):
                    base_offset, last_offset_delta = _OFFSETS(last)
                    end = base_offset + last_offset_delta + 1
                    note_read(partition, self.ticket, end)
                    if partition.transactions is not None:
                        self._name_aborted(slot, partition, end)
                left -= len(result.records or b"")
                nothing_yet = False
        if items:
            at_least_one = not any(slot.result.records for slot in self.slots)
            held = sum(len(slot.result.records or b"") for slot in self.slots)
            out.read(Read(tuple(items), self.max_bytes - held, at_least_one, (self, on_disk)))
        else:
            out.reply(self.ticket, self.response)

    def _describe(self, result: PartitionData, partition: Partition) -> int:
        """Set the offsets of the partition. Return the one up to which this fetch may read."""
        up_to_offset = result.high_watermark = result.last_stable_offset = partition.high_watermark
        if partition.transactions is not None:
            result.last_stable_offset = partition.last_stable_offset
            if self.is_committed:
                up_to_offset = result.last_stable_offset
        result.log_start_offset = partition.log_start_offset
        # A read_uncommitted consumer gets null, as from Kafka.
        result.aborted_transactions = [] if self.is_committed else None
        result.error_code = ErrorCode.NONE
        result.records = b""
        return up_to_offset

    def _name_aborted(self, slot: _Slot, partition: Partition, end: int) -> None:
        """List the aborted transactions of which the data up to `end` may have records."""
        if self.is_committed and partition.transactions is not None:
            slot.result.aborted_transactions = [
                AbortedTransaction(producer_id, first_offset)
                for producer_id, first_offset in partition.transactions.aborted_in(slot.offset, end)
            ]

    def _put(self, result: PartitionData, data: bytes) -> bool:
        if not self.zstd_allowed and contains_zstd(data):
            _refuse(result, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
            self._is_final = True
            return False
        result.records = data
        return True

    def data_read(self, slots: Sequence[_Slot], found: Sequence[bytes | ReadFailure], out: Outbox) -> None:
        """Take the data that the executor has read from disk."""
        for slot, data in zip(slots, found, strict=True):
            if isinstance(data, ReadFailure):
                _refuse(slot.result, data.error)
                self._is_final = True
                continue
            end = end_offset(data)
            if self._put(slot.result, data) and end >= 0 and slot.partition is not None:
                note_read(slot.partition, self.ticket, end)
                self._name_aborted(slot, slot.partition, end)
            if end < slot.read_up_to:
                self._is_final = True  # the next segment has more: the client should fetch it at once
            elif slot.read_position >= 0:
                slot.start_position = slot.read_position - len(data)
        total = sum(len(slot.result.records or b"") for slot in self.slots)
        if self._is_final or total >= self.min_bytes or self._is_over(out) or self.is_satisfied():
            out.reply(self.ticket, self.response)
            return
        for slot in self.slots:
            slot.result.records = b""  # a waiting fetch holds no data: it is read again at completion
        self._wait()

    def __repr__(self) -> str:
        return f"<Fetch of {len(self.slots)} partitions, at least {self.min_bytes} bytes, for {self.ticket!r}>"


class Fetching:
    """The read path of all partitions."""

    def __init__(self, config: Config, catalogue: Catalogue, purgatory: Purgatory[Outbox]) -> None:
        self.config = config
        self.catalogue = catalogue
        self.purgatory = purgatory

    @property
    def is_crowded(self) -> bool:
        """Return True if more fetches wait than there can be connections: some belong to closed ones."""
        return self.purgatory.waiting >= 2 * self.config.max_connections

    def fetch(
        self, request: FetchRequest, ticket: Ticket, out: Outbox, *, by_id: bool, zstd_allowed: bool
    ) -> Iterator[None]:
        """Handle one request in steps, as it may name every partition. `by_id`: topics are named by their ids."""
        if request.session_epoch not in _FULL_FETCH_EPOCHS:
            # An incremental request names changes only. The client then sends a full one, served without a session.
            out.reply(ticket, FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
            return
        fetch = Fetch(self, request, ticket, out.now_ms, zstd_allowed)
        slots = fetch.slots
        step_ends = SLOTS_PER_STEP
        for asked_topic in request.topics:
            if by_id:
                topic = self.catalogue.by_id(asked_topic.topic_id)
                missing = ErrorCode.UNKNOWN_TOPIC_ID
                name, topic_id = "", asked_topic.topic_id
            else:
                topic = self.catalogue.topics.get(asked_topic.topic)
                missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                name, topic_id = asked_topic.topic, ZERO_UUID
            results: list[PartitionData] = []
            fetch.response.responses.append(FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=results))
            for asked in asked_topic.partitions:
                if len(slots) >= step_ends:
                    step_ends += SLOTS_PER_STEP
                    yield
                slot = _slot(asked, topic, missing)
                slots.append(slot)
                results.append(slot.result)
        fetch.collect(out)

    def read_done(self, read: Read, found: Sequence[bytes | ReadFailure], out: Outbox) -> None:
        """Take the result of a `Read`."""
        fetch, slots = read.fetch
        fetch.data_read(slots, found, out)

    def changed(self, partition: Partition, out: Outbox) -> None:
        """Check the waiting fetches of a partition whose high watermark moved, or that was deleted."""
        self.purgatory.check_and_complete(partition, out)


def _slot(asked: FetchPartition, topic: Topic | None, missing: ErrorCode) -> _Slot:
    if topic is None:
        return _Slot(asked, None, missing)
    if not 0 <= asked.partition < len(topic.partitions):
        return _Slot(asked, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = topic.partitions[asked.partition]
    if not partition.is_local:
        return _Slot(asked, None, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return _Slot(asked, partition, check_leader_epoch(asked.current_leader_epoch))


def check_leader_epoch(epoch: int) -> ErrorCode:
    """Return an error unless a client's leader epoch is the current one; -1 means that it has none."""
    if epoch in (-1, LEADER_EPOCH):
        return ErrorCode.NONE
    return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > LEADER_EPOCH else ErrorCode.FENCED_LEADER_EPOCH


def _refuse(result: PartitionData, error: ErrorCode) -> None:
    result.error_code = error
    result.high_watermark = result.last_stable_offset = result.log_start_offset = _UNKNOWN
    result.aborted_transactions = []
    result.records = b""


def end_offset(data: bytes) -> int:
    """Return the offset after the last of these batches; -1 if there is none."""
    position, end = 0, -1
    while position + 27 <= len(data):
        end = position
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    if end < 0:
        return -1
    base_offset: int
    last_offset_delta: int
    base_offset, last_offset_delta = _OFFSETS(data, end)
    return base_offset + last_offset_delta + 1


def contains_zstd(data: bytes) -> bool:
    """Return True if a batch is compressed with zstd, which clients before Fetch v10 cannot read."""
    position = 0
    while position + 23 <= len(data):
        if data[position + 22] & 7 == _ZSTD:
            return True
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return False

"""One partition of a topic: the start and end of its log, batches in flight, and the newest batches in memory.

The partition assigns offsets: a batch takes the next ones when it is accepted, and the executor writes it with them.
Readers see what is below the high watermark, which moves when the executor reports it. If a write fails, everything
from its offset on is taken back: offsets, sequence numbers, transactions and cached batches together. The markers that
end transactions are batches like others.

A partition that another node leads is known here for Metadata, has no log and is not `is_local`. The log of an internal
topic is written by its owner (the offsets log): `view` gives access to it, and `refresh` copies what a reader needs.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.core.topics.effects import Opened, TopicAppend
from coordinator.core.topics.names import partition_directory
from coordinator.core.topics.partition_transactions import PartitionTransactions, TransactionUndo
from coordinator.core.topics.sequences import MarkerUndo, ProducerBudget, Sequences, Undo
from coordinator.core.topics.tail_cache import Tail, TailBudget
from coordinator.core.topics.transactional_batches import record_transactional
from protocol.record_batch import TRANSACTIONAL, read_header

if TYPE_CHECKING:
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.effects import Outbox
    from coordinator.core.topics.readers import Reader
    from protocol.error_codes import ErrorCode
    from protocol.record_batch import BatchHeader

LEADER_EPOCH: Final = 0  # the leader of a partition never changes
_BATCH_START: Final = struct.Struct(">qii")  # base offset, batch length, partition leader epoch
_AFTER_EPOCH: Final = 16  # position from which the bytes are stored unchanged


class InternalLog(Protocol):
    """The log of an internal topic, which its owner writes."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...


class AppendWaiter(Protocol):
    """Part of a request that waits for a batch."""

    def durable(self, partition: Partition, out: Outbox) -> None: ...
    def failed(self, error: ErrorCode, out: Outbox) -> None: ...


class PendingBatch:
    """A batch with offsets that is not durable yet. Its outcome is reported to `waiters`."""

    __slots__ = ("base_offset", "last_offset", "size_bytes", "start_position", "transaction_undo", "undo", "waiters")

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        start_position: int,
        size_bytes: int,
        undo: Undo | MarkerUndo | None,
        transaction_undo: TransactionUndo | None,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.start_position = start_position
        self.size_bytes = size_bytes
        self.undo = undo
        self.transaction_undo = transaction_undo
        self.waiters: list[AppendWaiter] = []


class Partition:
    """One partition of one topic. Compared by identity: a topic created anew has new partitions."""

    __slots__ = (
        "high_watermark",
        "index",
        "is_deleted",
        "is_local",
        "is_offline",
        "leader",
        "log_start_offset",
        "most_readers",
        "next_offset",
        "pending",
        "pending_bytes",
        "producers",
        "readers",
        "sequences",
        "size_bytes",
        "tail",
        "topic",
        "transactions",
        "view",
    )

    def __init__(
        self,
        topic: Topic,
        index: int,
        budget: TailBudget,
        *,
        leader: int,
        is_local: bool,
        producers: ProducerBudget | None = None,
        most_producers: int = 10_000,
        most_readers: int = 8,
        view: InternalLog | None = None,
    ) -> None:
        self.topic = topic
        self.index = index
        self.leader = leader  # id of the node that has its log
        self.is_local = is_local  # the leader is this node
        self.log_start_offset = 0
        self.next_offset = 0
        self.high_watermark = 0
        self.size_bytes = 0
        self.is_offline = False  # its log cannot be used
        self.is_deleted = False
        self.tail = Tail(budget)
        self.producers = producers  # of all partitions; None: no client produces to it
        self.sequences = Sequences(most_producers)
        self.transactions: PartitionTransactions | None = None  # None: no transaction has written to it
        self.pending: deque[PendingBatch] = deque()
        self.pending_bytes = 0
        self.most_readers = most_readers
        self.readers: list[Reader] | None = None  # never empty; the last one to read is at the end
        self.view = view

    @property
    def directory(self) -> str:
        """Name of the partition's directory."""
        return partition_directory(self.topic.name, self.index)

    @property
    def visible_position(self) -> int:
        """Position of the high watermark in the stream of all bytes appended, as used by the tail."""
        return self.pending[0].start_position if self.pending else self.tail.end_position

    @property
    def last_stable_offset(self) -> int:
        """Offset up to which readers of committed data see the partition."""
        transactions = self.transactions
        if transactions is None:
            return self.high_watermark
        return transactions.last_stable_offset(self.high_watermark, self.log_start_offset)

    @property
    def stable_position(self) -> int | None:
        """Position of the last stable offset, as `visible_position`; None if its batch is not in memory."""
        offset = self.last_stable_offset
        return self.visible_position if offset == self.high_watermark else self.tail.position_of(offset)

    def opened(self, opened: Opened) -> None:
        """Take the extent of the opened log. Everything in it is durable."""
        self.log_start_offset = opened.log_start_offset
        self.next_offset = self.high_watermark = opened.log_end_offset
        self.size_bytes = opened.size_bytes
        if self.producers is not None:
            self.sequences.share(self.producers)

    def refresh(self) -> None:
        """Copy the extent of an internal topic's log, which its owner writes."""
        view = self.view
        if view is not None:
            self.log_start_offset = view.log_start_offset
            self.next_offset = view.log_end_offset
            self.high_watermark = view.high_watermark
            self.tail.end_position += max(view.size_bytes - self.size_bytes, 0)
            self.size_bytes = view.size_bytes

    def accept(self, header: BatchHeader, batch: bytes, now_ms: int) -> tuple[TopicAppend, PendingBatch]:
        """Assign offsets to a checked batch. It becomes visible when it is durable."""
        base_offset = self.next_offset
        last_offset = base_offset + header.last_offset_delta
        # Base offset and leader epoch are outside the checksum; the rest is stored unchanged.
        stamped = b"".join(
            (_BATCH_START.pack(base_offset, header.batch_length, LEADER_EPOCH), memoryview(batch)[_AFTER_EPOCH:])
        )
        undo: Undo | MarkerUndo | None = None
        transaction_undo = None
        if header.producer_id >= 0:
            if header.attributes & TRANSACTIONAL:
                undo, transaction_undo = record_transactional(self, header, batch, base_offset, now_ms)
            else:
                undo = self.sequences.record(header, base_offset, now_ms)
        pending = PendingBatch(base_offset, last_offset, self.tail.end_position, len(stamped), undo, transaction_undo)
        self.pending.append(pending)
        self.pending_bytes += len(stamped)
        self.tail.append(base_offset, stamped)
        self.size_bytes += len(stamped)
        self.next_offset = last_offset + 1
        return TopicAppend(self, stamped, last_offset, header.max_timestamp), pending

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return True if the producer has an open transaction here and wrote to it with this epoch."""
        transactions = self.transactions
        ongoing = None if transactions is None else transactions.ongoing.get(producer_id)
        return ongoing is not None and ongoing.epoch == epoch

    def producer_rows(self) -> list[list[Any]]:
        """Return a checkpoint of the producers below the high watermark."""
        undos = (pending.undo for pending in reversed(self.pending))
        return self.sequences.to_rows(self.high_watermark, (undo for undo in undos if undo is not None))

    def transaction_rows(self) -> dict[str, Any] | None:
        """Return a checkpoint of the transactions below the high watermark; None if there were none."""
        if self.transactions is None:
            return None
        undos = (pending.transaction_undo for pending in reversed(self.pending))
        return self.transactions.to_rows(self.high_watermark, (undo for undo in undos if undo is not None))

    def expire_producers(self, not_after_ms: int) -> int:
        """Drop the producers that wrote nothing after `not_after_ms` and have no open transaction; return how many."""
        transactions = self.transactions
        return self.sequences.expire(not_after_ms, () if transactions is None else transactions.ongoing)

    def cached_time_of(self, offset: int) -> int | None:
        """Return the time of the batch with the record at `offset`, -1 if it has none. None: it is not in memory."""
        cached = self.tail.read(offset, 0, self.next_offset, at_least_one=True)
        if cached is None:
            return None
        return read_header(cached[0]).earliest_timestamp if cached else None

    def pending_at(self, base_offset: int) -> PendingBatch | None:
        """Return the batch in flight with this base offset."""
        for pending in self.pending:
            if pending.base_offset == base_offset:
                return pending
        return None

    def durable_up_to(self, high_watermark: int) -> list[PendingBatch]:
        """Advance the high watermark. Return the batches that are durable now."""
        settled = []
        while self.pending and self.pending[0].last_offset < high_watermark:
            pending = self.pending.popleft()
            self.pending_bytes -= pending.size_bytes
            settled.append(pending)
        self.high_watermark = max(self.high_watermark, high_watermark)
        if self.transactions is not None:
            self.transactions.durable_up_to(high_watermark)
        return settled

    def failed_from(self, from_offset: int) -> list[PendingBatch]:
        """Take back everything from `from_offset` on. Return the failed batches in the order of their offsets."""
        failed: list[PendingBatch] = []
        while self.pending and self.pending[-1].base_offset >= from_offset:
            pending = self.pending.pop()
            self.pending_bytes -= pending.size_bytes
            self.size_bytes -= pending.size_bytes
            if pending.undo is not None:
                self.sequences.undo(pending.undo)
            if pending.transaction_undo is not None and self.transactions is not None:
                self.transactions.undo(pending.transaction_undo)
            failed.append(pending)
        self.tail.truncate(from_offset)
        self.next_offset = min(self.next_offset, from_offset)
        failed.reverse()
        return failed

    def trimmed(self, log_start_offset: int, size_bytes: int) -> None:
        """Take the new start of the log."""
        self.log_start_offset = max(self.log_start_offset, log_start_offset)
        self.size_bytes = size_bytes + self.pending_bytes
        self.tail.drop_before(log_start_offset)
        if self.transactions is not None:
            self.transactions.trimmed(self.log_start_offset)

    def __repr__(self) -> str:
        state = "deleted" if self.is_deleted else "offline" if self.is_offline else f"{len(self.pending)} in flight"
        if not self.is_local:
            state = f"on node {self.leader}"
        return f"<Partition {self.directory} {self.log_start_offset}..{self.high_watermark} {state}>"

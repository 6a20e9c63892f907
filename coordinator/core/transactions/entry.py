"""A transactional id in memory, and the appends of its log partition that are in flight.

The coordinator decides on the newest appended state (`current`), so that requests which follow each other closely need
no retry, and a failed append puts the state before it in force. Answers wait until the append they depend on is
durable. Kafka answers CONCURRENT_TRANSACTIONS instead while an append is in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from coordinator.core.purgatory.purgatory import DelayedOperation
from coordinator.core.shard import STATE_ERROR, PartitionState
from coordinator.core.transactions.counters import EndCause
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.transactions.effects import TransactionEvent
    from coordinator.core.transactions.metadata import TopicPartition, TransactionMetadata
    from coordinator.core.transactions.states import TransactionState


class PendingAnswer(NamedTuple):
    """The answer to a request, if what it depends on becomes durable; otherwise `refused(error)` is sent."""

    ticket: Ticket
    response: Any
    refused: Callable[[ErrorCode], Any]


class TransactionAppend:
    """The record of one change, on its way to the disk. It is the `then` of its `Append`."""

    __slots__ = ("after", "answers", "before", "cause", "entry", "last_offset")

    def __init__(
        self,
        entry: TransactionEntry,
        before: TransactionMetadata | None,
        after: TransactionMetadata | None,
        cause: EndCause = EndCause.CLIENT,
    ) -> None:
        self.entry = entry
        self.before = before  # None: the id was not known
        self.after = after  # None: a tombstone
        self.cause = cause  # not CLIENT: it raises the epoch to one that no producer has
        self.answers: list[PendingAnswer] = []
        self.last_offset = -1


class TransactionEntry:
    """One transactional id."""

    __slots__ = (
        "append_retry",
        "current",
        "deadline_ms",
        "durable",
        "end_answers",
        "in_flight",
        "newest",
        "partition",
        "remaining",
        "timeout",
        "transactional_id",
    )

    def __init__(self, transactional_id: str, partition: TransactionPartition, metadata: TransactionMetadata) -> None:
        self.transactional_id = transactional_id
        self.partition = partition
        self.current = metadata  # as appended
        self.durable: TransactionMetadata | None = None  # None: nothing is on disk yet
        self.in_flight = 0  # appends
        self.deadline_ms = 0  # of the open transaction, on the monotonic clock
        self.newest: TransactionAppend | None = None  # the last append in flight
        self.remaining: set[TopicPartition] = set()  # partitions of a decided transaction without a durable marker
        self.end_answers: list[PendingAnswer] = []  # to EndTxn; they wait for the markers
        self.timeout: DelayedOperation[TransactionEvent] | None = None  # of the open transaction
        self.append_retry: DelayedOperation[TransactionEvent] | None = None  # of markers, or of the record after them

    @property
    def is_known(self) -> bool:
        """False once it was removed from its partition, or its partition was unloaded."""
        return self.partition.entries.get(self.transactional_id) is self

    def cancel_timers(self) -> None:
        """End the timers, if there are any."""
        for timer in (self.timeout, self.append_retry):
            if timer is not None:
                timer.cancel()
        self.timeout = self.append_retry = None

    def __repr__(self) -> str:
        return f"<TransactionEntry {self.transactional_id!r} {self.current.state.name}, {self.in_flight} in flight>"


class TransactionPartition:
    """One partition of `__transaction_state` and its transactional ids."""

    __slots__ = ("coordinator_epoch", "entries", "in_flight", "loaded_ms", "next_offset", "number", "state")

    def __init__(self, number: int, state: PartitionState) -> None:
        self.number = number
        self.state = state
        self.entries: dict[str, TransactionEntry] = {}
        self.in_flight: deque[TransactionAppend] = deque()
        self.next_offset = 0
        self.loaded_ms = 0  # when it was; topics that its log names existed before
        self.coordinator_epoch = 0  # in the markers; a partition of a shared store has one for each claim

    @property
    def error(self) -> ErrorCode:
        """Error of requests for its ids; NONE if it is active."""
        return STATE_ERROR[self.state]

    def states_below(self, high_watermark: int) -> list[tuple[str, TransactionState]]:
        """Return the ids of appends in flight below an offset, each with the state that it gets."""
        return [
            (each.entry.transactional_id, each.after.state)
            for each in self.in_flight
            if each.after is not None and each.last_offset < high_watermark
        ]

    def __repr__(self) -> str:
        return f"<TransactionPartition {self.number} {self.state.value}: {len(self.entries)} ids>"

"""Transactions of one partition: those that are open, and those that were aborted.

A transaction begins here with its first batch and ends with a marker. The last stable offset is the first offset of the
oldest transaction that is open, or whose marker is not durable yet. Readers of committed data see what is below it.
For each aborted transaction its producer and its offsets are kept in the order of the markers, so that such readers can
skip it; it is dropped when its marker is below the start of the log.
Source: Kafka's ProducerStateManager and TransactionIndex.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from coordinator.core.topics.sequences import checked

_LAST_EPOCH: Final = 2**15 - 1
_LAST_OFFSET: Final = 2**63 - 1


class OngoingTransaction(NamedTuple):
    """An open transaction: its first offset here, and the epoch of its newest batch."""

    first_offset: int
    epoch: int


class CompletedTransaction(NamedTuple):
    """A transaction whose marker, at `last_offset`, is appended but not durable yet."""

    first_offset: int
    last_offset: int
    is_aborted: bool


class TransactionUndo(NamedTuple):
    """Data to take one batch or marker back: the open transaction before it, and the one that it ended."""

    producer_id: int
    before: OngoingTransaction | None
    completed: CompletedTransaction | None = None


class PartitionTransactions:
    """The transactions of one partition. It exists from the first transactional batch on."""

    __slots__ = ("_aborted_first", "_aborted_last", "_aborted_producers", "_aborted_stable", "_completed", "ongoing")

    def __init__(self) -> None:
        self.ongoing: dict[int, OngoingTransaction] = {}  # by producer id, in the order of their first offsets
        self._completed: deque[CompletedTransaction] = deque()  # in the order of their markers
        # The aborted transactions in the order of their markers, one column each.
        self._aborted_producers = array("q")
        self._aborted_first = array("q")  # first offset
        self._aborted_last = array("q")  # offset of the marker
        self._aborted_stable = array("q")  # last stable offset behind the marker

    def __repr__(self) -> str:
        return f"<PartitionTransactions: {len(self.ongoing)} open, {len(self._aborted_last)} aborted>"

    # -- appends -------------------------------------------------------------------------------------------------

    def appended(self, producer_id: int, epoch: int, base_offset: int) -> TransactionUndo | None:
        """Take a transactional batch, which may begin a transaction. None: it changed nothing."""
        before = self.ongoing.get(producer_id)
        if before is None:
            self.ongoing[producer_id] = OngoingTransaction(base_offset, epoch)
        elif before.epoch != epoch:
            self.ongoing[producer_id] = OngoingTransaction(before.first_offset, epoch)
        else:
            return None
        return TransactionUndo(producer_id, before)

    def completed(self, producer_id: int, marker_offset: int, *, is_aborted: bool) -> TransactionUndo | None:
        """Take a marker. None: the producer has no open transaction here."""
        before = self.ongoing.pop(producer_id, None)
        if before is None:
            return None
        completed = CompletedTransaction(before.first_offset, marker_offset, is_aborted)
        self._completed.append(completed)
        if is_aborted:
            self._add_aborted(producer_id, before.first_offset, marker_offset, self._first_ongoing(marker_offset + 1))
        return TransactionUndo(producer_id, before, completed)

    def undo(self, undo: TransactionUndo) -> None:
        """Take back a batch or marker whose append failed. They are undone in the reverse order of appending."""
        if undo.completed is not None:
            self._completed.pop()
            if undo.completed.is_aborted:
                for column in self._aborted:
                    column.pop()
        if undo.before is None:
            del self.ongoing[undo.producer_id]
            return
        self.ongoing[undo.producer_id] = undo.before
        if undo.completed is not None:
            self.ongoing = _by_first_offset(self.ongoing)

    def durable_up_to(self, high_watermark: int) -> None:
        """Release the transactions whose markers are durable now."""
        completed = self._completed
        while completed and completed[0].last_offset < high_watermark:
            completed.popleft()

    def trimmed(self, log_start_offset: int) -> None:
        """Drop the aborted transactions whose markers are no longer in the log."""
        count = bisect_left(self._aborted_last, log_start_offset)
        if count:
            for column in self._aborted:
                del column[:count]

    # -- reads ---------------------------------------------------------------------------------------------------

    def last_stable_offset(self, high_watermark: int, log_start_offset: int) -> int:
        """Return the offset below which no transaction is undecided."""
        stable = self._first_ongoing(high_watermark)
        for completed in self._completed:
            if completed.first_offset < stable:
                stable = completed.first_offset
        return max(stable, log_start_offset)

    def aborted_in(self, fetch_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """Return producer id and first offset of the aborted transactions that a range of offsets meets."""
        found = []
        for index in range(bisect_left(self._aborted_last, fetch_offset), len(self._aborted_last)):
            if self._aborted_first[index] < end_offset:
                found.append((self._aborted_producers[index], self._aborted_first[index]))
            if self._aborted_stable[index] >= end_offset:
                break  # the transactions that ended later began later than the range
        return found

    def _first_ongoing(self, otherwise: int) -> int:
        """Return the least first offset of an open transaction, at most `otherwise`."""
        for first_offset, _ in self.ongoing.values():
            return min(first_offset, otherwise)
        return otherwise

    def open_from(self) -> int | None:
        """Return the first offset of the oldest open transaction; None if there is none. Another thread may ask."""
        for first_offset, _ in self.ongoing.copy().values():
            return first_offset
        return None

    # -- checkpoint ----------------------------------------------------------------------------------------------

    def to_rows(self, up_to_offset: int, undos: Iterable[TransactionUndo]) -> dict[str, Any]:
        """Return a checkpoint of what is below an offset. `undos`, the newest first, are those of what is above it.

        It has rows of [producer id, epoch, first offset] in "ongoing", and of [producer id, first offset, offset of the
        marker, last stable offset] in "aborted".
        """
        ongoing = dict(self.ongoing)
        for producer_id, before, _ in undos:
            if before is None:
                ongoing.pop(producer_id, None)
            else:
                ongoing[producer_id] = before
        durable = bisect_left(self._aborted_last, up_to_offset)
        return {
            "ongoing": [
                [producer_id, each.epoch, each.first_offset] for producer_id, each in _by_first_offset(ongoing).items()
            ],
            "aborted": [list(row) for row in zip(*(column[:durable] for column in self._aborted), strict=True)],
        }

    @staticmethod
    def restored(rows: Mapping[str, Any] | None, end_offset: int) -> PartitionTransactions | None:
        """Return the transactions of a checkpoint of what is below `end_offset`; None if it has none.

        ValueError, TypeError or KeyError if it is malformed.
        """
        if rows is None:
            return None
        transactions = PartitionTransactions()
        for producer_id, epoch, first_offset in rows["ongoing"]:
            transactions.ongoing[checked(producer_id, _LAST_OFFSET)] = OngoingTransaction(
                checked(first_offset, end_offset - 1), checked(epoch, _LAST_EPOCH)
            )
        transactions.ongoing = _by_first_offset(transactions.ongoing)
        last = -1
        for producer_id, first_offset, last_offset, stable_offset in rows["aborted"]:
            transactions._add_aborted(
                checked(producer_id, _LAST_OFFSET),
                checked(first_offset, end_offset - 1),
                checked(last_offset, end_offset - 1, first=last + 1),
                checked(stable_offset, end_offset),
            )
            last = last_offset
        return transactions

    @property
    def _aborted(self) -> tuple[array[int], ...]:
        return self._aborted_producers, self._aborted_first, self._aborted_last, self._aborted_stable

    def _add_aborted(self, *row: int) -> None:
        for column, value in zip(self._aborted, row, strict=True):
            column.append(value)


def _by_first_offset(ongoing: Mapping[int, OngoingTransaction]) -> dict[int, OngoingTransaction]:
    return dict(sorted(ongoing.items(), key=lambda item: item[1].first_offset))

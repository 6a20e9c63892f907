"""The tail cache: the newest batches of each partition in memory, so that consumers that keep up need no disk read.

A `Tail` holds the last batches of one partition, without a gap up to the end of its log. It also tells how many bytes
are between an offset and the end, which a long poll needs: each batch has its position in the stream of all bytes
appended since the start.

A `TailBudget` bounds all tails together. If it is exceeded, the partition that was written longest ago drops its oldest
batches first, as its readers had the most time. Batches that are not cached are read from the log.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

OVERHEAD_BYTES: Final = 150  # memory of the objects around one small batch
_COMPACT_AT: Final = 256  # dropped entries at the front of the lists before the lists are shortened


class TailBudget:
    """Limits the bytes of all tails together."""

    __slots__ = ("_by_age", "limit_bytes", "per_tail_bytes", "used_bytes")

    def __init__(self, limit_bytes: int, per_tail_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.per_tail_bytes = per_tail_bytes
        self.used_bytes = 0
        self._by_age: dict[Tail, None] = {}  # tails that are not empty, the one written longest ago first

    def written(self, tail: Tail) -> None:
        """Note that `tail` grew. It is the youngest now; drop old batches if a limit is exceeded."""
        self._by_age.pop(tail, None)
        self._by_age[tail] = None
        while tail.held_bytes > self.per_tail_bytes:
            tail.drop_oldest()
        while self.used_bytes > self.limit_bytes:
            next(iter(self._by_age)).drop_oldest()

    def emptied(self, tail: Tail) -> None:
        """Note that `tail` is empty."""
        self._by_age.pop(tail, None)

    def __repr__(self) -> str:
        return f"<TailBudget {self.used_bytes} of {self.limit_bytes} bytes in {len(self._by_age)} tails>"


class Tail:
    """The last batches of one partition. `end_position` counts every byte appended, also those no longer held."""

    __slots__ = ("_bases", "_batches", "_budget", "_head", "_positions", "end_position", "held_bytes")

    def __init__(self, budget: TailBudget) -> None:
        self._budget = budget
        self._bases: list[int] = []
        self._positions: list[int] = []
        self._batches: list[bytes | None] = []
        self._head = 0
        self.end_position = 0
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._bases) - self._head

    def append(self, base_offset: int, batch: bytes) -> None:
        """Add a batch that was appended to the log at `base_offset`."""
        self._bases.append(base_offset)
        self._positions.append(self.end_position)
        self._batches.append(batch)
        size = len(batch)
        self.end_position += size
        self.held_bytes += size + OVERHEAD_BYTES
        self._budget.used_bytes += size + OVERHEAD_BYTES
        self._budget.written(self)

    def position_of(self, offset: int) -> int | None:
        """Return the position of the batch with `offset` among all bytes; None if it is not cached."""
        index = bisect_right(self._bases, offset, self._head) - 1
        return self._positions[index] if index >= self._head else None

    def read(self, offset: int, max_bytes: int, up_to_offset: int, *, at_least_one: bool) -> list[bytes] | None:
        """Return whole batches from the one with `offset`, as many as the limits allow; None if it is not cached."""
        bases, batches = self._bases, self._batches
        index = bisect_right(bases, offset, self._head) - 1
        if index < self._head:
            return None
        found: list[bytes] = []
        while index < len(bases) and bases[index] < up_to_offset:
            batch = batches[index]
            if batch is None:
                break  # not reached: only batches before the head are None
            max_bytes -= len(batch)
            if max_bytes < 0 and not (at_least_one and not found):
                break
            found.append(batch)
            index += 1
        return found

    def drop_oldest(self) -> None:
        """Drop the oldest batch."""
        head = self._head
        batch = self._batches[head]
        self._batches[head] = None
        self._head = head + 1
        self._forget(batch)
        if self._head >= _COMPACT_AT and self._head * 2 >= len(self._bases):
            del self._bases[: self._head], self._positions[: self._head], self._batches[: self._head]
            self._head = 0

    def truncate(self, offset: int) -> None:
        """Drop the batches from `offset` on, after the log was truncated there."""
        while len(self) and self._bases[-1] >= offset:
            self._bases.pop()
            self.end_position = self._positions.pop()
            self._forget(self._batches.pop())

    def drop_before(self, offset: int) -> None:
        """Drop whole batches before `offset`, the new start of the log."""
        while len(self) > 1 and self._bases[self._head + 1] <= offset:
            self.drop_oldest()

    def clear(self) -> None:
        """Drop all batches."""
        while len(self):
            self.drop_oldest()

    def _forget(self, batch: bytes | None) -> None:
        if batch is not None:
            self.held_bytes -= len(batch) + OVERHEAD_BYTES
            self._budget.used_bytes -= len(batch) + OVERHEAD_BYTES
        if self._head >= len(self._bases):
            self._budget.emptied(self)
            del self._bases[:], self._positions[:], self._batches[:]
            self._head = 0

"""Hashed hierarchical timing wheel: constant time to start and to cancel, for many timers.

A ring has 20 buckets, one per millisecond. A timer that is due later than one turn waits in the next, coarser ring (20
ms, 400 ms, 8 s, ... per bucket, created on demand) and moves down when its time comes near. A heap holds the buckets
with entries, so that empty ticks cost nothing and the driver knows when to call.

Promises: entries fire in the order of deadlines, at the first `advance` that reaches them; an entry cancelled between
firing and `pop_due` does not run; an entry started with a past deadline waits for the next `advance`, so that a handler
that restarts itself cannot run for ever. One `advance` moves a bounded number of entries; the rest is due at once.
Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987); Kafka's SystemTimer.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Generic, TypeVar, cast

from coordinator.core.purgatory.mypyc import mypyc_attr

BUCKETS_PER_WHEEL: Final = 20
MOVES_AT_ONCE: Final = 5000  # entries moved by one `advance`, about four milliseconds
_NOT_QUEUED: Final = -1


@mypyc_attr(allow_interpreted_subclasses=True)
class TimerEntry:
    """A timer that can be on one wheel, at most once. Subclasses define what happens when it fires."""

    __slots__ = ("_next", "_previous", "fires_at_ms")

    def __init__(self) -> None:
        self.fires_at_ms = -1  # while armed; before, the owner may keep the deadline here
        self._previous: TimerEntry | None = None  # neighbours in the list of its bucket
        self._next: TimerEntry | None = None

    @property
    def is_armed(self) -> bool:
        return self._next is not None


class EntryList(TimerEntry):
    """Entries in order of arrival: the head of a circular doubly linked list.

    The links cost 16 bytes per entry, where a dict takes up to a hundred. Each member of each group has one entry.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self._previous = self._next = self

    @property
    def first(self) -> TimerEntry | None:
        """The oldest entry; None if there is none."""
        return None if self._next is self else self._next

    @property
    def is_empty(self) -> bool:
        return self._next is self

    def add(self, entry: TimerEntry) -> None:
        """Append an entry."""
        last = cast("TimerEntry", self._previous)
        entry._previous = last
        entry._next = self
        last._next = self._previous = entry

    def take_first(self) -> TimerEntry | None:
        """Remove and return the oldest entry."""
        first = self._next
        if first is None or first is self:
            return None
        self._next = following = cast("TimerEntry", first._next)
        following._previous = self
        first._previous = first._next = None
        return first


class _Bucket(EntryList):
    """The entries of one tick of one ring."""

    __slots__ = ("starts_at_ms",)

    def __init__(self) -> None:
        super().__init__()
        self.starts_at_ms = _NOT_QUEUED  # start of its tick while it is in the heap


def take_out(entry: TimerEntry) -> None:
    """Remove an entry from its list, if it is in one."""
    previous, following = entry._previous, entry._next
    if previous is not None and following is not None:
        previous._next = following
        following._previous = previous
    entry._previous = entry._next = None


class _Ring:
    __slots__ = ("buckets", "depth", "tick_ms")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.tick_ms = BUCKETS_PER_WHEEL**depth
        self.buckets = [_Bucket() for _ in range(BUCKETS_PER_WHEEL)]


E = TypeVar("E", bound=TimerEntry)


class TimingWheel(Generic[E]):
    """Timers by absolute time in milliseconds of the caller's clock."""

    __slots__ = ("_armed", "_clock_ms", "_due", "_late", "_queue", "_rings", "has_new_deadline")

    def __init__(self, start_ms: int = 0) -> None:
        self._clock_ms = start_ms
        self._rings = [_Ring(0)]
        self._queue: list[tuple[int, int, _Bucket]] = []  # (start of its tick, minus its depth, bucket)
        self._late = EntryList()  # started with a past deadline; the next advance makes them due
        self._due = EntryList()  # fired, not yet taken by pop_due
        self._armed = 0
        self.has_new_deadline = False  # `next_deadline_ms` may be earlier than at its last call

    def __len__(self) -> int:
        """Return the number of armed entries, including those that fired and were not taken yet."""
        return self._armed

    def __repr__(self) -> str:
        return f"<TimingWheel at {self._clock_ms} ms: {self._armed} armed in {len(self._rings)} rings>"

    def start(self, entry: E, deadline_ms: int) -> None:
        """Arm `entry` for `deadline_ms`, or move it there if it is armed."""
        if entry._next is not None:
            take_out(entry)
        else:
            self._armed += 1
        entry.fires_at_ms = deadline_ms
        if deadline_ms <= self._clock_ms:
            self._late.add(entry)
            self.has_new_deadline = True
        else:
            self._place(entry)

    def cancel(self, entry: E) -> bool:
        """Disarm `entry`; False if it was not armed."""
        if entry._next is None:
            return False
        take_out(entry)
        self._armed -= 1
        return True

    def advance(self, now_ms: int) -> None:
        """Advance the clock to `now_ms`. `pop_due` returns the entries that fire."""
        due = self._due
        while (entry := self._late.take_first()) is not None:
            due.add(entry)
        queue = self._queue
        moves = MOVES_AT_ONCE
        while queue and queue[0][0] <= now_ms:
            tick_start, _, bucket = queue[0]  # stays first: its entries move to buckets that start later, or are finer
            self._clock_ms = max(self._clock_ms, tick_start)
            while (entry := bucket.take_first()) is not None:
                if entry.fires_at_ms <= tick_start:
                    due.add(entry)
                else:
                    self._place(entry)
                moves -= 1
                if not moves:
                    return
            heappop(queue)
            bucket.starts_at_ms = _NOT_QUEUED
        if now_ms > self._clock_ms:
            self._clock_ms = now_ms

    def pop_due(self) -> E | None:
        """Disarm and return the next entry that fired; None if there is none."""
        entry = self._due.take_first()
        if entry is not None:
            self._armed -= 1
        return cast("E | None", entry)  # only `start` adds entries, and it takes E

    def next_deadline_ms(self) -> int | None:
        """Return the latest time for the next `advance`: the start of the earliest tick with entries, or None.

        A coarse tick starts before the deadlines of its entries.
        """
        self.has_new_deadline = False
        if not (self._due.is_empty and self._late.is_empty):
            return self._clock_ms
        queue = self._queue
        while queue and queue[0][2].is_empty:  # emptied by cancellations
            heappop(queue)[2].starts_at_ms = _NOT_QUEUED
        return queue[0][0] if queue else None

    def _place(self, entry: TimerEntry) -> None:
        """Put an entry into the finest ring in which its deadline is less than one turn away."""
        deadline_ms, clock_ms = entry.fires_at_ms, self._clock_ms
        for ring in self._rings:
            tick = deadline_ms // ring.tick_ms
            if tick - clock_ms // ring.tick_ms < BUCKETS_PER_WHEEL:
                break
        else:
            ring = self._grow(deadline_ms)
            tick = deadline_ms // ring.tick_ms
        bucket = ring.buckets[tick % BUCKETS_PER_WHEEL]
        bucket.add(entry)
        if bucket.starts_at_ms == _NOT_QUEUED:
            # At equal times coarse buckets come first: their entries move down before the fine tick fires.
            bucket.starts_at_ms = tick * ring.tick_ms
            self.has_new_deadline = True
            heappush(self._queue, (bucket.starts_at_ms, -ring.depth, bucket))

    def _grow(self, deadline_ms: int) -> _Ring:
        while True:
            ring = _Ring(len(self._rings))
            self._rings.append(ring)
            if deadline_ms // ring.tick_ms - self._clock_ms // ring.tick_ms < BUCKETS_PER_WHEEL:
                return ring

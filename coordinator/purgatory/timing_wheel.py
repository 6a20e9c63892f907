"""The hierarchical hashed timing wheel: many timers, constant time to start and to cancel.

A ring of 20 buckets, one per millisecond; a timer due further away than one turn waits in the next, coarser ring
(20 ms, 400 ms, 8 s, ... per bucket, made on demand) and moves down when its time comes near. A heap holds the buckets
that have entries, at most one item per bucket, so that empty ticks cost nothing and the driver knows when to call.

Promises: an entry fires at the first `advance` that reaches its deadline, never before it, in the order of deadlines;
an entry cancelled after it fired and before it was taken does not run; an entry that is started late (its deadline is
already past) waits for the next `advance`, so that a handler that starts itself again cannot run for ever in one event.
See Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987).
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

BUCKETS_PER_WHEEL: Final = 20
_NOT_QUEUED: Final = -1


class TimerEntry:
    """Something that can be on one wheel, at most once. Subclasses say what happens when it fires."""

    __slots__ = ("_bucket", "fires_at_ms")

    def __init__(self) -> None:
        self.fires_at_ms = -1  # meaningful while armed
        self._bucket: _Bucket | None = None

    @property
    def is_armed(self) -> bool:
        return self._bucket is not None


class _Bucket(dict[TimerEntry, None]):
    """The entries of one tick of one ring, in the order they came. A dict, so that taking one out is cheap."""

    __slots__ = ("starts_at_ms",)

    def __init__(self) -> None:
        self.starts_at_ms = _NOT_QUEUED  # the tick it stands for while it is in the heap


class _Ring:
    __slots__ = ("buckets", "depth", "tick_ms")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.tick_ms = BUCKETS_PER_WHEEL**depth
        self.buckets = [_Bucket() for _ in range(BUCKETS_PER_WHEEL)]


E = TypeVar("E", bound=TimerEntry)


class TimingWheel(Generic[E]):
    """Timers by absolute time in milliseconds of the clock that is handed in."""

    __slots__ = ("_armed", "_clock_ms", "_due", "_due_order", "_late", "_queue", "_rings")

    def __init__(self, start_ms: int = 0) -> None:
        self._clock_ms = start_ms
        self._rings = [_Ring(0)]
        self._queue: list[tuple[int, int, _Bucket]] = []  # (start of its tick, minus its depth, bucket)
        self._late = _Bucket()  # started when already past; the next advance makes them due
        self._due = _Bucket()  # fired, and not yet taken by pop_due
        self._due_order: deque[TimerEntry] = deque()
        self._armed = 0

    def __len__(self) -> int:
        """How many entries are armed, those that fired and were not taken yet included."""
        return self._armed

    def __repr__(self) -> str:
        return f"<TimingWheel at {self._clock_ms} ms: {self._armed} armed in {len(self._rings)} rings>"

    def start(self, entry: E, deadline_ms: int) -> None:
        """Arm `entry` for `deadline_ms`; if it is armed already, move it there."""
        if entry._bucket is not None:
            del entry._bucket[entry]
        else:
            self._armed += 1
        entry.fires_at_ms = deadline_ms
        if deadline_ms <= self._clock_ms:
            entry._bucket = self._late
            self._late[entry] = None
        else:
            self._place(entry)

    def cancel(self, entry: E) -> bool:
        """Disarm `entry`; False if it was not armed."""
        bucket = entry._bucket
        if bucket is None:
            return False
        del bucket[entry]
        entry._bucket = None
        self._armed -= 1
        return True

    def advance(self, now_ms: int) -> None:
        """Let time pass until `now_ms`. What fires is then handed out by `pop_due`."""
        if self._late:
            late, self._late = self._late, _Bucket()
            for entry in late:
                self._make_due(entry)
        queue = self._queue
        while queue and queue[0][0] <= now_ms:
            tick_start, _, bucket = heappop(queue)
            bucket.starts_at_ms = _NOT_QUEUED
            self._clock_ms = max(self._clock_ms, tick_start)
            entries = list(bucket)
            bucket.clear()
            for entry in entries:
                if entry.fires_at_ms <= tick_start:
                    self._make_due(entry)
                else:
                    self._place(entry)
        if now_ms > self._clock_ms:
            self._clock_ms = now_ms

    def pop_due(self) -> E | None:
        """The next entry that fired, disarmed; None when there is none left."""
        order, due = self._due_order, self._due
        while order:
            entry = order.popleft()
            if entry in due:
                del due[entry]
                entry._bucket = None
                self._armed -= 1
                return entry  # type: ignore[return-value]  # only `start` puts entries here, and it takes E
        return None

    def next_deadline_ms(self) -> int | None:
        """When to call `advance` at the latest: the earliest tick with entries; a coarse one starts before they do."""
        if self._due or self._late:
            return self._clock_ms
        queue = self._queue
        while queue and not queue[0][2]:  # emptied by cancellations: not worth waking up for
            heappop(queue)[2].starts_at_ms = _NOT_QUEUED
        return queue[0][0] if queue else None

    def _make_due(self, entry: TimerEntry) -> None:
        entry._bucket = self._due
        self._due[entry] = None
        self._due_order.append(entry)

    def _place(self, entry: TimerEntry) -> None:
        """Into the finest ring where the deadline is less than one turn away from the clock."""
        deadline_ms, clock_ms = entry.fires_at_ms, self._clock_ms
        for ring in self._rings:
            tick = deadline_ms // ring.tick_ms
            if tick - clock_ms // ring.tick_ms < BUCKETS_PER_WHEEL:
                break
        else:
            ring = self._grow(deadline_ms)
            tick = deadline_ms // ring.tick_ms
        bucket = ring.buckets[tick % BUCKETS_PER_WHEEL]
        bucket[entry] = None
        entry._bucket = bucket
        if bucket.starts_at_ms == _NOT_QUEUED:
            # Coarse before fine at the same moment: its entries move down, or run, before the finer tick is emptied.
            bucket.starts_at_ms = tick * ring.tick_ms
            heappush(self._queue, (bucket.starts_at_ms, -ring.depth, bucket))

    def _grow(self, deadline_ms: int) -> _Ring:
        while True:
            ring = _Ring(len(self._rings))
            self._rings.append(ring)
            if deadline_ms // ring.tick_ms - self._clock_ms // ring.tick_ms < BUCKETS_PER_WHEEL:
                return ring

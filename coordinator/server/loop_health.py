"""Measures how late the event loop is: a callback delays every client for as long as it runs.

There are two measures, because neither suffices alone. A tick that is due every `TICK_S` sees any stall by its own
lateness, but wakes the processor a hundred times a second. So it runs only under traffic (`BUSY_EVENTS` events within a
second); an idle machine is woken by the housekeeping of once a second only. And the server times its own work by name
(`record`), which gives the cause. Of both the longer one counts, once for each tick or second.

`longest_s` since the start and `recent_s` of the last minute go to /metrics, with a histogram. A stall over
loop.stall.warn.ms is a WARN line if the server caused it: it had the processor for half of the time, or its recorded
work took half. Any other stall is a line at DEBUG. There is at most one WARN line in `WARN_EVERY_S`; the longest stall
in between is logged when that time is over, with their number.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from coordinator.metrics.histogram import STALL_BOUNDS_S, Histogram

LOG = logging.getLogger("coordinator.loop_health")

TICK_S: Final = 0.01
BUSY_EVENTS: Final = 50  # in a second; a laptop with a few consumers has one or two
RECENT_S: Final = 60
WARN_EVERY_S: Final = 10.0
NOTABLE_S: Final = 0.002  # shorter work is not recorded


class LoopTimer(Protocol):
    def cancel(self) -> object: ...


class TimerLoop(Protocol):
    """The part of an asyncio loop that is used here."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Any: ...


class LoopHealth:
    """The measurement of one loop. Methods run on the loop's thread; any thread may read the properties."""

    def __init__(
        self, loop: TimerLoop, warn_ms: int, events: Callable[[], int], cpu: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.stalls = Histogram(STALL_BOUNDS_S)
        self._loop = loop
        self._warn_s = warn_ms / 1000
        self._events = events  # returns the number of events so far
        self._cpu = cpu  # returns the processor time of the loop's thread in seconds
        self._cpu_seen_s = 0.0
        self._seen_events = 0
        self._worst_s = 0.0  # the longest that was recorded since the last look
        self._worst_what = ""
        self._seconds: deque[float] = deque(
            [0.0], maxlen=RECENT_S
        )  # the longest stall of each second; the last one is still running
        self._due = float("inf")  # when this should be called next, by either timer
        self._tick: LoopTimer | None = None
        self._may_warn_at = float("-inf")
        self._unsaid = 0
        self._longest_unsaid: tuple[float, float, str, float] = (0.0, 0.0, "", 0.0)  # stall, cpu, what, when

    # -- figures -------------------------------------------------------------------------------------------------

    @property
    def longest_s(self) -> float:
        """Longest stall since the start, including one that is going on."""
        return max(self.stalls.longest, self._late_now())

    @property
    def recent_s(self) -> float:
        """Longest stall within the last minute, including one that is going on."""
        return max(*tuple(self._seconds), self._worst_s, self._late_now())

    def _late_now(self) -> float:
        return max(self._loop.time() - self._due, 0.0)

    # -- measuring -----------------------------------------------------------------------------------------------

    def record(self, what: str, seconds: float) -> None:
        """Record work that kept the loop for `seconds`. Called for work of `NOTABLE_S` or more."""
        if seconds > self._worst_s:
            self._worst_s = seconds
            self._worst_what = what

    def second(self, due: float, next_due: float) -> None:
        """Run the housekeeping of a second, due at `due` in seconds of the loop's clock; the next is at `next_due`."""
        if self._tick is None:
            self._look(due)
        self._seconds.append(0.0)
        if self._unsaid and self._loop.time() >= self._may_warn_at:
            self._say_longest()
        events = self._events()
        is_busy = events - self._seen_events >= BUSY_EVENTS
        self._seen_events = events
        if not is_busy:
            self.stop()
            self._due = next_due
        elif self._tick is None:
            self._arm()

    def stop(self) -> None:
        """Stop the ticks."""
        tick, self._tick = self._tick, None
        if tick is not None:
            tick.cancel()
        self._due = float("inf")

    def _arm(self) -> None:
        self._due = self._loop.time() + TICK_S
        self._tick = self._loop.call_at(self._due, self._ticked)

    def _ticked(self) -> None:
        self._look(self._due)
        self._arm()

    def _look(self, due: float) -> None:
        now = self._loop.time()
        late = now - due
        known, what, self._worst_s, self._worst_what = self._worst_s, self._worst_what, 0.0, ""
        stall = max(late, known, 0.0)
        cpu_s = self._cpu()
        had_s, self._cpu_seen_s = cpu_s - self._cpu_seen_s, cpu_s
        self.stalls.observe(stall)
        if stall > self._seconds[-1]:
            self._seconds[-1] = stall
        if stall > self._warn_s:
            what = f"{what} for {known * 1000:.0f} ms" if what else "unknown"
            if max(had_s, known) < stall / 2:
                LOG.debug("event loop had no processor for_ms=%d cpu_ms=%d doing=%s", stall * 1000, had_s * 1000, what)
            else:
                self._warn(stall, had_s, what, now)

    def _warn(self, stall: float, had_s: float, what: str, now: float) -> None:
        self._unsaid += 1
        self._longest_unsaid = max(self._longest_unsaid, (stall, had_s, what, now))
        if now >= self._may_warn_at:
            self._say_longest()

    def _say_longest(self) -> None:
        stall, had_s, what, ended_at = self._longest_unsaid
        others = self._unsaid - 1
        self._unsaid, self._longest_unsaid = 0, (0.0, 0.0, "", 0.0)
        now = self._loop.time()
        self._may_warn_at = now + WARN_EVERY_S
        ago_s = now - ended_at
        LOG.warning(
            "event loop stalled for_ms=%d cpu_ms=%d doing=%s; all clients waited (loop.stall.warn.ms)%s%s",
            stall * 1000,
            had_s * 1000,
            what,
            f", {ago_s:.0f} s ago" if ago_s >= 1 else "",
            f"; the longest of {others + 1} since the last such line" if others else "",
        )

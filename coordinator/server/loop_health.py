"""How late the event loop is: whatever runs on it keeps everybody else waiting for as long.

Two measures, because neither is enough alone. A tick that is due every `TICK_S` sees any stall, whoever caused it, by
how late it comes; but it wakes the processor a hundred times a second. So it runs only while there is traffic
(`BUSY_EVENTS` events within a second); on an idle machine nothing is woken that did not wake before, the housekeeping
of once a second. What the server does itself is timed where it begins and ends (`record`): that names the culprit, and
sees a scan at night as well. Of both the greater counts, once for each tick or second.

`longest_s` since the start and `recent_s` of the last minute go to /metrics, with a histogram. A stall over
loop.stall.warn.ms that is the server's own is one WARN line: it worked for half of the time at least, or what it did
itself took half of it. Any other is the machine's, which had no processor for it: a line at DEBUG. There is at most one
WARN line in `WARN_EVERY_S`. Of the stalls in between the longest is told when that time is over, with their number.
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
NOTABLE_S: Final = 0.002  # what took less is not worth a call of `record`


class LoopTimer(Protocol):
    def cancel(self) -> object: ...


class TimerLoop(Protocol):
    """The part of an asyncio loop that the clock uses."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Any: ...


class LoopHealth:
    """All on the loop's thread, but for the properties, which any thread may read."""

    def __init__(
        self, loop: TimerLoop, warn_ms: int, events: Callable[[], int], cpu: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.stalls = Histogram(STALL_BOUNDS_S)
        self._loop = loop
        self._warn_s = warn_ms / 1000
        self._events = events  # how many there have been
        self._cpu = cpu  # seconds of processor time that the loop's thread has had
        self._cpu_seen_s = 0.0
        self._seen_events = 0
        self._worst_s = 0.0  # of what `record` told since the last look
        self._worst_what = ""
        self._seconds: deque[float] = deque([0.0], maxlen=RECENT_S)  # the longest stall of each; the last runs
        self._due = float("inf")  # when this should be called next, whichever timer does it
        self._tick: LoopTimer | None = None
        self._may_warn_at = float("-inf")
        self._unsaid = 0
        self._longest_unsaid: tuple[float, float, str, float] = (0.0, 0.0, "", 0.0)  # stall, cpu, what, when

    # -- figures -------------------------------------------------------------------------------------------------

    @property
    def longest_s(self) -> float:
        """Since the start; one that is going on counts."""
        return max(self.stalls.longest, self._late_now())

    @property
    def recent_s(self) -> float:
        """Within the last minute; one that is going on counts."""
        return max(*tuple(self._seconds), self._worst_s, self._late_now())

    def _late_now(self) -> float:
        return max(self._loop.time() - self._due, 0.0)

    # -- measuring -----------------------------------------------------------------------------------------------

    def record(self, what: str, seconds: float) -> None:
        """Something is over that kept the loop for so long. Worth calling from `NOTABLE_S` on."""
        if seconds > self._worst_s:
            self._worst_s = seconds
            self._worst_what = what

    def second(self, due: float, next_due: float) -> None:
        """The housekeeping of a second, due at `due` (seconds of the loop's clock); the next one is at `next_due`."""
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
        """No more ticks."""
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
            "event loop stalled for_ms=%d cpu_ms=%d doing=%s; everybody waited (loop.stall.warn.ms)%s%s",
            stall * 1000,
            had_s * 1000,
            what,
            f", {ago_s:.0f} s ago" if ago_s >= 1 else "",
            f"; the longest of {others + 1} since the last such line" if others else "",
        )

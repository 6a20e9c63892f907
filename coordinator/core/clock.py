"""Clock of the node: the event loop's clock, minus the time during which the process did not run.

A process may be stopped (SIGSTOP, a paused container), moved to another machine, or get no processor. Requests that
arrive meanwhile wait in the sockets, and timers would fire before they are read: every session would end, although each
heartbeat was sent in time. Therefore the clock stops when the housekeeping, due once a second, is `LATE_S` late, and
continues from there when the housekeeping runs again. All deadlines are times of this clock: sessions, rebalances,
pending member ids, appends, long polls, idle connections. They move by the lost time. The clock never goes back.

It is also stopped on purpose (`halt`) while the node may not answer, because its lease of the partitions has ended: no
member can be expelled for heartbeats that were refused.
"""

from __future__ import annotations

import sys
from typing import Final, Protocol

HOUSEKEEPING_S: Final = 1.0  # between two rounds of the housekeeping
LATE_S: Final = 0.25  # a busy loop is less late than this; more means that the process did not run
_NEVER: Final = sys.maxsize


class LoopTime(Protocol):
    """The part of an asyncio event loop that the clock uses."""

    def time(self) -> float: ...


class Clock:
    """Milliseconds since an arbitrary moment, without the lost time."""

    __slots__ = ("_loop_s", "_lost_ms", "_now_ms", "_stops_ms", "_time", "is_halted", "skipped_ms")

    def __init__(self, loop: LoopTime, skipped_ms: int = 0) -> None:
        self._time = loop.time
        self._lost_ms = 0
        self.is_halted = False
        self.skipped_ms = skipped_ms  # by `skip`, earlier runs included: the core's wall clock goes forward as well
        self._stops_ms = _NEVER  # where the clock stops unless the housekeeping runs before
        self._loop_s = -1.0  # the loop's time at the last call,
        self._now_ms = 0  # and the result; uvloop's time is the same for many requests

    def now_ms(self) -> int:
        """Return the current time, which every event is given."""
        loop_s = self._time()
        if loop_s != self._loop_s:
            self._loop_s = loop_s
            self._now_ms = min(int(loop_s * 1000) - self._lost_ms, self._stops_ms)
        return self._now_ms

    def loop_time(self, at_ms: int) -> float:
        """Convert a time of this clock to seconds of the event loop's clock."""
        return (at_ms + self._lost_ms) / 1000

    def housekept(self, next_due: float) -> int:
        """Note that the housekeeping runs and is due again at loop time `next_due`. Returns the ms lost before it."""
        lost_ms = max(int(self._time() * 1000) - self._lost_ms - self._stops_ms, 0)
        self._lost_ms += lost_ms
        self._loop_s = -1.0
        if self.is_halted:
            return 0
        self._stops_ms = int((next_due + LATE_S) * 1000) - self._lost_ms
        return lost_ms

    def halt(self) -> None:
        """Stop the clock until `go_on`."""
        self._stops_ms = self.now_ms()
        self.is_halted = True

    def go_on(self) -> None:
        """Continue from where `halt` has stopped the clock."""
        if self.is_halted:
            self.housekept(0.0)
            self.is_halted = False
            self._stops_ms = int((self._time() + HOUSEKEEPING_S + LATE_S) * 1000) - self._lost_ms

    def skip(self, ms: int) -> None:
        """Go forward by some time that does not pass."""
        self._lost_ms -= ms
        self.skipped_ms += ms
        if self._stops_ms != _NEVER:
            self._stops_ms += ms
        self._loop_s = -1.0

    def run_on(self) -> None:
        """Disable stopping, because the housekeeping has ended."""
        self.go_on()
        self._stops_ms = _NEVER
        self._loop_s = -1.0

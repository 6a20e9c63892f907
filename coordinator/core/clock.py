"""The clock of the node: the event loop's, less the time in which the process did not run.

A process may be stopped (SIGSTOP, a paused container), moved to another machine, or get no processor. What clients
sent meanwhile waits in the sockets, and timers would fire before it is read: every session would end, although each
heartbeat came in time. So the clock stops where the housekeeping of once a second is `LATE_S` late, and goes on from
there when the housekeeping runs again. All deadlines are times of this clock: sessions, rebalances, handed out member
ids, appends, long polls, idle connections. They move by the time that was lost, and the clock never goes back.
"""

from __future__ import annotations

import sys
from typing import Final, Protocol

LATE_S: Final = 0.25  # a busy loop is late by less; what is later was not the clients' doing
_NEVER: Final = sys.maxsize


class LoopTime(Protocol):
    """The part of an asyncio loop that the clock uses."""

    def time(self) -> float: ...


class Clock:
    """Milliseconds since some moment, without the time that was lost."""

    __slots__ = ("_loop_s", "_lost_ms", "_now_ms", "_stops_ms", "_time")

    def __init__(self, loop: LoopTime) -> None:
        self._time = loop.time
        self._lost_ms = 0
        self._stops_ms = _NEVER  # where it stops unless the housekeeping runs before
        self._loop_s = -1.0  # the loop's time that was seen last,
        self._now_ms = 0  # and what it was here: uvloop's time is the same for many requests

    def now_ms(self) -> int:
        """The time of every event."""
        loop_s = self._time()
        if loop_s != self._loop_s:
            self._loop_s = loop_s
            self._now_ms = min(int(loop_s * 1000) - self._lost_ms, self._stops_ms)
        return self._now_ms

    def loop_time(self, at_ms: int) -> float:
        """When it will be `at_ms`, in seconds of the event loop's clock."""
        return (at_ms + self._lost_ms) / 1000

    def housekept(self, next_due: float) -> int:
        """The housekeeping runs, and is due again at `next_due` of the loop's clock. Returns the ms lost before it."""
        lost_ms = max(int(self._time() * 1000) - self._lost_ms - self._stops_ms, 0)
        self._lost_ms += lost_ms
        self._stops_ms = int((next_due + LATE_S) * 1000) - self._lost_ms
        self._loop_s = -1.0
        return lost_ms

    def run_on(self) -> None:
        """There is no housekeeping any more, and no reason to stop."""
        self._stops_ms = _NEVER
        self._loop_s = -1.0

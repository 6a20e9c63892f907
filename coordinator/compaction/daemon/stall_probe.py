"""How late the event loop is, as a client would feel it: a timer that is due every millisecond, and when it really ran.

It runs while segments are exchanged, and for a while before, for comparison: a loop that serves commits is never quite
on time, and only what is added by the exchange is its doing. Under uvloop a timer may be one millisecond late without
any reason. Costs a callback per millisecond, so it never runs longer than it has to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

STEP_S: Final = 0.001


class ProbedLoop(Protocol):
    """What is used of an asyncio loop."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any: ...


class StallProbe:
    """`start`, then `stop`, which tells the longest delay in seconds. All on the loop's thread."""

    def __init__(self, loop: ProbedLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self._loop = loop
        self._clock = clock
        self._due = 0.0
        self._longest_s = 0.0
        self._handle: Any = None

    def start(self) -> StallProbe:
        """From now on."""
        self._longest_s = 0.0
        self._arm()
        return self

    def _arm(self) -> None:
        self._due = self._clock() + STEP_S
        self._handle = self._loop.call_later(STEP_S, self._look)

    def _look(self) -> None:
        self._note()
        self._arm()

    def _note(self) -> None:
        self._longest_s = max(self._longest_s, self._clock() - self._due)

    def stop(self) -> float:
        """The longest delay since `start`, in seconds; one that lasts until now counts."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._note()
        return self._longest_s

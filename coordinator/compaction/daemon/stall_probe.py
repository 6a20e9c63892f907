"""Measures the delay of the event loop by a timer that is due every millisecond.

It runs while segments are swapped, and for a while before, for comparison: a loop that serves commits is never quite on
time, and only the difference is caused by the swap. Under uvloop a timer may be one millisecond late without any
reason. It costs a callback per millisecond, so it runs only for a short time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

STEP_S: Final = 0.001


class ProbedLoop(Protocol):
    """The part of an asyncio loop that is used here."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any: ...


class StallProbe:
    """Probe between `start` and `stop`, which returns the longest delay in seconds. All on the loop's thread."""

    def __init__(self, loop: ProbedLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self._loop = loop
        self._clock = clock
        self._due = 0.0
        self._longest_s = 0.0
        self._handle: Any = None

    def start(self) -> StallProbe:
        """Begin to measure."""
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
        """Return the longest delay since `start`, in seconds; one that lasts until now counts."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._note()
        return self._longest_s

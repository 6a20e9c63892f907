"""An event loop and a writer thread that the test steps, in virtual time: no threads, no chance."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any


class ManualTimer:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualLoop:
    """Implements `coordinator.storage.log.flusher.EventLoop`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._ready: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._timers: list[tuple[float, int, ManualTimer, Callable[..., object], tuple[Any, ...]]] = []
        self._order = count()

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        self._ready.append((callback, args))

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> ManualTimer:
        timer = ManualTimer()
        heapq.heappush(self._timers, (self.now + delay, next(self._order), timer, callback, args))
        return timer

    def clock(self) -> float:
        return self.now

    def run_ready(self) -> None:
        """Run callbacks until none is left."""
        while self._ready:
            callback, args = self._ready.popleft()
            callback(*args)

    def advance(self, seconds: float) -> None:
        """Advance the clock and call the timers that become due."""
        self.now += seconds
        while self._timers and self._timers[0][0] <= self.now:
            _, _, timer, callback, args = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                self.call_soon(callback, *args)


class ManualWorker:
    """Implements `coordinator.storage.log.writer.WriterQueue`: jobs run when `run` is called."""

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], None]] = deque()

    def put(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def run(self) -> bool:
        """Run all jobs; returns True if there were any."""
        has_run = bool(self.jobs)
        while self.jobs:
            self.jobs.popleft()()
        return has_run

    def join(self) -> None:
        self.run()


def settle(loop: ManualLoop, worker: ManualWorker) -> None:
    """Run the loop and the writer until both have nothing to do."""
    loop.run_ready()
    while worker.run():
        loop.run_ready()

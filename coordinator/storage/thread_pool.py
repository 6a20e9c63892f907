"""Threads that do blocking work for the event loop, and report on the loop's thread.

The loop hands over a piece of work and a `then`; both the work and the telling happen exactly once. Behind an interface
of three methods, so that tests can decide when the work is done, and in which order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

Then = Callable[[Any, BaseException | None], None]


class Executor(Protocol):
    """Threads that work for the loop; tests run the work when they choose."""

    def run(self, work: Callable[[], Any], then: Then) -> None:
        """Run `work` in a thread, then `then(result, error)` on the loop."""

    async def drained(self) -> None:
        """Return when nothing is running and everybody was told."""

    def close(self) -> None:
        """End the threads."""


class ThreadPool:
    """The real one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: int, name: str) -> None:
        self._loop = loop
        self._executor = ThreadPoolExecutor(threads, name)
        self._running: set[asyncio.Future[Any]] = set()

    def run(self, work: Callable[[], Any], then: Then) -> None:
        future = self._loop.run_in_executor(self._executor, work)
        self._running.add(future)
        future.add_done_callback(partial(self._done, then))

    def _done(self, then: Then, future: asyncio.Future[Any]) -> None:
        self._running.discard(future)
        if not future.cancelled():
            error = future.exception()
            then(None if error is not None else future.result(), error)

    async def drained(self) -> None:
        while self._running:
            await asyncio.wait(self._running)
            await asyncio.sleep(0)  # `then` runs in a callback, and may ask for more

    def close(self) -> None:
        self._executor.shutdown()

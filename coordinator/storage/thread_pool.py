"""Threads that do blocking work for the event loop, and report on the loop's thread.

The loop hands over `work` and `then`; each is called exactly once. Tests implement `Executor` to decide when and in
which order work is done.

Other code that blocks: `log.writer.WriterThread` runs the rounds of the flusher in order and survives a closed loop;
`log.writer.HelperPool` is called by that thread, which does a share of the work itself and waits for the rest, without
the loop. `compaction.daemon.workers` returns futures, since a job is a coroutine. `run_in_executor(None)` is for single
calls that need neither an order nor a bound, such as reading one file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

Then = Callable[[Any, BaseException | None], None]


class Executor(Protocol):
    """Interface of a pool of threads that works for the loop."""

    def run(self, work: Callable[[], Any], then: Then) -> None:
        """Run `work` in a thread, then `then(result, error)` on the loop."""

    async def drained(self) -> None:
        """Return when no work is running and every `then` was called."""

    def close(self) -> None:
        """End the threads."""


class ThreadPool:
    """`Executor` with real threads, on a `ThreadPoolExecutor`."""

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
            await asyncio.sleep(0)  # `then` runs in a callback and may start more work

    def close(self) -> None:
        self._executor.shutdown()

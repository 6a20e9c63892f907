"""The event loop of the test servers: one thread for all servers of a process, started with the first of them."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, Final, TypeVar

from coordinator.server.server import loop_factory
from coordinator.testing.errors import ServerEndedError

T = TypeVar("T")
STARTED_S: Final = 10.0


class LoopThread:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="coordinator-testing", daemon=True)
        self._thread.start()
        if not self._started.wait(STARTED_S):
            raise RuntimeError(f"the thread of the test server did not start within {STARTED_S:g} s")
        atexit.register(self.close)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            self.loop = runner.get_loop()
            self.loop.call_soon(self._started.set)
            self.loop.run_forever()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop, from any other thread."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("this would wait for itself: call it from another thread than that of the test server")
        if not self._thread.is_alive():  # threads do not survive a fork
            coroutine.close()
            raise ServerEndedError("this server belongs to another process; start one here")
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result."""
        return self.submit(coroutine).result()

    def close(self) -> None:
        """End the loop and the thread."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(STARTED_S)


@cache
def shared_loop_thread() -> LoopThread:
    """Return the loop thread of this process. A forked child starts one of its own: threads do not survive a fork."""
    return LoopThread()


os.register_at_fork(after_in_child=shared_loop_thread.cache_clear)

"""Threads and child processes of the compactor, and its access to the threads that write the logs.

The event loop only submits work and receives the result. Methods called `in_thread_*` are for those threads.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from coordinator.compaction.daemon.memory_rows import MemoryRows
from coordinator.processes import frames
from coordinator.processes.child_process import Children

if TYPE_CHECKING:
    from coordinator.core.committed_rows import Row
    from coordinator.storage.offsets_log import OffsetsLog

CHECKERS: Final = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
"""How many children check a result at once: one for each core."""

THREADS: Final = 3 + CHECKERS  # scanning, a job, swapping, and planning or checking
CHILD: Final = (sys.executable, "-m", "coordinator.compaction.child")

T = TypeVar("T")


class Workers:
    """The workers of one compactor. `committed_rows` gives rows from memory, see `coordinator.core.committed_rows`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        offsets_log: OffsetsLog,
        committed_rows: Callable[[int, int], Iterator[list[Row]] | None],
        *,
        child: Sequence[str] = CHILD,
    ) -> None:
        self.writer_held_s: list[float] = []  # how long each act occupied the writer thread; the reader empties it
        self._loop = loop
        self._child = tuple(child)
        self._children = Children()
        self._threads = ThreadPoolExecutor(THREADS, "compactor")
        self._rows = MemoryRows(loop, committed_rows, lambda partition: offsets_log.log(partition).high_watermark)

    def run(self, act: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Run `act` in one of the threads."""
        return self._loop.run_in_executor(self._threads, act, *arguments)

    def order(self, act: str, order: dict[str, Any], name: str, *, timeout_s: float) -> Awaitable[dict[str, Any]]:
        """Send one order to a child and return its answer; send it the rows that it asks for. Raises ChildError.

        The time limit restarts with every message of the child.
        """
        return self.run(self._in_thread_order, act, order, name, timeout_s)

    def _in_thread_order(self, act: str, order: dict[str, Any], name: str, timeout_s: float) -> dict[str, Any]:
        def converse(stdin: IO[bytes], stdout: IO[bytes], restart_limit: Callable[[], None]) -> dict[str, Any]:
            frames.write(stdin, order)
            while True:
                said: dict[str, Any] = frames.read(stdout)
                restart_limit()
                if "rows_of" in said:
                    self._rows.send(stdin, said["rows_of"], said["below_offset"], restart_limit)
                elif said != frames.ALIVE:
                    return said

        return self._children.run_watched((*self._child, act), converse, timeout_s=timeout_s, name=name)

    def in_thread_on_writer(self, log: OffsetsLog, act: Callable[[], T]) -> T:
        """Run `act` in the thread that writes a coordinator's log; return its result or raise its error."""
        future: Future[T] = Future()

        def timed() -> T:
            started = time.perf_counter()
            try:
                return act()
            finally:
                self.writer_held_s.append(time.perf_counter() - started)

        def then(result: T, error: Exception | None) -> None:
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._loop.call_soon_threadsafe(log.run_in_writer, timed, then)
        return future.result()

    def end_children(self) -> None:
        """End the running children and start no more; their orders raise ChildError."""
        self._children.close()

    def close(self) -> None:
        """Stop the threads, which are idle."""
        self._threads.shutdown()

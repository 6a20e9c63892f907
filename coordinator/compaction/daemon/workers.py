"""Who does the compactor's work: a few threads, the children they wait for, and the thread that writes the logs.

The event loop only hands over and hears the outcome. Methods called `in_thread_*` are for those threads.
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

THREADS: Final = 3 + CHECKERS  # looking, a job, exchanging, and planning or checking
CHILD: Final = (sys.executable, "-m", "coordinator.compaction.child")

T = TypeVar("T")


class Workers:
    """Of one compactor. `committed_rows` is asked for rows from memory, see `coordinator.core.committed_rows`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        offsets_log: OffsetsLog,
        committed_rows: Callable[[int, int], Iterator[list[Row]] | None],
        *,
        child: Sequence[str] = CHILD,
    ) -> None:
        self.writer_held_s: list[float] = []  # how long each act kept the writer thread; whoever reads it empties it
        self._loop = loop
        self._offsets_log = offsets_log
        self._child = tuple(child)
        self._children = Children()
        self._threads = ThreadPoolExecutor(THREADS, "compactor")
        self._rows = MemoryRows(loop, committed_rows, lambda partition: offsets_log.log(partition).high_watermark)

    def run(self, act: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Run `act` in one of the threads."""
        return self._loop.run_in_executor(self._threads, act, *arguments)

    def order(self, act: str, order: dict[str, Any], name: str, *, timeout_s: float) -> Awaitable[dict[str, Any]]:
        """One order to a child of ours, and its answer; rows that it asks for meanwhile it gets. Raises ChildError.

        The time limit begins anew with everything that the child says.
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

    def in_thread_on_writer(self, act: Callable[[], T]) -> T:
        """Run `act` in the thread that writes the logs, and return what it returned, or raise what it raised."""
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

        self._loop.call_soon_threadsafe(self._offsets_log.run_in_writer, timed, then)
        return future.result()

    def end_children(self) -> None:
        """Ask those that run to go, and start no more; whoever waits for them hears of it."""
        self._children.close()

    def close(self) -> None:
        """Nothing is running any more."""
        self._threads.shutdown()

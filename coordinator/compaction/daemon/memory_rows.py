"""Sends rows from memory to the check of a result, in slices that are short enough for the event loop.

A thread drives it: it asks the loop for a slice, writes it to the child, pauses, and asks for the next. A slice takes
rows for about 2 ms, and the loop then has four times as long for other work. A full pipe makes the thread wait, so rows
are not buffered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from coordinator.core.committed_rows import StateChangedError
from coordinator.processes import frames

if TYPE_CHECKING:
    from typing import IO

    from coordinator.core.committed_rows import Row

SLICE_S: Final = 0.002
PAUSE_SHARE: Final = 4  # the pause after a slice, in lengths of that slice
ANSWER_S: Final = 60.0  # a loop that does not answer in this time is stuck

WAIT_S: Final = 1.0  # between reports of progress while another child gets rows

ROWS: Final = "rows"
END: Final = "end"
ABSENT: Final = "absent"

T = TypeVar("T")


class CallingLoop(Protocol):
    """The part of an asyncio loop that is used here."""

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> Any: ...


class MemoryRows:
    """The rows of one daemon. `committed_rows` and `high_watermark` are called on the loop's thread."""

    def __init__(
        self,
        loop: CallingLoop,
        committed_rows: Callable[[int, int], Iterator[list[Row]] | None],
        high_watermark: Callable[[int], int],
    ) -> None:
        self._loop = loop
        self._committed_rows = committed_rows
        self._high_watermark = high_watermark
        self._sending = threading.Lock()
        self.longest_slice_s = 0.0

    def send(
        self, pipe: IO[bytes], partition: int, below_offset: int, progress: Callable[[], None] = lambda: None
    ) -> None:
        """Send all rows of a partition below an offset, then the high watermark. Call it in a thread.

        A partition that is being loaded is reported as absent. OSError if the child has ended. One child gets rows at a
        time, so that several do not take a larger share of the loop. `progress` is called meanwhile.
        """
        while not self._sending.acquire(timeout=WAIT_S):
            progress()
        try:
            self._send(pipe, partition, below_offset, progress)
        finally:
            self._sending.release()

    def _send(self, pipe: IO[bytes], partition: int, below_offset: int, progress: Callable[[], None]) -> None:
        rows = self._on_loop(lambda: self._committed_rows(partition, below_offset))
        if rows is None:
            frames.write(pipe, (ABSENT, 0))
            return
        while True:
            started = time.perf_counter()
            try:
                frame, is_last = self._on_loop(lambda: self._slice(rows))
            except StateChangedError:
                frames.write(pipe, (ABSENT, 0))
                return
            pipe.write(frame)
            progress()
            if is_last:
                frames.write(pipe, (END, self._on_loop(lambda: self._high_watermark(partition))))
                return
            time.sleep(min(PAUSE_SHARE * (time.perf_counter() - started), 0.1))

    def _slice(self, rows: Iterator[list[Row]]) -> tuple[bytes, bool]:
        started = time.perf_counter()
        taken: list[Row] = []
        is_last = True
        for some in rows:
            taken += some
            if time.perf_counter() - started >= SLICE_S:
                is_last = False
                break
        frame = frames.encode((ROWS, taken))
        self.longest_slice_s = max(self.longest_slice_s, time.perf_counter() - started)
        return frame, is_last

    def _on_loop(self, ask: Callable[[], T]) -> T:
        future: Future[T] = Future()

        def call() -> None:
            try:
                future.set_result(ask())
            except BaseException as error:
                future.set_exception(error)

        self._loop.call_soon_threadsafe(call)
        return future.result(ANSWER_S)

"""The threads of group commit: a writer that runs rounds in order, and helpers that work on several logs at once.

A round writes and syncs every log that has queued batches. The logs wait for the device, not for each other, so they
are distributed: the writer takes the first log, then any that no helper has taken yet. Only one thread works on a log
at a time, and logs are passed through a queue. Helpers are started when a round first needs them.

A helper does all of a log's system calls, not only the sync: every return from a system call waits for the
interpreter's lock, for up to `sys.getswitchinterval()` while the event loop is busy, and these waits should overlap.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Protocol


class WriterQueue(Protocol):
    """Interface of the writer thread; tests implement it to decide when a job runs."""

    def put(self, job: Callable[[], None]) -> None:
        """Run `job` after all jobs that were put before."""

    def join(self) -> None:
        """Return when every job has run; no job may be put afterwards."""


class WriterThread:
    """A daemon thread that runs jobs in order."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def put(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def join(self) -> None:
        self._jobs.put(None)
        self._thread.join()


class HelperPool:
    """Runs several calls at once: the caller and a few helpers take them from one queue."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = threads
        self._name = name
        self._helpers: list[threading.Thread] = []
        self._todo: queue.SimpleQueue[tuple[int, Callable[[], None], list[Exception | None]] | None] = (
            queue.SimpleQueue()
        )
        self._done: queue.SimpleQueue[None] = queue.SimpleQueue()

    def run(self, acts: Sequence[Callable[[], None]]) -> list[Exception | None]:
        """Run each of `acts`. Returns in the same order the exception that it raised, or None."""
        errors: list[Exception | None] = [None] * len(acts)
        while len(self._helpers) < min(self._threads, len(acts) - 1):  # started when first needed
            helper = threading.Thread(target=self._help, name=f"{self._name}-helper", daemon=True)
            self._helpers.append(helper)
            helper.start()
        if not self._helpers or len(acts) == 1:
            for number, act in enumerate(acts):
                _do(number, act, errors)
            return errors
        for number in range(1, len(acts)):
            self._todo.put((number, acts[number], errors))
        _do(0, acts[0], errors)
        waiting = len(acts) - 1
        while waiting:
            try:
                job = self._todo.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                _do(*job)
                waiting -= 1
        for _ in range(waiting):
            self._done.get()
        return errors

    def _help(self) -> None:
        while (job := self._todo.get()) is not None:
            _do(*job)
            self._done.put(None)

    def close(self) -> None:
        for _ in self._helpers:
            self._todo.put(None)
        for helper in self._helpers:
            helper.join()


def _do(number: int, act: Callable[[], None], errors: list[Exception | None]) -> None:
    try:
        act()
    except Exception as error:
        errors[number] = error

"""The thread of an assignor of a user: its code runs off the event loop, and may never return.

Each assignor has a thread of its own, so that one that never returns holds up the groups that ask for it, and no other.
It is a daemon thread, because such a one must not keep the process from its end.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.consumer_group.assignors.interface import TargetAssignments


class AssignorThread:
    """The thread, which is started when it is first needed. A group has one call in its queue at most."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[TargetAssignments], Callable[[], TargetAssignments]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], TargetAssignments]) -> Future[TargetAssignments]:
        """Run `work` behind what waits. It does not run if its future is cancelled meanwhile."""
        asked: Future[TargetAssignments] = Future()
        self._waiting.put((asked, work))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="assignor", daemon=True)
            self._thread.start()
        return asked

    def _run(self) -> None:
        while True:
            asked, work = self._waiting.get()
            if asked.set_running_or_notify_cancel():
                try:
                    asked.set_result(work())
                except Exception as error:
                    asked.set_exception(error)

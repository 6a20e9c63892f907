"""A stop has an end, also when the disk does not answer: one line, and exit code 1.

A thread that hangs in a system call cannot be ended, and waiting for it would keep the process for ever, with its port
and its lock. What was acknowledged is on disk already; what was not, clients send again. A thread of its own looks at
the time, because the event loop may be what hangs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator

LOG = logging.getLogger("coordinator.server")


@contextlib.contextmanager
def watchdog(what: str, seconds: float, leave: Callable[[int], object] = os._exit) -> Iterator[None]:
    """What is done within has so long; then the process is left with code 1, whatever its threads are doing."""

    def give_up() -> None:
        LOG.error(
            "%s took longer than %g s and is given up: the disk does not answer, or a defect; "
            "everything acknowledged is safe, look at the disk before the next start",
            what,
            seconds,
        )
        for handler in logging.getLogger().handlers:
            handler.flush()
        leave(1)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

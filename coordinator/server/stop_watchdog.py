"""A time limit for a stop, also when the disk does not answer: one log line, and exit code 1.

A thread that hangs in a system call cannot be ended, and waiting for it would keep the process for ever, with its port
and its lock. Acknowledged records are on disk; clients send others again. A thread of its own watches the time, because
the event loop itself may hang.
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
    """Allow the block `seconds`; then leave the process with code 1, even if threads of it hang."""

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

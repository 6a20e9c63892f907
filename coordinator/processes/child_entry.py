"""The first steps of a child that `child_process.py` started.

The child lowers its priority, reserves its stdout for answers, and watches its lifeline: when the daemon closes the
other end, because it wants the child to end or because it was killed, the child exits at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import IO, Final

from coordinator.processes.child_process import LIFELINE_VARIABLE

NICENESS: Final = 10
CUT_EXIT_CODE: Final = 75


def begin(when_cut: Callable[[], None] = lambda: None) -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes for orders and for answers. A thread calls `when_cut` before the child exits at the cut."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # printed text must not be taken for an answer
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    _watch_lifeline(when_cut)
    return stdin, stdout


def _watch_lifeline(when_cut: Callable[[], None]) -> None:
    number = os.environ.get(LIFELINE_VARIABLE, "")
    if not number:
        return

    def watch() -> None:
        while True:
            with contextlib.suppress(InterruptedError):
                if not os.read(int(number), 1):
                    break
        when_cut()
        os._exit(CUT_EXIT_CODE)

    threading.Thread(target=watch, daemon=True).start()

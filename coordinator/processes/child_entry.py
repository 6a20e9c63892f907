"""The child's end of `child_process.py`: what each entry of a child does before anything else.

It is nice to others, keeps its stdout for answers, and watches its lifeline: when the daemon lets go of the other end,
because it wants the child to end or because it was killed, the child ends at once, whatever it is doing.
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
    """Returns the pipes that orders come from and answers go to. `when_cut` is called before the end, in a thread."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what anybody prints must not be taken for an answer
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

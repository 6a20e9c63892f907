"""A process that ends when its parent does.

The parent holds the other end of the pipe on stdin, and does not write: the pipe ends with it, also if it was killed.
"""

from __future__ import annotations

import os
import signal
import threading


def end_with_stdin() -> None:
    """Send SIGTERM to this process as soon as its stdin ends."""
    threading.Thread(target=_wait_for_end, name="end-with-stdin", daemon=True).start()


def _wait_for_end() -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:  # it was closed already
        pass
    os.kill(os.getpid(), signal.SIGTERM)

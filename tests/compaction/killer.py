"""Ends a process at a named step. Imports nothing of the daemon: most processes that die at a step are its children."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def killer(pid: int) -> Callable[[str], None]:
    """Ends a process at the step that the environment names, with the signal that it names."""
    wanted, left = os.environ.get("STEP_TO_DIE_AT", ""), int(os.environ.get("STEP_NUMBER", "0"))
    number = signal.Signals[os.environ.get("STEP_SIGNAL", "SIGKILL")]

    def at_step(step: str) -> None:
        nonlocal left
        if step == wanted:
            if not left:
                os.kill(pid, number)
                if number is signal.SIGKILL:
                    signal.pause()  # a thread of the killed process, or a child of it: nothing happens any more
            left -= 1

    return at_step

"""`python -m coordinator.testing.child ARGUMENTS`: the command line, as a process that ends when its parent does.

The parent holds the other end of the pipe on stdin, and does not write: the pipe ends with it, also if it was killed.
"""

from __future__ import annotations

import os
import runpy
import signal
import threading


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    runpy.run_module("coordinator", run_name="__main__", alter_sys=True)

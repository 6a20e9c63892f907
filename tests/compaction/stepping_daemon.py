"""The daemon, told at which step of the hand-over it is to die. See `live.py`.

The steps of planning and staging are taken by a child process (`stepping_child.py`); there, it is the daemon that is
killed all the same, and the child has to notice.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from coordinator import server
from coordinator.__main__ import main
from coordinator.compactor import compactor, placement


def killer(pid: int) -> Callable[[str], None]:
    """Kills a process at the step that the environment names."""
    wanted, left = os.environ.get("STEP_TO_DIE_AT", ""), int(os.environ.get("STEP_NUMBER", "0"))

    def at_step(step: str) -> None:
        nonlocal left
        if step == wanted:
            if not left:
                os.kill(pid, signal.SIGKILL)
                signal.pause()  # a thread of the killed process, or a child of it: nothing happens any more
            left -= 1

    return at_step


if __name__ == "__main__":
    at_step = killer(os.getpid())
    child = (sys.executable, "-m", "tests.compaction.stepping_child")
    setattr(server, "Compactor", partial(server.Compactor, at_step=at_step, child=child))  # noqa: B010
    setattr(server, "recover", partial(server.recover, at_step=at_step))  # noqa: B010
    compactor.LOOK_S = 0.1  # type: ignore[misc]
    placement.COMPARED_S = 0.05  # type: ignore[misc]
    sys.exit(main(sys.argv[1:]))

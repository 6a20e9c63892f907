"""The daemon with a step of the swap at which it is killed, and ten times as many scans for requests.

The steps of planning and staging run in a child process (`stepping_child.py`); there the daemon is killed too, and the
child has to notice. SIGUSR1 makes the daemon load all partitions of the offsets log anew, as after a broken invariant;
SIGUSR2 makes it print the stacks of its threads.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
from functools import partial
from typing import Any

from coordinator.__main__ import main
from coordinator.compaction import swap_protocol
from coordinator.compaction.daemon import compactor, plans, segment_swapper
from coordinator.server import server
from coordinator.server.runtime import Runtime
from tests.compaction.killer import killer


def runtime(config: Any, loop: asyncio.AbstractEventLoop, *arguments: Any, **settings: Any) -> Runtime:
    """The real server, with a signal that makes it load everything anew."""
    made = Runtime(config, loop, *arguments, **settings)

    def reload_all() -> None:
        if made._reloads:
            return  # one at a time, as it is when an invariant breaks
        for partition in made.offsets_log.logs:
            task = loop.create_task(made._reload(partition))
            made._reloads.add(task)
            task.add_done_callback(made._reloads.discard)

    loop.add_signal_handler(signal.SIGUSR1, reload_all)
    return made


if __name__ == "__main__":
    faulthandler.register(signal.SIGUSR2)
    at_step = killer(os.getpid())
    child = (sys.executable, "-m", "tests.compaction.stepping_child")
    patches: dict[Any, dict[str, Any]] = {
        server: {"Runtime": runtime},
        swap_protocol: {"recover": partial(swap_protocol.recover, at_step=at_step)},
        compactor: {"SCAN_S": 0.1, "Compactor": partial(compactor.Compactor, at_step=at_step, child=child)},
        segment_swapper: {"COMPARED_S": 0.05},
        plans: {"FIRST_RETRY_MS": 200},
    }
    for module, names in patches.items():
        for name, value in names.items():
            assert hasattr(module, name), f"{module.__name__} has no {name} any more"
            setattr(module, name, value)
    sys.exit(main(sys.argv[1:]))

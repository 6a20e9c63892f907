"""The daemon of `tests.compaction.stepping_daemon`, which also dies at the steps of a snapshot (`steps.py`).

It checks every `SNAPSHOT_LOOK_S` seconds whether a snapshot is due. A child process (`stepping_child.py`) may take the
steps of a draft.
"""

from __future__ import annotations

import os
import runpy
import sys
from functools import partial
from typing import Any

from coordinator.server import server
from coordinator.storage.snapshot import keeper
from tests.compaction import stepping_daemon
from tests.storage.snapshot.steps import take_steps

if __name__ == "__main__":
    take_steps(stepping_daemon.killer(os.getpid()))
    child = (sys.executable, "-m", "tests.storage.snapshot.stepping_child")
    patches: dict[Any, dict[str, Any]] = {
        keeper: {"LOOK_S": float(os.environ["SNAPSHOT_LOOK_S"])},
        server: {"Snapshots": partial(keeper.Snapshots, child=child)},
    }
    for module, names in patches.items():
        for name, value in names.items():
            assert hasattr(module, name), f"{module.__name__} has no {name} any more"
            setattr(module, name, value)
    runpy.run_path(stepping_daemon.__file__, run_name="__main__")

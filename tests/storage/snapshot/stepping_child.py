"""The child process that makes snapshots; its steps (`steps.py`) kill its daemon, or only itself."""

from __future__ import annotations

import os
import sys

from coordinator.storage.snapshot import child
from tests.compaction.killer import killer
from tests.storage.snapshot.steps import take_steps

if __name__ == "__main__":
    take_steps(killer(os.getpid() if os.environ.get("STEP_VICTIM") == "child" else os.getppid()))
    sys.exit(child.main())

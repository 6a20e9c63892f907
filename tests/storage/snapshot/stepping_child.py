"""The maker of snapshots, whose steps end its daemon, which it has to notice, or only itself. See `steps.py`."""

from __future__ import annotations

import os
import sys

from coordinator.storage.snapshot import child
from tests.compaction.stepping_daemon import killer
from tests.storage.snapshot.steps import take_steps

if __name__ == "__main__":
    take_steps(killer(os.getpid() if os.environ.get("STEP_VICTIM") == "child" else os.getppid()))
    sys.exit(child.main())

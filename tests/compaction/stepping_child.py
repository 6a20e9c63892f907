"""The daemon's child, whose steps end the daemon. See `stepping_daemon.py`."""

from __future__ import annotations

import os
import sys

from coordinator.compaction import child
from tests.compaction.stepping_daemon import killer

if __name__ == "__main__":
    sys.exit(child.main(sys.argv[1:], killer(os.getppid())))

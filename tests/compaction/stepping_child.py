"""The daemon's child with steps that kill the daemon, and free space that a file tells. `live.py` uses it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from coordinator.compaction import child
from coordinator.storage.log.fs import RealFileSystem
from tests.compaction.killer import killer

real_free_bytes = RealFileSystem.free_bytes


def free_bytes(fs: RealFileSystem, path: Path) -> int:
    said = Path(os.environ["FREE_BYTES_FILE"])
    return int(said.read_text()) if said.exists() else real_free_bytes(fs, path)


if __name__ == "__main__":
    RealFileSystem.free_bytes = free_bytes  # type: ignore[method-assign]
    sys.exit(child.main(sys.argv[1:], killer(os.getppid())))

"""A file system of its own for a server, small enough to be filled: a tmpfs, which only root may mount."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.machine_tools import not_run, require_tool

CHUNK_BYTES = 1 << 20


class SmallDisk:
    """A file system of `size_bytes` at `directory`, until `unmount`."""

    def __init__(self, directory: Path, size_bytes: int) -> None:
        if os.getuid() != 0:
            not_run("run as root, which may mount a tmpfs")
        self.size_bytes = size_bytes
        self._directory = directory
        self._ballast = directory / "ballast"
        mount = [require_tool("mount", "mount"), "-t", "tmpfs", "-o", f"size={size_bytes},mode=0777", "kgc-small-disk"]
        subprocess.run([*mount, str(directory)], check=True)

    def fill(self) -> None:
        """Leave no byte free."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (CHUNK_BYTES, 4096):
                try:
                    while ballast.write(bytes(size)) == size:
                        pass
                except OSError:  # ENOSPC
                    continue

    def make_room(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self._directory)], check=False)

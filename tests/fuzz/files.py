"""A directory in memory that holds some files, for targets that read one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordinator.storage.memory_fs import MemoryFileSystem


def directory_with(directory: Path, files: Mapping[str, bytes]) -> MemoryFileSystem:
    """Return a file system in which this directory holds these files."""
    fs = MemoryFileSystem()
    fs.mkdir(directory)
    for name, content in files.items():
        file = fs.open(directory / name, create=True)
        file.pwrite(content, 0)
        file.close()
    return fs

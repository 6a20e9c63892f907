"""The steps of writing a snapshot, with a call before each: `coordinator.storage.snapshot.file` on a real disk.

The production code has no hook for them: they are file system operations on one name, and are intercepted here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from coordinator.storage.log import fs
from coordinator.storage.log.fs import RealFile, RealFileSystem
from coordinator.storage.snapshot import file, keeper, loading
from coordinator.storage.snapshot.file import DRAFT_NAME

AtStep = Callable[[str], None]


class Step(StrEnum):
    """The next step. The daemon itself takes the last three, even if a child has made the draft."""

    CREATE = "create the draft of a snapshot"
    EMPTY = "empty the draft of what an earlier one left"
    REST_OF_BODY = "write the second half of what the snapshot holds"
    HEADER = "write the header of the snapshot"
    REST_OF_HEADER = "write the second half of the header"
    SYNC = "sync the draft of the snapshot"
    CLOSE = "close the draft"
    RENAME = "give the draft the name of the snapshot"
    SYNC_NAME = "sync the name of the snapshot"
    GO_ON = "go on after a snapshot was made"


def take_steps(at_step: AtStep) -> None:
    """Call `at_step` before each step from now on, except for snapshots that a start writes."""
    at_start = threading.local()

    def step(name: Step) -> None:
        if not getattr(at_start, "is_keeping", False):
            at_step(name)

    class DraftFile(RealFile):
        def truncate(self, size: int) -> None:
            step(Step.EMPTY)
            super().truncate(size)

        def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
            if not position:  # the header comes last
                step(Step.HEADER)
            half = len(data) // 2
            super().pwrite(data[:half], position)
            step(Step.REST_OF_BODY if position else Step.REST_OF_HEADER)
            super().pwrite(data[half:], position + half)

        def fsync(self) -> None:
            step(Step.SYNC)
            super().fsync()
            step(Step.CLOSE)

    def open_file(self: RealFileSystem, path: Path, *, create: bool = False) -> fs.File:
        if path.name != DRAFT_NAME:
            return real_open(self, path, create=create)
        step(Step.CREATE)
        return DraftFile(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT, 0o644))

    def rename(self: RealFileSystem, old: Path, new: Path) -> None:
        if old.name != DRAFT_NAME:
            return real_rename(self, old, new)
        step(Step.RENAME)
        real_rename(self, old, new)
        return step(Step.SYNC_NAME)

    def promote(*arguments: Any) -> None:
        real_promote(*arguments)
        step(Step.GO_ON)

    def keep(*arguments: Any, **settings: Any) -> int:
        at_start.is_keeping = True
        try:
            return real_keep(*arguments, **settings)
        finally:
            at_start.is_keeping = False

    real_open, real_rename = RealFileSystem.open, RealFileSystem.rename
    real_promote, real_keep = file.promote, loading.keep
    patches: dict[Any, dict[str, Any]] = {
        RealFileSystem: {"open": open_file, "rename": rename},
        file: {"promote": promote},
        keeper: {"keep": keep},
    }
    for owner, names in patches.items():
        for name, value in names.items():
            assert hasattr(owner, name), f"{owner.__name__} has no {name} any more"
            setattr(owner, name, value)

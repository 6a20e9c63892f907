"""A real daemon for tests of snapshots: it checks often whether one is due, and dies at a given step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.snapshot.file import DRAFT_NAME
from tests.compaction.live import SteppingDaemon
from tests.support.daemon import Daemon
from tests.support.eventually import eventually

NOT_USED = "is read from its first record on: the snapshot cannot be used: "
NOT_MADE = "no snapshot partition="


class SnapshottingDaemon(SteppingDaemon):
    """Dies at the steps of a snapshot (`steps.py`) as well as at those of a compaction."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        super().__init__(directory, **settings)
        self.look_every(0.1)

    def look_every(self, seconds: float) -> None:
        """Set the interval of checks whether a snapshot is due, from the next start on."""
        self._environment |= {"SNAPSHOT_LOOK_S": str(seconds)}

    def child_dies_alone(self) -> None:
        """Kill only the child if a child process takes the step."""
        self._environment |= {"STEP_VICTIM": "child"}

    def command(self) -> list[str]:
        entry = "tests.compaction.stepping_daemon"
        command = super().command()
        assert entry in command
        return ["tests.storage.snapshot.stepping_daemon" if word == entry else word for word in command]

    def await_death(self, where: str) -> None:
        eventually(lambda: self.is_dead, f"the daemon dies before it can {where}", within_s=30)
        assert self.process.returncode == -9, f"it was to die before it could {where}; its log: {self.log_tail()}"


def last_load(daemon: Daemon) -> dict[str, int]:
    """Return the counts that the newest start logged about loading."""
    lines = [line for line in daemon.log_lines() if " loaded partitions_from_snapshot=" in line]
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", lines[-1])}


def snapshots(daemon: Daemon) -> dict[str, int]:
    """Return the inode of each snapshot by partition: a new snapshot has another inode."""
    return {path.parent.name: path.stat().st_ino for path in daemon.data_dir.glob(f"*/{SNAPSHOT_NAME}")}


def drafts(daemon: Daemon) -> list[Path]:
    """Return the unfinished files beside the snapshots, and check that they are drafts."""
    found = [path for path in daemon.data_dir.glob(f"*/{SNAPSHOT_NAME}*") if path.name != SNAPSHOT_NAME]
    assert {path.name for path in found} <= {DRAFT_NAME}
    return found


def lines(daemon: Daemon, words: str) -> list[str]:
    """Return the lines with `words` in its log since it was first started."""
    return [line for line in daemon.log_lines() if words in line]

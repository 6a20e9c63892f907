"""Findings of a check: the place, what is wrong there, what a start does with it, and what to do.

A finding may have a `Mend`, the change with which `coordinator log repair` removes it. A note is a fact that needs no
action.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

REPAIR: Final = "stop the daemon and run `coordinator log repair`, or restore the directory from a backup"
MOST_FINDINGS: Final = 10_000  # of one partition; more are counted only


@dataclass(frozen=True, slots=True)
class CutBytes:
    """Take a range of bytes out of a segment."""

    base_offset: int  # of the segment
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class DropRecord:
    """Take one record out of the batch at `position` of a segment."""

    base_offset: int
    position: int
    size: int  # of the batch
    log_offset: int


@dataclass(frozen=True, slots=True)
class Reindex:
    """Build the indexes of a segment from its batches."""

    base_offset: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """Rename a file, so that a start continues without it."""

    name: str


@dataclass(frozen=True, slots=True)
class ForgetSegments:
    """Empty the list of segments in the log's checkpoint, since one of them is gone or shorter."""


@dataclass(frozen=True, slots=True)
class HoldEnd:
    """Have the log end at an offset, by an empty batch: offsets below it were given to records that are lost."""

    offset: int


Mend = CutBytes | DropRecord | Reindex | SetAside | ForgetSegments | HoldEnd


@dataclass(frozen=True, slots=True)
class LogFinding:
    """One fault."""

    file: str
    position: int  # byte in the file; -1: the whole file is meant
    what: str
    start: str  # what a start of the daemon does with it
    advice: str = REPAIR
    mend: Mend | None = None

    def __str__(self) -> str:
        where = f"{self.file} at byte {self.position}" if self.position >= 0 else self.file
        return f"{where}: {self.what}. At a start: {self.start}. To do: {self.advice}."


@dataclass(slots=True)
class PartitionReport:
    """Result of the check of one partition."""

    directory: Path
    size_bytes: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    start_offset: int = 0
    end_offset: int = 0
    groups: int | None = None  # None: not a partition of the offsets log, or it cannot be loaded
    offsets: int | None = None
    quarantined: int = 0
    transactional_ids: int | None = None  # None: not a partition of the transaction log
    unknown: dict[int, int] = field(default_factory=dict)  # version of the key -> records of that kind
    findings: list[LogFinding] = field(default_factory=list)
    more: int = 0  # findings that are only counted
    notes: list[str] = field(default_factory=list)
    rescued: list[tuple[bytes, bytes | None]] = field(default_factory=list)  # what the snapshot has in place of damage

    def add(self, finding: LogFinding) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)
        else:
            self.more += 1

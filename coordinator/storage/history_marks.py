"""`marks.json`: how far the history has been extracted, one small file that a run writes last.

For each partition of the offsets log it holds the first offset that is not in the history yet. Files of the history
named after an offset at or beyond that mark are leftovers of an interrupted run: readers skip them, and the next run
writes them again. Compaction never passes the mark while history is on, so history and log together are complete.

A log may have been compacted before its history began. Below `compacted_to` the log had gaps, and `whole_since_ms` is
the newest timestamp there; the state at any later time is exact.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from coordinator.storage.file_names import MARKS_NAME
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically

VERSION: Final = 1


class MarksError(Exception):
    """The history directory cannot be used. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Progress of the extraction of one partition of the offsets log."""

    next_offset: int  # the first log offset that is not in the history
    last_segment: int  # first offset of the newest extracted segment; -1: none
    compacted_to: int  # the log below this offset was compacted before it was extracted
    whole_since_ms: int  # nothing later than this time is missing; -1: nothing is missing at all
    newest_ms: int  # the newest timestamp in the history
    segments: int = 0  # segments in the list of its files (`history.file_list`); older histories have no list


NOT_EXTRACTED: Final = Mark(next_offset=0, last_segment=-1, compacted_to=0, whole_since_ms=-1, newest_ms=-1)


@dataclass(frozen=True, slots=True)
class Marks:
    """Content of `marks.json`."""

    cluster_id: str  # of the data directory it was extracted from; empty if that has none
    offsets_partitions: int  # partition count of the offsets log, which decides a group's partition
    partitions: dict[int, Mark]

    def of(self, partition: int) -> Mark:
        """Return the mark of one partition; `NOT_EXTRACTED` if it has none."""
        return self.partitions.get(partition, NOT_EXTRACTED)

    def with_mark(self, partition: int, mark: Mark) -> Marks:
        """Return a copy with one mark replaced."""
        return Marks(self.cluster_id, self.offsets_partitions, {**self.partitions, partition: mark})


NO_MARKS: Final = Marks("", 0, {})


@dataclass(frozen=True, slots=True)
class _File(Marks):
    """`marks.json` as it is decoded, strictly."""

    version: Literal[1]


def read_marks(history_dir: Path, fs: FileSystem | None = None) -> Marks | None:
    """Return the marks of a history; None if there is none yet. MarksError: the file is damaged or unreadable."""
    path = history_dir / MARKS_NAME
    try:
        data = path.read_bytes() if fs is None else read_whole(fs, path)  # `read_bytes` needs no write permission
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MarksError(f"{path} cannot be read ({error.strerror or error}); mend its permissions") from None
    import msgspec  # late: 30 ms, and a daemon without a history does not need it

    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise MarksError(
            f"{path} is not a marks file of version {VERSION}; restore it from a copy, or move the directory "
            f"{history_dir} away to begin a new history"
        ) from None
    return Marks(file.cluster_id, file.offsets_partitions, file.partitions)


def write_marks(history_dir: Path, marks: Marks, fs: FileSystem | None = None) -> None:
    """Replace the marks in one step; durable on return. OSError as the disk gives it."""
    write_atomically(fs or RealFileSystem(), history_dir / MARKS_NAME, encode_marks(marks))


def encode_marks(marks: Marks) -> bytes:
    """Return the content of `marks.json`."""
    facts = {
        "version": VERSION,
        "cluster_id": marks.cluster_id,
        "offsets_partitions": marks.offsets_partitions,
        "partitions": {str(number): asdict(mark) for number, mark in sorted(marks.partitions.items())},
    }
    return (json.dumps(facts, indent=1) + "\n").encode()


def mark_of(history_dir: Path, partition: int) -> int:
    """Return the first log offset of a partition that is not in the history; 0 if nothing is. Errors: `read_marks`.

    A compaction plan must not pass this offset while history is on.
    """
    marks = read_marks(history_dir)
    return marks.of(partition).next_offset if marks else 0

"""How far the history has been extracted: one small file, written last, that says which Parquet files count.

`marks.json` holds for each partition of the offsets log the first offset that is not in the history yet. Files of the
history named after an offset at or beyond that mark are leftovers of a run that was cut short: readers leave them
out, the next run writes them again. Compaction never passes the mark while history is on, so the log from the mark on
is as it was written, and history plus log is everything.

A log may have been compacted before its history began. What is lost then cannot be told record by record, but where it
may be missing can: below `compacted_to` the log had gaps. `whole_since_ms` is the newest timestamp down there; what
stood at any later moment is exact.

Standard library only: the daemon's planner reads this file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from coordinator.storage.file_names import MARKS_NAME
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically

VERSION: Final = 1


class MarksError(Exception):
    """The history directory cannot be used. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far one partition of the offsets log has been extracted."""

    next_offset: int = 0  # the first log offset that is not in the history
    last_segment: int = -1  # where the newest extracted segment begins; -1: none
    compacted_to: int = 0  # the log below this offset was compacted before it was extracted
    whole_since_ms: int = -1  # from after this time on nothing is missing; -1: nothing is missing at all
    newest_ms: int = -1  # the newest timestamp in the history
    segments: int = 0  # how many segments the list of its files has; see `coordinator.history.file_list`


@dataclass(frozen=True, slots=True)
class Marks:
    """What `marks.json` says."""

    cluster_id: str = ""  # of the data directory it was extracted from; empty if that has none
    offsets_partitions: int = 0  # of the offsets log: a group's partition follows from it
    partitions: dict[int, Mark] = field(default_factory=dict)

    def of(self, partition: int) -> Mark:
        """The mark of one partition; of one that was never extracted, the beginning."""
        return self.partitions.get(partition, _BEGINNING)

    def with_mark(self, partition: int, mark: Mark) -> Marks:
        """The same with one mark moved."""
        return Marks(self.cluster_id, self.offsets_partitions, {**self.partitions, partition: mark})


_BEGINNING: Final = Mark()


def read_marks(history_dir: Path, fs: FileSystem | None = None) -> Marks | None:
    """The marks of a history; None if there is none yet. MarksError: the file is damaged, or cannot be read."""
    path = history_dir / MARKS_NAME
    try:
        data = path.read_bytes() if fs is None else read_whole(fs, path)  # the first needs no right to write
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MarksError(f"{path} cannot be read ({error.strerror or error}); mend its permissions") from None
    try:
        return _marks(json.loads(data))
    except (ValueError, RecursionError, KeyError, TypeError):
        raise MarksError(
            f"{path} is not a marks file of version {VERSION}; restore it from a copy, or move the directory "
            f"{history_dir} away to begin a new history"
        ) from None


def write_marks(history_dir: Path, marks: Marks, fs: FileSystem | None = None) -> None:
    """Replace the marks in one step; durable on return. OSError as the disk gives it."""
    facts = {
        "version": VERSION,
        "cluster_id": marks.cluster_id,
        "offsets_partitions": marks.offsets_partitions,
        "partitions": {str(number): asdict(mark) for number, mark in sorted(marks.partitions.items())},
    }
    data = (json.dumps(facts, indent=1) + "\n").encode()
    write_atomically(fs or RealFileSystem(), history_dir / MARKS_NAME, data)


def mark_of(history_dir: Path, partition: int) -> int:
    """The first log offset of a partition that is not in the history; 0 if nothing is. MarksError as `read_marks`.

    This is what a compaction plan must not pass while history is on.
    """
    marks = read_marks(history_dir)
    return marks.of(partition).next_offset if marks else 0


def _marks(facts: Any) -> Marks:
    if facts["version"] != VERSION:
        raise ValueError(facts["version"])
    partitions = {}
    for number, mark in facts["partitions"].items():
        partitions[int(number)] = Mark(**{each.name: _int(_value(mark, each.name)) for each in fields(Mark)})
    if not isinstance(facts["cluster_id"], str):
        raise TypeError
    return Marks(facts["cluster_id"], _int(facts["offsets_partitions"]), partitions)


def _value(mark: Any, name: str) -> object:
    return mark.get(name, 0) if name == "segments" else mark[name]  # histories were begun without lists


def _int(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value

"""Marks of the rows that a history has appended to tables in Delta or Iceberg: the file `lake.json`.

An append has a number and a range of offsets for each partition, which are written before it begins. A run that was
killed is followed by one that appends the same rows under the same number, and a table that has them leaves them out.
Offsets are those of the log; events have those of their own topic, and the lag has times.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coordinator.history import file_list
from coordinator.history.layout import EVENTS_DIR, LAG_DIR, day_directory, day_of, event_files
from coordinator.history.source import HistorySource
from coordinator.storage.file_names import LAKE_NAME
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically

LOG: Final = "log"
Ends: TypeAlias = dict[str, dict[int, int]]  # by LOG, EVENTS_DIR or LAG_DIR, then partition: the first one not appended


class LakeError(Exception):
    """Tables in Delta or Iceberg cannot be written. The message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class LakeMarks:
    """Content of `lake.json`."""

    format: str
    location: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))  # tells these appends from those of other histories
    number: int = 1  # of the append that is pending, or comes next
    published: Ends = field(default_factory=dict)
    pending: Ends | None = None

    def planned(self, ends: Ends) -> LakeMarks:
        """Return the marks with an append up to these ends, if none is pending and there are new rows."""
        if self.pending is not None:
            return self
        reached = dict(self.published)
        for kind, own in ends.items():
            before = reached.get(kind, {})
            reached[kind] = before | {each: max(end, before.get(each, 0)) for each, end in own.items()}
        planned = replace(self, pending=reached)
        return planned if any(map(planned.ranges, reached)) else self

    def done(self) -> LakeMarks:
        """Return the marks behind the pending append."""
        return replace(self, number=self.number + 1, published=self.pending or self.published, pending=None)

    def ranges(self, kind: str) -> dict[int, tuple[int, int]]:
        """Return the ranges of the pending append: for each partition with new rows the first offset, and the end."""
        starts, ends = self.published.get(kind, {}), (self.pending or {}).get(kind, {})
        return {each: (starts.get(each, 0), end) for each, end in ends.items() if starts.get(each, 0) < end}


def read_lake_marks(history_dir: Path, fs: FileSystem) -> LakeMarks | None:
    """Return the marks; None if there are none yet. LakeError: the file is damaged."""
    path = history_dir / LAKE_NAME
    if not fs.exists(path):
        return None
    try:
        return msgspec.json.decode(read_whole(fs, path), type=LakeMarks)
    except (msgspec.MsgspecError, ValueError):
        raise LakeError(f"{path} is damaged; restore it from a copy, or begin anew at another --lake") from None


def write_lake_marks(history_dir: Path, marks: LakeMarks, fs: FileSystem) -> None:
    """Replace the marks in one step; durable on return."""
    write_atomically(fs, history_dir / LAKE_NAME, msgspec.json.encode(marks))


def ends_of(source: HistorySource, marks: LakeMarks, next_offsets: Mapping[int, int], fs: FileSystem) -> Ends:
    """Return the ends of all tables. `next_offsets`: the marks of the history."""
    events = {}
    for partition in range(source.offsets_partitions):
        if files := event_files(source.history_dir, partition, fs):
            newest = pq.ParquetFile(files[-1].path).read(["log_offset"], use_threads=False)["log_offset"]
            events[partition] = pc.max(newest).as_py() + 1
    times = [at_ms for at_ms, _ in _lag_files(source.history_dir, marks.published.get(LAG_DIR, {}).get(0, 0))]
    return {LOG: dict(next_offsets), EVENTS_DIR: events, LAG_DIR: {0: max(times) + 1} if times else {}}


def names_of(history_dir: Path, marks: LakeMarks, fs: FileSystem) -> list[str]:
    """Return the files, relative to the history, that may have rows of the pending append."""
    found = [
        name
        for partition, (start, end) in marks.ranges(LOG).items()
        for line in file_list.read(history_dir, partition, fs)
        if line.end > start and line.start < end
        for name in line.files
    ]
    for partition, (start, end) in marks.ranges(EVENTS_DIR).items():
        files = event_files(history_dir, partition, fs)
        nexts = [*(file.start for file in files[1:]), end]
        found += [str(file.path.relative_to(history_dir)) for file, to in zip(files, nexts, strict=True) if to > start]
    for start, end in marks.ranges(LAG_DIR).values():
        files_of_lag = _lag_files(history_dir, start)
        found += [str(path.relative_to(history_dir)) for at_ms, path in files_of_lag if start <= at_ms < end]
    return found


def _lag_files(history_dir: Path, since_ms: int) -> Iterator[tuple[int, Path]]:
    """Yield the files of the lag of these days, each with its time."""
    first = day_directory(day_of(since_ms))
    for directory in (history_dir / LAG_DIR).glob("date=*"):
        if directory.name >= first:
            for path in directory.glob("at-*.parquet"):
                yield int(path.stem.removeprefix("at-")), path

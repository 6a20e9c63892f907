"""Removes the old part of a history: whole extracted segments, by age and by total size.

A segment is too old when its newest record is. Of those, the last record of each key stays (`oldest.py`). The marks
then say that the log was compacted up to their end, so questions about that time name the gap, and nothing counts as a
missing file. Each step may be interrupted: the marks are written first, then the files and their list, then the other
files go; the next run completes it. The newest segment stays, because an extraction may go back to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from coordinator.history import file_list
from coordinator.history.events import newest_ms
from coordinator.history.extract import ExtractError, locked
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.joining import PartitionFiles
from coordinator.history.layout import LAG_DIR, all_files, event_files
from coordinator.history.oldest import OldestSegment
from coordinator.history.source import HistorySource
from coordinator.storage.history_marks import Mark, read_marks
from coordinator.storage.log.fs import FileSystem

DAY_MS: Final = 86_400_000
NO_LIMIT: Final = 1 << 62  # bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a history. `retention_ms` is Kafka's: -1 keeps everything."""

    retention_ms: int
    max_bytes: int = NO_LIMIT
    thins: bool = True  # older days are made small (`thinning.py`)

    def oldest_ms(self, now_ms: int) -> int:
        """Return the time before which little is kept: the beginning of a UTC day, so that one run a day has work."""
        return -1 if self.retention_ms < 0 else (now_ms - self.retention_ms) // DAY_MS * DAY_MS


@dataclass(frozen=True, slots=True)
class RemovedHistory:
    """The outcome of a run."""

    segments: int = 0
    bytes: int = 0
    left_bytes: int = 0
    lag_files: int = 0


def forget_old(source: HistorySource, limits: Limits, now_ms: int, fs: FileSystem) -> RemovedHistory:
    """Remove what the limits do not allow. Errors as `coordinator.history.extract.extract`."""
    with locked(source, fs):
        return forget_in(source, limits, now_ms, fs)


def forget_in(source: HistorySource, limits: Limits, now_ms: int, fs: FileSystem) -> RemovedHistory:
    """Do the same while the lock of the history is held."""
    lag_files = _forget_events_and_lag(source, limits.oldest_ms(now_ms), fs)
    history_dir = source.history_dir
    marks = read_marks(history_dir, fs)
    if marks is None:
        return RemovedHistory(lag_files=lag_files)
    segments, before = 0, None
    while True:
        lists = {
            partition: lines
            for partition, mark in marks.partitions.items()
            if (lines := _whole_list(history_dir, partition, mark, fs))
        }
        sizes = _sizes(history_dir, lists)
        left = sum(sizes.values())
        before = left if before is None else before
        due = {partition: count for partition, count in _too_old(lists, sizes, limits, now_ms).items() if count > 1}
        for partition, lines in lists.items():
            files = PartitionFiles(history_dir, partition, marks, lines, fs)
            if partition in due:
                segments += due[partition] - 1
                files.replace(_oldest(history_dir, partition, lines[: due[partition]]))
                marks = files.marks
            _sweep(history_dir, partition, marks.of(partition), files.lines, fs)
        if not due:
            return RemovedHistory(segments, before - left, left, lag_files)


def _whole_list(history_dir: Path, partition: int, mark: Mark, fs: FileSystem) -> list[ExtractedSegment]:
    """Return the segments below the mark; none if files are missing or not listed: nothing is removed then.

    `file_list.missing` tells of missing files. A version without lists has left files that are not listed.
    """
    lines = [line for line in file_list.read(history_dir, partition, fs) if line.start < mark.next_offset]
    there = {str(file.path.relative_to(history_dir)): file.start for file in all_files(history_dir, partition, fs)}
    is_whole = len(lines) >= mark.segments and all(name in there for line in lines for name in line.files)
    return lines if is_whole and lines and min(there.values(), default=0) >= lines[0].start else []


def _oldest(history_dir: Path, partition: int, run: Sequence[ExtractedSegment]) -> OldestSegment:
    try:
        return OldestSegment(history_dir, partition, run)
    except (duckdb.Error, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise ExtractError(
            f"a file of the history in {history_dir} is damaged ({reason}); restore it from a copy"
        ) from None


def _forget_events_and_lag(source: HistorySource, oldest_ms: int, fs: FileSystem) -> int:
    """Remove the files of older times, and return how many were of lag. Questions do not count them as missing."""
    for partition in range(source.offsets_partitions):
        for file in event_files(source.history_dir, partition):
            if newest_ms(file) < oldest_ms:
                fs.unlink(file.path)
    lag = [path for path in (source.history_dir / LAG_DIR).rglob("at-*.parquet") if int(path.stem[3:]) < oldest_ms]
    for path in lag:
        fs.unlink(path)
    return len(lag)


def _sizes(history_dir: Path, lists: Mapping[int, Sequence[ExtractedSegment]]) -> dict[ExtractedSegment, int]:
    """Return the size of all files of each segment."""
    return {line: sum(_size(history_dir / name) for name in line.files) for lines in lists.values() for line in lines}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _too_old(
    lists: Mapping[int, Sequence[ExtractedSegment]], sizes: Mapping[ExtractedSegment, int], limits: Limits, now_ms: int
) -> dict[int, int]:
    """Return how many of the first segments of each partition are too old, or too many for the size."""
    oldest_ms = limits.oldest_ms(now_ms)
    found: dict[int, int] = {}
    for partition, lines in lists.items():
        young = (number for number, line in enumerate(lines) if line.newest_ms >= oldest_ms)
        found[partition] = min(next(young, len(lines)), max(len(lines) - 1, 0))
    total = sum(sizes[line] for partition, lines in lists.items() for line in lines[found[partition] :])
    by_age = sorted(
        (line.newest_ms, partition, number)
        for partition, lines in lists.items()
        for number, line in enumerate(lines[:-1])
        if number >= found[partition]
    )
    for _, partition, number in by_age:
        if total <= limits.max_bytes:
            break
        # The older segments of the partition go, too: what is left must have no holes. The first one hardly shrinks.
        total -= sum(sizes[line] for line in lists[partition][max(found[partition], 1) : number + 1])
        found[partition] = max(found[partition], number + 1)
    return found


def _sweep(history_dir: Path, partition: int, mark: Mark, lines: Sequence[ExtractedSegment], fs: FileSystem) -> None:
    """Remove the files below the mark that are not listed."""
    listed = {name for line in lines for name in line.files}
    for file in all_files(history_dir, partition, fs):
        if file.start < mark.next_offset and str(file.path.relative_to(history_dir)) not in listed:
            fs.unlink(file.path)
            with suppress(OSError):  # it has other files
                fs.rmdir(file.path.parent)
                fs.rmdir(file.path.parent.parent)

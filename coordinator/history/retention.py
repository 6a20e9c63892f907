"""Removes the old part of a history: whole extracted segments, by age in days and by total size.

A segment goes with all its files when its newest record is older than the limit. The marks then say that the log was
compacted up to its end, so questions about that time name the gap, and nothing counts as a missing file. Each step may
be interrupted: the marks are written first, then the list of files, then the files go; the next run completes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from coordinator.history import file_list
from coordinator.history.extract import locked
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.layout import all_files, event_files
from coordinator.history.source import HistorySource
from coordinator.storage.history_marks import Mark, read_marks, write_marks
from coordinator.storage.log.fs import FileSystem, write_atomically

DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a history."""

    days: int
    max_bytes: int
    thins: bool = True  # older days are made small (`thinning.py`)

    def oldest_ms(self, now_ms: int) -> int:
        """Return the time before which nothing is kept: the beginning of a UTC day."""
        return now_ms // DAY_MS * DAY_MS - self.days * DAY_MS


@dataclass(frozen=True, slots=True)
class RemovedHistory:
    """The outcome of a run."""

    segments: int = 0
    bytes: int = 0
    left_bytes: int = 0


def forget_old_events(source: HistorySource, days: int, now_ms: int) -> None:
    """Remove the files of events that were extracted longer ago. Questions do not count them as missing."""
    for partition in range(source.offsets_partitions):
        for file in event_files(source.history_dir, partition):
            if file.path.stat().st_mtime * 1000 < now_ms - days * DAY_MS:
                file.path.unlink(missing_ok=True)


def forget_old(source: HistorySource, limits: Limits, now_ms: int, fs: FileSystem) -> RemovedHistory:
    """Remove what the limits do not allow. Errors as `coordinator.history.extract.extract`."""
    with locked(source, fs):
        marks = read_marks(source.history_dir, fs)
        if marks is None:
            return RemovedHistory()
        lists = {each: file_list.read(source.history_dir, each, fs) for each in marks.partitions}
        sizes = _sizes(source.history_dir, lists)
        kept = _kept(lists, sizes, limits, now_ms)
        for partition, lines in kept.items():
            gone = lists[partition][: len(lists[partition]) - len(lines)]
            if gone:
                marks = marks.with_mark(partition, _moved(marks.of(partition), gone, len(lines)))
        write_marks(source.history_dir, marks, fs)
        removed_bytes = 0
        for partition, lines in kept.items():
            if len(lines) != len(lists[partition]):
                text = "".join(json.dumps(asdict(line)) + "\n" for line in lines)
                write_atomically(fs, file_list.list_path(source.history_dir, partition), text.encode())
            removed_bytes += _sweep(source.history_dir, partition, marks.of(partition), lines, fs)
        left = sum(sizes.get(line, 0) for lines in kept.values() for line in lines)
        return RemovedHistory(sum(map(len, lists.values())) - sum(map(len, kept.values())), removed_bytes, left)


def _sizes(history_dir: Path, lists: Mapping[int, Sequence[ExtractedSegment]]) -> dict[ExtractedSegment, int]:
    """Return the size of all files of each segment."""
    return {line: sum(_size(history_dir / name) for name in line.files) for lines in lists.values() for line in lines}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _kept(
    lists: Mapping[int, Sequence[ExtractedSegment]], sizes: Mapping[ExtractedSegment, int], limits: Limits, now_ms: int
) -> dict[int, list[ExtractedSegment]]:
    """Return the segments of each partition that are kept: the end of each list, in log order."""
    oldest_ms = limits.oldest_ms(now_ms)
    first = {
        partition: next((number for number, line in enumerate(lines) if line.newest_ms >= oldest_ms), len(lines))
        for partition, lines in lists.items()
    }
    total = sum(sizes[line] for partition, lines in lists.items() for line in lines[first[partition] :])
    by_age = sorted(
        (line.newest_ms, partition, number)
        for partition, lines in lists.items()
        for number, line in enumerate(lines)
        if number >= first[partition]
    )
    for _, partition, number in by_age:
        if total <= limits.max_bytes:
            break
        # The older segments of the partition go, too: what is left must have no holes.
        total -= sum(sizes[line] for line in lists[partition][first[partition] : number + 1])
        first[partition] = max(first[partition], number + 1)
    return {partition: list(lines[first[partition] :]) for partition, lines in lists.items()}


def _moved(mark: Mark, gone: Sequence[ExtractedSegment], left: int) -> Mark:
    return replace(
        mark,
        compacted_to=max(mark.compacted_to, gone[-1].end),
        whole_since_ms=max(mark.whole_since_ms, *(line.newest_ms for line in gone)),
        segments=left,
    )


def _sweep(history_dir: Path, partition: int, mark: Mark, lines: Sequence[ExtractedSegment], fs: FileSystem) -> int:
    """Remove the files below the mark that are not listed; return their bytes."""
    listed = {name for line in lines for name in line.files}
    removed = 0
    for file in all_files(history_dir, partition, fs):
        if file.start < mark.next_offset and str(file.path.relative_to(history_dir)) not in listed:
            removed += _size(file.path)
            fs.unlink(file.path)
            with suppress(OSError):  # it has other files
                fs.rmdir(file.path.parent)
                fs.rmdir(file.path.parent.parent)
    return removed

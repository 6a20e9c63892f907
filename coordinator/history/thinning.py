"""Makes the older days of a history small: of the commits of a partition, the last one of each minute stays.

A cluster of 3,000 groups may commit thousands of times a second. All of that is kept of a UTC day until six hours
after its end; then one commit a minute of each group and partition, and three days after its end one in ten minutes.
Deletions and commits in transactions all stay. The marks say from then on that the log was compacted up to that time,
because a question about a moment in between gets the last commit that is kept, which may be some minutes old.

The segments that lie in the day as a whole become one (`joining.py`); the newest one of a partition stays as it is,
because extraction may have to go back to it. A day is in `thinned.json` when all of it is done, so an interrupted run
does it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.columnar.kernel import numbers_of
from coordinator.history import file_list
from coordinator.history.extract import locked
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.joining import JoinedSegment, PartitionFiles
from coordinator.history.layout import COMMITS_DIR
from coordinator.history.source import HistorySource
from coordinator.storage.history_marks import read_marks
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically

THINNED_NAME: Final = "thinned.json"
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000


class Detail(NamedTuple):
    """The detail that is kept of days that ended so many hours ago: one commit in each span of so many ms."""

    hours: int
    span_ms: int


DETAILS: Final = (Detail(6, 60_000), Detail(72, 600_000))


@dataclass(slots=True)
class Thinned:
    """The outcome of a run."""

    files: int = 0
    commits_before: int = 0
    commits_after: int = 0


def thin(source: HistorySource, now_ms: int, fs: FileSystem, details: Sequence[Detail] = DETAILS) -> Thinned:
    """Thin the days that are due, one after another. Errors as `coordinator.history.extract.extract`."""
    outcome = Thinned()
    done = _done(source.history_dir, fs)
    commits_dir = source.history_dir / COMMITS_DIR
    days = list(fs.listdir(commits_dir)) if fs.is_dir(commits_dir) else []
    for name in days:
        span_ms = _span(name, now_ms, details)
        if span_ms > done.get(name, 0):
            with locked(source, fs):
                _thin_day(source, name, span_ms, outcome, fs)
                done = {day: span for day, span in done.items() if day in days} | {name: span_ms}
                write_atomically(fs, source.history_dir / THINNED_NAME, json.dumps(done, indent=1).encode())
    return outcome


def _done(history_dir: Path, fs: FileSystem) -> dict[str, int]:
    """Return the span to which each day has been thinned. A file that cannot be read is as none: it is done again."""
    path = history_dir / THINNED_NAME
    try:
        found = json.loads(read_whole(fs, path)) if fs.exists(path) else {}
    except ValueError:
        return {}
    return {str(day): int(span) for day, span in found.items()} if isinstance(found, dict) else {}


def _span(name: str, now_ms: int, details: Sequence[Detail]) -> int:
    """Return the span that is due for the directory of a day; 0: none."""
    try:
        day = date.fromisoformat(name.removeprefix("date="))
    except ValueError:
        return 0
    end_ms = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000 + DAY_MS
    return max((detail.span_ms for detail in details if end_ms + detail.hours * HOUR_MS <= now_ms), default=0)


def _thin_day(source: HistorySource, name: str, span_ms: int, outcome: Thinned, fs: FileSystem) -> None:
    history_dir = source.history_dir
    marks = read_marks(history_dir, fs)
    for partition in marks.partitions if marks is not None else ():
        assert marks is not None
        mark = marks.of(partition)
        lines = [line for line in file_list.read(history_dir, partition, fs) if line.start < mark.next_offset]
        if len(lines) < mark.segments:
            continue  # the list is damaged, which every question says; see `file_list.missing`
        files = PartitionFiles(history_dir, partition, marks, lines, fs)
        for run in _runs(lines, name):
            rest = run
            while rest:
                made = JoinedSegment(history_dir, partition, name, is_alone=len(run) == 1)
                rest = made.read(rest, lambda table: keep(table, span_ms), fs)
                outcome.files += made.read_files
                outcome.commits_before += made.rows_before
                outcome.commits_after += made.rows_after
                if not made.is_unchanged:
                    files.replace(made)
        marks = files.marks


def _runs(lines: Sequence[ExtractedSegment], name: str) -> Iterator[list[ExtractedSegment]]:
    """Yield the segments that have commits of a day: those to join together, and each other one alone."""
    run: list[ExtractedSegment] = []
    for number, line in enumerate(lines):
        days = {each.split("/")[1] for each in line.files if each.startswith(COMMITS_DIR)}
        is_newest = number == len(lines) - 1
        if (days or {name}) == {name} == {_day_name(line.newest_ms)} and not is_newest:
            run.append(line)
            continue
        if run:
            yield run
            run = []
        if name in days:
            yield [line]
    if run:
        yield run


def _day_name(at_ms: int) -> str:
    """Return the directory of the day of a time; of times outside the calendar, nothing."""
    try:
        return f"date={datetime.fromtimestamp(at_ms / 1000, UTC).date()}"
    except (ValueError, OverflowError, OSError):
        return ""


def keep(table: pa.Table, span_ms: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that stay; rows of a key must be in log order."""
    mask: npt.NDArray[np.bool_] = np.asarray(table["tombstone"].to_numpy(), np.bool_) | ~np.asarray(
        table["producer_id"].is_null().to_numpy(), np.bool_
    )
    span = _numbers(table, "timestamp_ms") // span_ms
    place = np.unique(span, return_inverse=True)[1].astype(np.int64)
    for column in (_codes(table, "group"), _codes(table, "topic"), _numbers(table, "partition").astype(np.int64)):
        place = np.unique(place * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].astype(np.int64)
    last = np.empty(int(place.max(initial=-1)) + 1, np.int64)
    plain = np.flatnonzero(~mask)
    last.fill(-1)
    last[place[plain]] = plain  # the last assignment wins
    mask[last[last >= 0]] = True
    return mask


def _codes(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return numbers_of(table[name].combine_chunks().dictionary_encode().indices).astype(np.int64)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = table[name].to_numpy()
    return found

"""Makes the older days of a history small: of the commits of a partition, the last one of each minute stays.

A cluster of 3,000 groups may commit thousands of times a second. All of that is kept of a UTC day until six hours
after its end; then one commit a minute of each group and partition, and three days after its end one in ten minutes.
Deletions and commits in transactions all stay. The marks say from then on that the log was compacted up to that time,
because a question about a moment in between gets the last commit that is kept, which may be some minutes old.

Files keep their names. A day is noted in `thinned.json` when all of it is done, so an interrupted run does it again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.columnar.kernel import numbers_of
from coordinator.history import file_list
from coordinator.history.extract import locked, parquet_bytes
from coordinator.history.layout import COMMITS_DIR, TableFile, commit_files
from coordinator.history.rows import COMMITS
from coordinator.history.source import HistorySource
from coordinator.storage.history_marks import read_marks, write_marks
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
    marks = read_marks(source.history_dir, fs)
    for partition in marks.partitions if marks is not None else ():
        assert marks is not None
        ends = {line.start: line.end for line in file_list.read(source.history_dir, partition, fs)}
        for file in commit_files(source.history_dir, partition, fs=fs):
            if file.path.parent.parent.name != name or file.start not in ends:
                continue
            table = pq.ParquetFile(file.path).read().cast(COMMITS)
            kept = table.filter(pa.array(keep(table, span_ms)))
            outcome.files += 1
            outcome.commits_before += table.num_rows
            outcome.commits_after += kept.num_rows
            if kept.num_rows == table.num_rows:
                continue
            mark = marks.of(partition)
            moved = replace(
                mark,
                compacted_to=max(mark.compacted_to, ends[file.start]),
                whole_since_ms=max(mark.whole_since_ms, int(_numbers(table, "timestamp_ms").max())),
            )
            if moved != mark:
                marks = marks.with_mark(partition, moved)
                write_marks(source.history_dir, marks, fs)  # before anything is missing
            _replace(file, kept, fs)


def _replace(file: TableFile, table: pa.Table, fs: FileSystem) -> None:
    write_atomically(fs, file.path, parquet_bytes(table))


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

"""Writes the records of a stream into a history, as extraction does with segments.

A stream has records of any number, read while the log grows. A task writes the files of its rows, and the driver then
enters them in the order of the log: the list of files, the changes of groups, the marks. Files get their names from the
first offset of the rows, and files beyond the marks do not count, so a run that was killed leaves nothing behind but
files that the next start removes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from coordinator.columnar.row_columns import ROWS, records_of_rows
from coordinator.history.change_writer import ChangeWriter
from coordinator.history.extract import Extracted, ExtractTask, begin, entered, forget_leftovers, write_files
from coordinator.history.joining import AT_ONCE, join_small
from coordinator.history.retention import Limits, RemovedHistory, forget_in
from coordinator.history.rows import rows_of
from coordinator.history.source import HistorySource
from coordinator.history.topic_names import keep_names, kept_names
from coordinator.storage.history_marks import Marks, read_marks, write_marks
from coordinator.storage.log.fs import FileSystem, RealFileSystem

MOST_ROWS: Final = 500_000  # of a file: some hundred megabytes of memory while it is written


def write_rows(
    history_dir: Path,
    batches: Iterable[pa.RecordBatch],
    next_offsets: Mapping[int, int],
    old_before_ms: int,
    clean_up_to: Mapping[int, int],
) -> Iterator[Extracted]:
    """Write rows of `row_columns.ROWS`, in log order within a partition; yield a report for each set of files.

    `next_offsets` are the marks of the partitions: rows below are there already. `old_before_ms` as in
    `extract.write_files`, `clean_up_to` as in `ExtractTask`.
    """
    fs = RealFileSystem()
    for rows in _pieces(batches):
        partition = rows["log_partition"][0].as_py()
        offsets = rows["log_offset"].to_numpy()
        inside = offsets >= next_offsets.get(partition, 0)
        if not inside.any():
            continue
        rows, offsets = (rows, offsets) if inside.all() else (rows.filter(pa.array(inside)), offsets[inside])
        start, end = int(offsets[0]), int(offsets[-1]) + 1
        task = ExtractTask(partition, start, start, end, clean_up_to.get(partition, 0))
        found = rows_of(*records_of_rows(rows), log_partition=partition)
        yield write_files(history_dir, task, found, offsets, rows["timestamp_ms"].to_numpy(), fs, old_before_ms)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows, those of one partition in pieces of about `MOST_ROWS`."""
    waiting: list[pa.Table] = []
    for batch in batches:
        table = pa.Table.from_batches([batch]).cast(ROWS)
        partitions = table["log_partition"].to_numpy()
        edges = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(partitions)]
        for begin_row, end_row in pairwise(edges):
            if begin_row == end_row:
                continue
            if waiting and (
                waiting[0]["log_partition"][0].as_py() != partitions[begin_row]
                or sum(each.num_rows for each in waiting) >= MOST_ROWS
            ):
                yield pa.concat_tables(waiting)
                waiting = []
            waiting.append(table.slice(begin_row, end_row - begin_row))
    if waiting:
        yield pa.concat_tables(waiting)


@dataclass(slots=True)
class StreamWriter:
    """The driver's side: enters what tasks wrote. The lock of the history must be held.

    `names` returns the names of topics by the texts of their ids.
    """

    source: HistorySource
    names: Callable[[], Mapping[str, str]]
    fs: FileSystem = field(default_factory=RealFileSystem)
    marks: Marks = field(init=False)
    _added: Counter[int] = field(init=False, default_factory=Counter)  # segments since the last joining, by partition

    def __post_init__(self) -> None:
        self.marks = begin(self.source, self.fs)
        for partition in range(self.source.offsets_partitions):
            self.marks = forget_leftovers(self.source, self.marks, partition, [], self.fs)

    @property
    def next_offsets(self) -> dict[int, int]:
        """The marks: the first log offset of each partition that is not in the history."""
        return {partition: mark.next_offset for partition, mark in self.marks.partitions.items()}

    def enter(self, reports: Iterable[Extracted], old_before_ms: int) -> list[Extracted]:
        """Make the files of these reports count; durable on return. Return the reports in the order of their logs."""
        done = sorted(reports, key=lambda each: (each.task.partition, each.task.start))
        changes: dict[int, ChangeWriter] = {}
        names = self._kept_names() if any(each.groups for each in done) else {}
        for extracted in done:
            partition = extracted.task.partition
            own = changes.setdefault(partition, ChangeWriter(self.source.history_dir, partition, names, self.fs))
            self.marks = entered(self.source, self.marks, own, extracted, self.fs, old_before_ms)
        if done:
            write_marks(self.source.history_dir, self.marks, self.fs)
        for partition, own in changes.items():
            own.forget(self.marks.of(partition).next_offset)
        self._added.update(each.task.partition for each in done)
        for partition in [each for each, count in self._added.items() if count >= AT_ONCE]:
            self.marks = join_small(self.source.history_dir, self.marks, partition, self.fs)
            self._added[partition] = 0
        return done

    def forget_old(self, limits: Limits, now_ms: int) -> RemovedHistory:
        """Remove what the limits do not allow. OSError if the disk refuses."""
        removed = forget_in(self.source, limits, now_ms, self.fs)
        self.marks = read_marks(self.source.history_dir, self.fs) or self.marks
        return removed

    def _kept_names(self) -> Mapping[str, str]:
        """Add the names of topics to those in the history, which may be read where the log is not."""
        keep_names(self.source.history_dir, dict(self.names()), self.fs)
        return kept_names(self.source.history_dir)

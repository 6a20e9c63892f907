"""Joins the files of small segments of a history, so that a question opens few of them.

Segments that lie one behind the other become one, with one file of each table. Steps: the marks, if rows are left out
(`thinning.py`), the joined files, the list of files, and then the other files go. A question in between counts a row in
two files once, and `retention.forget_old` removes files that are not listed.

A stream adds a segment for each trigger. `join_small` joins those of one day as soon as there are `AT_ONCE` of about
one size, so a row is written again as often as sizes have levels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coordinator.history import file_list
from coordinator.history.change_rows import ROW_NAMES
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.layout import BY_DAY, COMMITS_DIR, file_name
from coordinator.history.parquet import parquet_bytes
from coordinator.history.rows import COMMITS
from coordinator.storage.history_marks import Marks, write_marks
from coordinator.storage.log.fs import FileSystem, write_atomically

MOST_ROWS: Final = 2_000_000  # read into one joined segment: some hundred megabytes of memory
AT_ONCE: Final = 32  # segments of one size
LEVELS: Final = (10_000, 300_000)  # log offsets of a segment: smaller ones are of one size

Keep: TypeAlias = Callable[[pa.Table], npt.NDArray[np.bool_]]  # a mask of the commits that stay


class JoinedSegment:
    """The rows of some segments, thinned or all, and the files that they go to."""

    def __init__(self, history_dir: Path, partition: int, name: str, *, is_alone: bool) -> None:
        self.run: list[ExtractedSegment] = []
        self.rows_before = 0
        self.rows_after = 0
        self.read_files = 0  # of commits
        self.newest_ms = -1  # of the commits
        self._history_dir = history_dir
        self._commits = f"{COMMITS_DIR}/{name}/lp={partition}/"
        self._is_alone = is_alone  # other files than those of commits stay as they are
        self._read: list[str] = []
        self._kept: list[str] = []
        self._tables: dict[str, pa.Table] = {}

    @property
    def is_thinner(self) -> bool:
        return self.rows_after != self.rows_before

    @property
    def is_unchanged(self) -> bool:
        return len(self.run) == 1 and not self.is_thinner

    @property
    def line(self) -> ExtractedSegment:
        """The joined segment."""
        names = sorted({*self._tables, *self._kept})
        newest_ms = max(line.newest_ms for line in self.run)
        return ExtractedSegment(self.run[0].start, self.run[-1].end, newest_ms, tuple(names))

    def read(self, run: Sequence[ExtractedSegment], keep: Keep, fs: FileSystem) -> list[ExtractedSegment]:
        """Read the first of these segments, up to `MOST_ROWS`, and keep of their commits what is wanted.

        Return the other segments.
        """
        parts: dict[str, list[pa.Table]] = {}  # by directory
        rows = 0
        for line in run:
            if rows >= MOST_ROWS:
                break
            self.run.append(line)
            for file in line.files:
                if (self._is_alone and not file.startswith(self._commits)) or not fs.exists(self._history_dir / file):
                    self._kept.append(file)  # a missing file stays listed, so questions name it
                    continue
                table = self._wanted(file, keep)
                parts.setdefault(str(Path(file).parent), []).append(table)
                rows += table.num_rows
        for directory, found in parts.items():
            table = (
                found[0]
                if len(found) == 1
                else _once(pa.concat_tables(found), ROW_NAMES.get(directory.partition("/")[0], ()))
            )
            if f"{directory}/" == self._commits:
                self.rows_before -= sum(each.num_rows for each in found) - table.num_rows
                table = table if len(found) == 1 else table.filter(pa.array(keep(table)))
                self.rows_after = table.num_rows
            self._tables[f"{directory}/{file_name(self.run[0].start)}"] = table
        return list(run[len(self.run) :])

    def _wanted(self, file: str, keep: Keep) -> pa.Table:
        table = pq.ParquetFile(self._history_dir / file).read()
        self._read.append(file)
        if not file.startswith(self._commits):
            return table
        table = table.cast(COMMITS)
        self.read_files += 1
        self.rows_before += table.num_rows
        self.newest_ms = max(self.newest_ms, int(table["timestamp_ms"].to_numpy().max(initial=-1)))
        return table.filter(pa.array(keep(table)))

    def write(self, fs: FileSystem) -> None:
        for file, table in self._tables.items():
            write_atomically(fs, self._history_dir / file, parquet_bytes(table))

    def remove_others(self, fs: FileSystem) -> None:
        for file in self._read:
            if file not in self._tables:
                fs.unlink(self._history_dir / file)


def _once(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the rows by group, then log offset, each once. Transactions have no group.

    `names`: the columns that tell the rows of one log offset apart.
    """
    sorting = [name for name in ("group", "log_offset", *names) if name in table.column_names]
    table = table.take(pc.sort_indices(table, [(name, "ascending") for name in sorting])).combine_chunks()
    again = np.ones(max(table.num_rows - 1, 0), np.bool_)
    for name in ("log_offset", *names):
        column = table[name].combine_chunks()
        again &= pc.equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return table.filter(pa.array(np.concatenate(([True], ~again)))) if again.any() else table


class Replacement(Protocol):
    """A segment that takes the place of `run`, which lies one behind the other. `is_thinner`: rows are left out."""

    run: list[ExtractedSegment]

    @property
    def line(self) -> ExtractedSegment: ...
    @property
    def newest_ms(self) -> int: ...
    @property
    def is_thinner(self) -> bool: ...
    def write(self, fs: FileSystem) -> None: ...
    def remove_others(self, fs: FileSystem) -> None: ...


class PartitionFiles:
    """The files of a partition while some of them are replaced. `lines` is its whole list below the mark."""

    def __init__(
        self, history_dir: Path, partition: int, marks: Marks, lines: Sequence[ExtractedSegment], fs: FileSystem
    ) -> None:
        self.marks = marks
        self.lines = list(lines)
        self._history_dir = history_dir
        self._partition = partition
        self._fs = fs

    def replace(self, made: Replacement) -> None:
        """Put a segment in the place of those that it was made of."""
        joined = [made.line if line == made.run[0] else line for line in self.lines if line not in made.run[1:]]
        mark = self.marks.of(self._partition)
        moved = replace(mark, segments=len(joined))
        if made.is_thinner:
            moved = replace(
                moved,
                compacted_to=max(mark.compacted_to, made.run[-1].end),
                whole_since_ms=max(mark.whole_since_ms, made.newest_ms),
            )
        if moved != mark:
            self.marks = self.marks.with_mark(self._partition, moved)
            write_marks(self._history_dir, self.marks, self._fs)  # before anything is missing
        made.write(self._fs)
        if joined != self.lines:
            text = "".join(json.dumps(asdict(line)) + "\n" for line in joined)
            write_atomically(self._fs, file_list.list_path(self._history_dir, self._partition), text.encode())
            self.lines = joined
        made.remove_others(self._fs)


def join_small(history_dir: Path, marks: Marks, partition: int, fs: FileSystem) -> Marks:
    """Join the small segments of a partition that are due, and return the marks, which are durable.

    The lock of the history must be held.
    """
    mark = marks.of(partition)
    lines = [line for line in file_list.read(history_dir, partition, fs) if line.start < mark.next_offset]
    if len(lines) < mark.segments:
        return marks  # the list is damaged, which every question says; see `file_list.missing`
    files = PartitionFiles(history_dir, partition, marks, lines, fs)
    for run in list(_due(lines)):
        day = next((day for line in run for day in _days(line)), "")
        made = JoinedSegment(history_dir, partition, day, is_alone=False)
        made.read(run, lambda table: np.ones(table.num_rows, np.bool_), fs)
        if not made.is_unchanged:
            files.replace(made)
    return files.marks


def _due(lines: Sequence[ExtractedSegment]) -> Iterator[list[ExtractedSegment]]:
    """Yield runs of segments of one day and one level; never the newest, to which an extraction may go back."""
    run: list[ExtractedSegment] = []
    days: set[str] = set()
    for line in lines[:-1]:
        if run and (_level(line) != _level(run[0]) or len(days | _days(line)) > 1):
            run, days = [], set()
        if _level(line) == len(LEVELS):
            continue
        run.append(line)
        days |= _days(line)
        if len(run) == AT_ONCE:
            yield run
            run, days = [], set()


def _level(line: ExtractedSegment) -> int:
    return next((number for number, most in enumerate(LEVELS) if line.end - line.start < most), len(LEVELS))


def _days(line: ExtractedSegment) -> set[str]:
    return {name.split("/")[1] for name in line.files if name.startswith(BY_DAY)}

"""Extraction: closed segments of the offsets log become Parquet files, each exactly once.

A closed segment never changes, and compaction does not pass the mark, so the names and bytes of a segment's files
follow from its first offset and its records. Files are written atomically; once all files of a segment are durable, the
mark moves past it. After an interruption the next run writes the same bytes again and removes leftovers beyond the
mark, so the result is that of one uninterrupted run.

`due` returns a task for each segment, `extract_segment` does one (in this process or in a Spark task), and `advance`
moves the marks. Rows of a file are sorted by group, then log offset, so a question about one group reads little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
import pyarrow as pa

from coordinator.columnar.batches import Int64s
from coordinator.columnar.log_reader import Reading, log_end
from coordinator.history import file_list
from coordinator.history.change_fold import forget_other_states
from coordinator.history.change_writer import ChangeWriter
from coordinator.history.commits import NEVER
from coordinator.history.layout import (
    COMMITS_DIR,
    CONSUMERS_DIR,
    GROUPS_DIR,
    TRANSACTIONS_DIR,
    all_files,
    path_by_day,
    path_undivided,
    temporary_files,
)
from coordinator.history.parquet import by_day, by_group, make_directory, parquet_bytes, write_table
from coordinator.history.rows import Rows, joined, read_blocks
from coordinator.history.segments import partitions_in, segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.topic_names import topic_names
from coordinator.storage.file_names import LOCK_NAME, offsets_log_dir
from coordinator.storage.history_marks import Mark, Marks, read_marks, write_marks
from coordinator.storage.log.fs import FileSystem, RealFileSystem


class ExtractError(Exception):
    """The extraction cannot go on. The message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class ExtractTask:
    """One segment to extract: its records from `start` to below `end`, where the next segment begins."""

    partition: int
    base_offset: int  # of the segment
    start: int
    end: int
    clean_up_to: int  # the cleaner has compacted the log below this offset, by its checkpoint


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of extracting one segment. Times are in ms; -1: there was none."""

    task: ExtractTask
    commits: int
    groups: int
    files: int
    bytes_read: int
    bytes_written: int
    gap_end: int  # the log offset after the last gap; 0: none
    newest_ms: int
    newest_compacted_ms: int  # of the records in the part of the log that may have been compacted
    damages: tuple[tuple[int, str], ...]  # position and reason of each skipped range
    names: tuple[str, ...] = ()  # of its files, relative to the history directory
    first_ms: int = -1  # of its first record

    def to_text(self) -> str:
        """Return the report of a Spark task to its driver."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)


def extract(
    source: HistorySource,
    *,
    fs: FileSystem | None = None,
    skip_corrupt: bool = False,
    on_segment: Callable[[Extracted], None] = lambda _: None,
) -> list[Extracted]:
    """Extract every closed segment that is not in the history yet, one after another.

    Raises ExtractError, SegmentsError, MarksError (one sentence each), CorruptBatchError (file and position), OSError.
    Segments that were extracted before the error stay extracted.
    """
    fs = fs or RealFileSystem()
    done: list[Extracted] = []
    with locked(source, fs):
        marks = begin(source, fs)
        names = topic_names(source.data_dir)
        for partition in partitions_in(source.data_dir):
            tasks = due(source, marks, partition)
            marks = forget_leftovers(source, marks, partition, tasks, fs)
            changes = ChangeWriter(source.history_dir, partition, names, fs)
            for task in tasks:
                extracted = extract_segment(source, task, fs=fs, skip_corrupt=skip_corrupt)
                marks = entered(source, marks, changes, extracted, fs)
                write_marks(source.history_dir, marks, fs)
                changes.forget(task.end)
                on_segment(extracted)
                done.append(extracted)
    return done


@contextmanager
def locked(source: HistorySource, fs: FileSystem) -> Iterator[None]:
    """Hold the lock of the history. ExtractError: another extraction runs, or the directory cannot be used."""
    history_dir = source.history_dir
    if source.would_stop_kafka:
        raise ExtractError(
            f"{source.data_dir} belongs to a Kafka, which does not start with a directory in it that it does not know; "
            "name another directory for the history with --history-dir"
        )
    try:
        make_directory(fs, history_dir)
        lock = fs.lock(history_dir / LOCK_NAME)
    except BlockingIOError:
        raise ExtractError(f"another extraction writes to {history_dir}; wait for it to end") from None
    except OSError as error:
        raise ExtractError(
            f"the history directory {history_dir} cannot be used ({error.strerror or error}); make it writable, "
            "or choose another with --history-dir"
        ) from None
    try:
        yield
    finally:
        lock.close()


def begin(source: HistorySource, fs: FileSystem) -> Marks:
    """Return the marks so far. They are written before any file, so files without marks mean that they were removed."""
    marks = read_marks(source.history_dir, fs)
    if marks is None:
        if any(all_files(source.history_dir, partition, fs) for partition in range(source.offsets_partitions)):
            raise ExtractError(
                f"{source.history_dir} holds a history without its marks.json; restore that from a copy, "
                "or move the directory away to begin anew"
            )
        marks = Marks(source.cluster_id, source.offsets_partitions, {})
        write_marks(source.history_dir, marks, fs)
    if marks.cluster_id != source.cluster_id:
        raise ExtractError(
            f"{source.history_dir} is the history of cluster {marks.cluster_id or 'without an id'}, "
            f"but {source.data_dir} belongs to {source.cluster_id or 'one without an id'}; "
            "choose another directory with --history-dir"
        )
    return marks


def due(source: HistorySource, marks: Marks, partition: int) -> list[ExtractTask]:
    """Return the tasks for the closed segments of a partition that are not in the history, ascending.

    If a write fails while a segment is rolled, the log is truncated and goes on with a segment that begins inside the
    extracted range. The newest extracted segment is then extracted again.
    """
    mark = marks.of(partition)
    bases = segment_bases(offsets_log_dir(source.data_dir, partition))
    if not bases:
        return []
    # Behind a stream, the newest files may begin within the newest segment.
    if bases[-1] < mark.last_segment and _log_end(source, partition) < mark.next_offset:
        raise ExtractError(
            f"the log of partition {partition} in {source.data_dir} ends before its history; if the log was restored "
            f"from a copy, move {source.history_dir} away to begin anew"
        )
    from_offset = mark.next_offset
    if any(mark.last_segment < base < from_offset for base in bases):
        from_offset = mark.last_segment
    clean_up_to = source.cleaner_checkpoint().get(partition, 0)
    return [
        ExtractTask(partition, base, max(base, from_offset), following, clean_up_to)
        for base, following in pairwise(bases)
        if following > from_offset
    ]


def _log_end(source: HistorySource, partition: int) -> int:
    return log_end(offsets_log_dir(source.data_dir, partition), Reading()).offset


def forget_leftovers(
    source: HistorySource, marks: Marks, partition: int, tasks: list[ExtractTask], fs: FileSystem
) -> Marks:
    """Remove files at or beyond the mark that no task writes again. Move the mark back if `due` begins before it."""
    mark = marks.of(partition)
    if tasks and tasks[0].start < mark.next_offset:
        start = tasks[0].start
        kept = sum(line.start < start for line in file_list.read(source.history_dir, partition, fs))
        mark = Mark(start, start, mark.compacted_to, mark.whole_since_ms, mark.newest_ms, kept)
        marks = marks.with_mark(partition, mark)
        write_marks(source.history_dir, marks, fs)
    file_list.cut(source.history_dir, partition, mark.next_offset, fs)
    starts = {task.start for task in tasks}
    for file in all_files(source.history_dir, partition, fs):
        if file.start >= mark.next_offset and file.start not in starts:
            fs.unlink(file.path)
    for path in temporary_files(source.history_dir, partition, fs):
        fs.unlink(path)
    forget_other_states(source.history_dir, partition, mark.next_offset, fs)
    return marks


def extract_segment(
    source: HistorySource, task: ExtractTask, *, fs: FileSystem | None = None, skip_corrupt: bool = False
) -> Extracted:
    """Write the files of one segment durably. The marks stay as they are."""
    fs = fs or RealFileSystem()
    directory = offsets_log_dir(source.data_dir, task.partition)
    blocks = list(read_blocks(directory, task.partition, task.start, task.end, skip_corrupt=skip_corrupt))
    empty = np.empty(0, np.int64)
    extracted = write_files(
        source.history_dir,
        task,
        joined(block.rows for block in blocks),
        np.concatenate([empty, *(block.offsets for block in blocks)]),
        np.concatenate([empty, *(block.timestamps_ms for block in blocks)]),
        fs,
    )
    for file in all_files(source.history_dir, task.partition, fs):
        if file.start == task.start and str(file.path.relative_to(source.history_dir)) not in extracted.names:
            fs.unlink(file.path)  # of an earlier attempt, before the log was truncated
            fs.fsync_dir(file.path.parent)
    return replace(
        extracted,
        bytes_read=sum(block.size_bytes for block in blocks),
        damages=tuple((damage.position, damage.reason) for block in blocks for damage in block.damages),
    )


def write_files(
    history_dir: Path,
    task: ExtractTask,
    rows: Rows,
    offsets: Int64s,
    times: Int64s,
    fs: FileSystem,
    old_before_ms: int = NEVER,
) -> Extracted:
    """Write the files of these rows durably. `offsets` and `times` (ms) are those of all records, kept or not.

    `old_before_ms`: a gap counts as compaction if the record behind it is older.
    """
    files = dict(_files_of(history_dir, task, rows))
    written = 0
    for path, table in files.items():
        data = parquet_bytes(table)
        write_table(fs, path, data)
        written += len(data)
    gap_end, newest_ms, newest_compacted_ms = _whole(offsets, times, task, old_before_ms)
    return Extracted(
        task,
        commits=rows.commits.num_rows,
        groups=rows.groups.num_rows + rows.consumers.num_rows,
        files=len(files),
        bytes_read=0,
        bytes_written=written,
        gap_end=gap_end,
        newest_ms=newest_ms,
        newest_compacted_ms=newest_compacted_ms,
        damages=(),
        names=tuple(str(path.relative_to(history_dir)) for path in files),
        first_ms=int(times[0]) if len(times) else -1,
    )


def entered(
    source: HistorySource,
    marks: Marks,
    changes: ChangeWriter,
    extracted: Extracted,
    fs: FileSystem,
    old_before_ms: int = NEVER,
) -> Marks:
    """Write the changes in a segment, add its files to the list, and return the marks moved past the segment.

    `old_before_ms` as in `write_files`.
    """
    task = extracted.task
    extracted = changes.write(extracted, marks.of(task.partition).next_offset)
    listed = file_list.ExtractedSegment(task.start, task.end, extracted.newest_ms, extracted.names)
    file_list.append(source.history_dir, task.partition, listed, fs)
    return advance(marks, extracted, old_before_ms)


def advance(marks: Marks, extracted: Extracted, old_before_ms: int = NEVER) -> Marks:
    """Return the marks moved past that segment, which must be the next one of its partition."""
    task = extracted.task
    mark = marks.of(task.partition)
    compacted_to = mark.compacted_to
    whole_since_ms = mark.whole_since_ms
    begins_later = task.start > mark.next_offset and extracted.first_ms < old_before_ms
    gap_end = extracted.gap_end or (task.start if begins_later else 0)
    if gap_end:
        compacted_to = max(compacted_to, gap_end, task.clean_up_to)
        whole_since_ms = max(whole_since_ms, mark.newest_ms)
    if compacted_to and task.start <= compacted_to:
        below = extracted.newest_ms if task.end <= compacted_to else extracted.newest_compacted_ms
        whole_since_ms = max(whole_since_ms, below)
    newest_ms = max(mark.newest_ms, extracted.newest_ms)
    moved = Mark(task.end, task.start, compacted_to, whole_since_ms, newest_ms, mark.segments + 1)
    return marks.with_mark(task.partition, moved)


def _files_of(history_dir: Path, task: ExtractTask, rows: Rows) -> Iterator[tuple[Path, pa.Table]]:
    for day, own in by_day(rows.commits):
        yield path_by_day(history_dir, COMMITS_DIR, day, task.partition, task.start), by_group(own)
    undivided = {
        GROUPS_DIR: by_group(rows.groups),
        CONSUMERS_DIR: by_group(rows.consumers),
        TRANSACTIONS_DIR: rows.transactions,
    }
    for name, table in undivided.items():
        if table.num_rows:
            yield path_undivided(history_dir, name, task.partition, task.start), table


def _whole(offsets: Int64s, times: Int64s, task: ExtractTask, old_before_ms: int) -> tuple[int, int, int]:
    """Return (end of the last gap in a segment's offsets, newest timestamp, newest timestamp in its compacted part)."""
    if not len(offsets):
        return task.end, -1, -1
    around = np.concatenate(([task.start - 1], offsets, [task.end]))
    gaps = np.flatnonzero(np.diff(around) > 1)
    gaps = gaps[np.append(times, times[-1])[gaps] < old_before_ms]
    gap_end = int(around[gaps[-1] + 1]) if len(gaps) else 0
    # The record after the gap counts too: the lost records are not newer than it.
    compacted = times[offsets <= max(gap_end, task.clean_up_to, task.start)]
    return gap_end, int(times.max()), int(compacted.max()) if len(compacted) else -1

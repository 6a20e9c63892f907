"""Extraction with Spark: one task for each segment, with the same files as extraction in one process.

The driver holds the lock and determines the segments, each task writes the files of one segment, and the driver moves
the marks in order. A task that is retried, or runs twice at once, writes the same bytes. A segment that cannot be read
stops the marks of its own partition only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from coordinator.columnar.batches import CorruptBatchError
from coordinator.columnar.log_reader import LogNotFoundError
from coordinator.history.change_writer import ChangeWriter
from coordinator.history.extract import (
    Extracted,
    ExtractError,
    ExtractTask,
    begin,
    due,
    entered,
    extract_segment,
    forget_leftovers,
    locked,
)
from coordinator.history.segments import partitions_in
from coordinator.history.source import HistorySource
from coordinator.history.topic_names import topic_names
from coordinator.storage.history_marks import Marks, write_marks
from coordinator.storage.log.fs import RealFileSystem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REPORT: Final = pa.schema([("number", pa.int64()), ("report", pa.string()), ("problem", pa.string())])
_REPORT_DDL: Final = "number long, report string, problem string"


def extract_with_spark(
    source: HistorySource,
    spark: SparkSession,
    *,
    skip_corrupt: bool = False,
    on_begin: Callable[[int], None] = lambda _: None,
) -> list[Extracted]:
    """Extract as `coordinator.history.extract.extract` does. Workers must see the same directories.

    Calls `on_begin` with the number of segments. Raises ExtractError also if a task cannot read or write, and
    Spark's own exception if a task failed too often.
    """
    fs = RealFileSystem()
    with locked(source, fs):
        marks = begin(source, fs)
        tasks: list[ExtractTask] = []
        for partition in partitions_in(source.data_dir):
            own = due(source, marks, partition)
            marks = forget_leftovers(source, marks, partition, own, fs)
            tasks += own
        on_begin(len(tasks))
        if not tasks:
            return []

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    report, problem = _attempt(source, tasks[number], skip_corrupt)
                    yield from pa.table([[number], [report], [problem]], schema=_REPORT).to_batches()

        rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, _REPORT_DDL).collect()
        return _settle(source, marks, sorted(rows), fs)


def _attempt(source: HistorySource, task: ExtractTask, skip_corrupt: bool) -> tuple[str | None, str | None]:
    """Return (report, problem) of a segment, one of them None. A failed task would be retried and fail again."""
    try:
        return extract_segment(source, task, skip_corrupt=skip_corrupt).to_text(), None
    except (ExtractError, CorruptBatchError, LogNotFoundError, OSError) as error:
        return None, str(error)


def _settle(source: HistorySource, marks: Marks, rows: Sequence[Any], fs: RealFileSystem) -> list[Extracted]:
    """Move the marks of each partition past its extracted segments, up to the first that failed."""
    done: list[Extracted] = []
    names = topic_names(source.data_dir)
    changes: dict[int, ChangeWriter] = {}
    for _, report, _ in rows:
        extracted = Extracted.from_text(report) if report is not None else None
        if extracted is not None and extracted.task.start == marks.of(extracted.task.partition).next_offset:
            partition = extracted.task.partition
            own = changes.setdefault(partition, ChangeWriter(source.history_dir, partition, names, fs))
            marks = entered(source, marks, own, extracted, fs)
            done.append(extracted)
    write_marks(source.history_dir, marks, fs)
    for partition, own in changes.items():
        own.forget(marks.of(partition).next_offset)
    problems = [problem for _, _, problem in rows if problem is not None]
    if problems:
        raise ExtractError(problems[0])
    return done

"""Streams whose rows go to tables in another format, and that are killed at one step after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.cli.history.stream_lake import push_and_publish
from coordinator.history import joining, spark_lake, stream_writer
from coordinator.history.events import add_events
from coordinator.history.extract import locked
from coordinator.history.joining import JoinedSegment
from coordinator.history.lag_table import LagTable
from coordinator.history.lake_marks import write_lake_marks
from coordinator.history.source import HistorySource
from coordinator.history.spark_lake import LakeTables, SparkLake
from coordinator.history.spark_stream import DirectorySource, MicroBatch, run
from coordinator.history.stream_writer import StreamWriter
from coordinator.history.topic_names import topic_names
from coordinator.history.views import TABLES, Table
from coordinator.storage.log.fs import RealFileSystem
from tests.compaction.logs import ANYTHING, LogWriter, Segment, Wait, seeded
from tests.history.test_consumer_groups import random_life
from tests.history.test_events import rebalance, write
from tests.history.worlds import data_dir, write_segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[dict[str, Any]]
MOST_OFFSETS = 80
_PARTITION = re.compile(r"/lp=(\d+)/")
_DAY_MS = 86_400_000


class KilledError(Exception):
    """The end of a run."""


class Steps:
    """Ends a run at its step with this number, counted from 0, and at the first step of each name."""

    def __init__(self) -> None:
        self.kill_at = -1
        self.count = 0
        self.seen: set[str] = set()  # the names of the steps at which a run was killed

    def step(self, name: str) -> None:
        self.count += 1
        if self.count - 1 == self.kill_at or name not in self.seen:
            self.seen.add(name)
            raise KilledError

    def around(self, name: str, function: Callable[..., Any], *, is_before: bool = True) -> Callable[..., Any]:
        """Return a function with a step behind it, and one before it."""

        def called(*rest: Any, **named: Any) -> Any:
            if is_before:
                self.step(f"before {name}")
            result = function(*rest, **named)
            self.step(f"after {name}")
            return result

        return called


class SteppedTables:
    """Tables with steps around each append."""

    def __init__(self, inner: LakeTables, steps: Steps) -> None:
        self._inner = inner
        self.exists, self.create = inner.exists, inner.create
        self._append = steps.around("append", inner.append)

    def append(self, name: str, rows: DataFrame, id_: str, number: int) -> None:
        self._append(name, rows, id_, number)


@dataclass(frozen=True, slots=True)
class GrowingLog:
    """A log of a classic and a consumer partition, with events, whose tables are elsewhere."""

    source: HistorySource
    segments: Sequence[Sequence[Segment]]

    @classmethod
    def made(cls, directory: Path, operations: int) -> GrowingLog:
        consumers = random_life(4)
        catalogue = consumers.source(directory / "consumers").data_dir / "topics.json"
        classic = LogWriter().write([each for each in seeded(3, operations, ANYTHING) if not isinstance(each, Wait)])
        log = data_dir(directory / "log", [], partition=1)
        (log.data_dir / "topics.json").write_bytes(catalogue.read_bytes())
        write(log.data_dir, *(rebalance(number, number * 1000) for number in range(1, 6)))
        return cls(HistorySource.of(log.data_dir, directory / "tables"), (classic.segments, consumers.segments()))

    def grow(self, count: int) -> bool:
        """Let each partition have its first segments. Return whether these are all."""
        for partition, segments in enumerate(self.segments):
            write_segments(self.source.data_dir / f"__consumer_offsets-{partition}", segments[:count])
        return all(count >= len(segments) for segments in self.segments)


def stream_killed_at_each_step(
    spark: SparkSession, log: GrowingLog, tables: LakeTables, monkeypatch: pytest.MonkeyPatch, stride: int = 1
) -> Steps:
    """Run a stream of a growing log until a run ends by itself; run number n is killed at its step n * `stride`."""
    steps = Steps()
    for module in (joining, stream_writer):
        monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(JoinedSegment, "write", steps.around("joining", JoinedSegment.write, is_before=False))
    monkeypatch.setattr(spark_lake, "write_lake_marks", steps.around("marks", write_lake_marks))
    monkeypatch.setattr(StreamWriter, "enter", steps.around("enter", StreamWriter.enter))
    monkeypatch.setitem(spark_lake.FORMATS, "stepped", lambda *_: SteppedTables(tables, steps))
    for number in range(1000):
        steps.kill_at, steps.count = number * stride, 0
        is_whole = log.grow(number // 2 + 1)
        try:
            _run(spark, log.source, at_ms=1_795_000_000_000 + number * 10_000)
        except Exception as error:
            if "KilledError" not in str(error) and not isinstance(error, KilledError):
                raise
        else:
            if is_whole:
                return steps
    raise AssertionError("no run came to its end")


def _run(spark: SparkSession, source: HistorySource, at_ms: int) -> None:
    """Do what `coordinator tables --available-now` does."""
    fs = RealFileSystem()
    with locked(source, fs):
        lake = SparkLake.open(spark, source, "stepped", "anywhere")
        writer = StreamWriter(source, lambda: topic_names(source.data_dir))
        push_and_publish(lake, writer.next_offsets, lambda: None)
        lag = LagTable(source.history_dir, lambda asked: dict.fromkeys(asked, at_ms % 1000 + 1000), fs)

        def on_batch(batch: MicroBatch) -> None:
            for extracted in batch.done:
                lag.take([name for name in extracted.names if name.startswith("commits")])
            lag.write(at_ms + batch.number)
            push_and_publish(lake, writer.next_offsets, lambda: None)

        lag.take([str(path) for path in sorted((source.history_dir / "commits").rglob("*.parquet"))])
        log = DirectorySource([source.data_dir], MOST_OFFSETS)
        run(spark, log, writer, every_s=None, on_batch=on_batch, beside=lambda: void(add_events(source, fs)))
        lag.write(at_ms + 5000)
        push_and_publish(lake, writer.next_offsets, lambda: None)


def void(_: object) -> None:
    """Ignore a result."""


def expected(history_dir: Path) -> dict[str, Rows]:
    """Return the rows of the Parquet tables, with partition and day.

    Each is there once: a run that was killed while it joined files left rows in two.
    """
    return {
        table.directory: sorted(
            {
                str(row): row
                for path in (history_dir / table.directory).rglob("*.parquet")
                for row in _rows_of(path, table)
            }.values(),
            key=str,
        )
        for table in TABLES
    }


def _rows_of(path: Path, table: Table) -> Rows:
    found = _PARTITION.search(str(path))
    partition = {} if found is None else {"lp": int(found[1])}
    rows = pq.ParquetFile(path).read().cast(table.schema).to_pylist()
    return [partition | row | {"date": _day(row)} for row in rows]


def _day(row: dict[str, Any]) -> date:
    time_ms = row.get("timestamp_ms", row.get("at_ms", 0))
    return datetime.fromtimestamp(time_ms // _DAY_MS * _DAY_MS / 1000, UTC).date()


def told(read: Callable[[str], pa.Table]) -> dict[str, Rows]:
    """Return the rows of the tables in another format."""
    return {table.directory: sorted(read(table.directory).to_pylist(), key=str) for table in TABLES}

"""Questions about all groups at once, with Spark: which commit most, stand still, or rebalance most.

They read the Parquet files below the marks and the log beyond them, one task for each segment. Their definitions are
those of `coordinator.history.questions` and `rebalances` for one group; a test compares them. If an extraction moved
the marks while a question ran, a compaction may have followed, so the question is asked again.

A transactional commit counts if the next marker of its producer is a commit. Most histories have no such commits;
Parquet's statistics then let Spark skip the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.window import Window

from coordinator.columnar.consumer_columns import CONSUMERS
from coordinator.history.commits import NEVER
from coordinator.history.consumer_groups import merged
from coordinator.history.layout import TableFile, commit_files, consumer_files, group_files, transaction_files
from coordinator.history.questions import AGAIN, DEFAULT_WINDOWS, Selection, Standstill
from coordinator.history.rebalances import Kind, changes
from coordinator.history.rows import COMMITS, GROUPS, TRANSACTIONS, Rows, read_blocks
from coordinator.history.segments import partitions_in, segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.tables import group_records
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import NO_MARKS, Marks, read_marks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TRIES: Final = 3

_LP: Final = pa.field("lp", pa.int32())
_COMMITTED: Final = pa.field("committed", pa.bool_())  # of a marker; null in a commit
_EVENTS: Final = pa.schema([_LP, *COMMITS, _COMMITTED])
_GROUPS: Final = pa.schema([_LP, *GROUPS])
_CONSUMERS: Final = pa.schema([_LP, *CONSUMERS])
_REBALANCES: Final = pa.schema(
    [
        ("group", pa.string()),
        ("rebalances", pa.int64()),
        ("last_ms", pa.int64()),
        ("members", pa.int32()),
        ("generation", pa.int32()),
    ]
)
_KEY: Final = ("group", "topic", "partition")

Answer = list[dict[str, Any]]
AllMarks = tuple[Marks, ...]  # of each source


@dataclass(frozen=True, slots=True)
class AllGroups:
    """All groups of some data directories (of a daemon's workers, for instance) and their histories."""

    spark: SparkSession
    sources: tuple[HistorySource, ...]
    skip_corrupt: bool = False
    _kept: list[DataFrame] = field(default_factory=list)

    def ask(self, question: Callable[[AllGroups, AllMarks], Answer]) -> Answer:
        """Answer a question, again if the marks moved meanwhile."""
        answer: Answer = []
        for _ in range(TRIES):
            marks = self._marks()
            try:
                answer = question(self, marks)
            finally:
                while self._kept:  # or the next question would get the cached log
                    self._kept.pop().unpersist()
            if marks == self._marks():
                break
        return answer

    def _marks(self) -> AllMarks:
        return tuple(read_marks(source.history_dir) or NO_MARKS for source in self.sources)

    # The tables.

    def commits(self, marks: AllMarks) -> DataFrame:
        """Return the commits and deletions of all groups that took effect."""
        stored = self._stored(marks, commit_files, COMMITS).withColumn("committed", f.lit(None).cast("boolean"))
        ends = self._stored(marks, transaction_files, TRANSACTIONS)
        live = self._live(marks, _EVENTS, _events).persist()  # read twice, and small: the log that is not extracted yet
        self._kept.append(live)
        names = _EVENTS.names
        missing = [
            f.lit(None).cast(stored.schema[name].dataType).alias(name) for name in names if name not in ends.columns
        ]
        ends = ends.select("*", *missing)
        events = stored.select(names).unionByName(ends.select(names)).unionByName(live)
        is_commit = f.col("group").isNotNull()
        in_transaction = f.col("producer_id").isNotNull() & ~f.coalesce("tombstone", f.lit(False))
        behind = Window.partitionBy("lp", "producer_id").orderBy("log_offset")
        outcome = f.first("committed", ignorenulls=True).over(behind.rowsBetween(0, Window.unboundedFollowing))
        decided = events.where(in_transaction).withColumn("outcome", outcome).where(is_commit & f.col("outcome"))
        return events.where(is_commit & ~in_transaction).unionByName(decided.drop("outcome")).drop("committed")

    def groups(self, marks: AllMarks) -> DataFrame:
        """Return the states of all groups."""
        return self._stored(marks, group_files, GROUPS).unionByName(self._live(marks, _GROUPS, _groups))

    def consumers(self, marks: AllMarks) -> DataFrame:
        """Return the records of all KIP-848 groups."""
        found = self._stored(marks, consumer_files, CONSUMERS).unionByName(self._live(marks, _CONSUMERS, _consumers))
        found = found.persist()  # read twice, and mostly empty
        self._kept.append(found)
        return found

    def _stored(self, marks: AllMarks, files: Callable[[Path, int], Any], schema: pa.Schema) -> DataFrame:
        paths = {
            str(file.path): None  # in order, each once: workers may share a history
            for source, own in zip(self.sources, marks, strict=True)
            for partition, mark in sorted(own.partitions.items())
            for file in _listed(files(source.history_dir, partition))
            if file.start < mark.next_offset
        }
        fields = from_arrow_schema(pa.schema([*schema, _LP]))
        if not paths:
            return self.spark.createDataFrame([], fields)
        # The partition is in the path. Spark's own discovery would also demand a date in every path.
        lp = f.regexp_extract(f.input_file_name(), r"/lp=(\d+)/", 1).cast("int")
        return self.spark.read.schema(from_arrow_schema(schema)).parquet(*paths).withColumn("lp", lp)

    def _live(self, marks: AllMarks, schema: pa.Schema, rows: Callable[[int, Rows], pa.Table]) -> DataFrame:
        ranges = [each for source, own in zip(self.sources, marks, strict=True) for each in _ranges(source, own)]
        skip_corrupt = self.skip_corrupt

        def read(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    directory, partition, start, end = ranges[number]
                    for block in read_blocks(directory, partition, start, end, skip_corrupt=skip_corrupt):
                        yield from rows(partition, block.rows).cast(schema).combine_chunks().to_batches()

        fields = from_arrow_schema(schema)
        if not ranges:
            return self.spark.createDataFrame([], fields)
        return self.spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(read, fields)


def _listed(files: Any) -> list[TableFile]:
    return list(files)


def _ranges(source: HistorySource, marks: Marks) -> Iterator[tuple[Path, int, int, int | None]]:
    """Yield the log beyond the marks, a range for each segment: (directory, partition, from, to)."""
    for partition in partitions_in(source.data_dir) if source.data_dir.is_dir() else []:
        start = marks.of(partition).next_offset
        directory = offsets_log_dir(source.data_dir, partition)
        bases = segment_bases(directory)
        if bases:
            edges = [start, *(base for base in bases if base > start)]
            yield from ((directory, partition, low, high) for low, high in pairwise(edges))
            yield directory, partition, edges[-1], None


def _events(partition: int, rows: Rows) -> pa.Table:
    """Return commits and markers in one table, unordered."""
    commits = rows.commits.append_column(_COMMITTED, pa.nulls(rows.commits.num_rows, pa.bool_()))
    ends = rows.transactions
    columns = [
        ends[name] if name in ends.column_names else pa.nulls(ends.num_rows, _EVENTS.field(name).type)
        for name in _EVENTS.names[1:]
    ]
    both = pa.concat_tables([commits, pa.table(columns, schema=pa.schema(list(_EVENTS)[1:]))])
    return both.add_column(0, _LP, pa.array([partition] * both.num_rows, pa.int32()))


def _groups(partition: int, rows: Rows) -> pa.Table:
    return rows.groups.add_column(0, _LP, pa.array([partition] * rows.groups.num_rows, pa.int32()))


def _consumers(partition: int, rows: Rows) -> pa.Table:
    return rows.consumers.add_column(0, _LP, pa.array([partition] * rows.consumers.num_rows, pa.int32()))


# The questions. Each returns rows of plain values.


def commit_counts(logs: AllGroups, marks: AllMarks, selection: Selection, limit: int) -> Answer:
    """Return the groups with the most commits."""
    counted = (
        logs.commits(marks)
        .where(_wanted(selection) & ~f.col("tombstone"))
        .groupBy("group")
        .agg(
            f.count("*").alias("commits"),
            f.countDistinct("topic", "partition").alias("partitions"),
            f.min("timestamp_ms").alias("first_ms"),
            f.max("timestamp_ms").alias("last_ms"),
        )
    )
    return _rows(counted.orderBy(f.desc("commits"), "group").limit(limit))


def rates(logs: AllGroups, marks: AllMarks, selection: Selection, window_ms: int, limit: int) -> Answer:
    """Return the groups with the most progress; without `since_ms`, in the windows up to the newest commit of all."""
    moved = _with_previous(logs.commits(marks)).where(_wanted(selection) & ~f.col("tombstone"))
    moved = moved.withColumn(
        "progress",
        f.when(f.col("known"), f.greatest(f.col("committed_offset") - f.col("before"), f.lit(0))).otherwise(0),
    )
    window = f.floor(f.col("timestamp_ms") / window_ms)
    if selection.since_ms == -NEVER:
        newest = moved.agg(f.max("timestamp_ms")).first()
        if newest is None or newest[0] is None:
            return []
        moved = moved.where(window > newest[0] // window_ms - DEFAULT_WINDOWS)
    per_window = moved.groupBy("group", window.alias("window")).agg(
        f.count("*").alias("commits"), f.sum("progress").alias("progress")
    )
    total = per_window.groupBy("group").agg(
        f.sum("commits").alias("commits"),
        f.sum("progress").alias("progress"),
        f.max("progress").alias("peak"),
        (f.min("window") * window_ms).alias("first_ms"),
        ((f.max("window") + 1) * window_ms).alias("last_ms"),
    )
    return _rows(total.orderBy(f.desc("progress"), f.desc("commits"), "group").limit(limit))


def standstills(logs: AllGroups, marks: AllMarks, selection: Selection, for_ms: int, now_ms: int, limit: int) -> Answer:
    """Return the partitions of all groups that stand still, the longest standing first."""
    rows = _with_previous(logs.commits(marks).where(_wanted(selection) & (f.col("timestamp_ms") <= now_ms)))
    moved = ~f.col("known") | (f.col("committed_offset") != f.col("before"))
    moved_at = f.max(f.when(moved & ~f.col("tombstone"), f.col("log_offset"))).over(Window.partitionBy(*_KEY))
    state = (
        rows.withColumn("moved_at", moved_at)
        .groupBy(*_KEY)
        .agg(
            f.max_by(f.struct("tombstone", "committed_offset", "timestamp_ms"), "log_offset").alias("last"),
            f.max(f.when(f.col("log_offset") == f.col("moved_at"), f.col("timestamp_ms"))).alias("moved_ms"),
            f.count(f.when(f.col("log_offset") > f.col("moved_at"), f.lit(1))).alias("commits_since"),
        )
        .where(~f.col("last.tombstone"))
    )
    silent = f.col("last.timestamp_ms") <= now_ms - for_ms
    stuck = (f.col("moved_ms") <= now_ms - for_ms) & (f.col("commits_since") >= AGAIN)
    found = state.where(silent | stuck).select(
        *_KEY,
        f.when(silent, Standstill.SILENT.value).otherwise(Standstill.STUCK.value).alias("how"),
        f.col("last.committed_offset").alias("offset"),
        f.when(silent, f.col("last.timestamp_ms")).otherwise(f.col("moved_ms")).alias("since_ms"),
        "commits_since",
    )
    return _rows(found.orderBy("since_ms", *_KEY).limit(limit))


def rebalance_counts(logs: AllGroups, marks: AllMarks, selection: Selection, limit: int) -> Answer:
    """Return the groups with the most rebalances, and their current state."""
    groups, consumers = logs.groups(marks), logs.consumers(marks)
    if consumers.isEmpty():
        total = _classic_rebalances(groups, selection)
    else:
        names = consumers.select("group").distinct()
        classic = _classic_rebalances(groups.join(names, "group", "left_anti"), selection)
        total = classic.unionByName(
            _consumer_rebalances(groups.join(names, "group", "left_semi"), consumers, selection)
        )
    return _rows(total.orderBy(f.desc("rebalances"), "group").limit(limit))


def _consumer_rebalances(groups: DataFrame, consumers: DataFrame, selection: Selection) -> DataFrame:
    """Count as `coordinator.history.rebalances` does, a task for each group with its records of both protocols."""
    since_ms, until_ms = selection.since_ms, selection.until_ms

    def count(key: tuple[pa.Scalar], classic: pa.Table, rows: pa.Table) -> pa.Table:
        states = merged(group_records(classic.sort_by("log_offset")), rows.sort_by("log_offset"), {})
        times = [each.record.timestamp_ms for each in changes(states) if each.kind is Kind.REBALANCED]
        times = [each for each in times if since_ms <= each <= until_ms]
        last = states[-1]
        generation = None if last.is_tombstone else last.generation
        row = [key[0].as_py(), len(times), max(times, default=None), len(last.members), generation]
        return pa.table([[each] for each in row], schema=_REBALANCES)

    counted = groups.groupBy("group").cogroup(consumers.groupBy("group"))
    return counted.applyInArrow(count, from_arrow_schema(_REBALANCES)).where(f.col("rebalances") > 0)


def _classic_rebalances(groups: DataFrame, selection: Selection) -> DataFrame:
    in_order = Window.partitionBy("group").orderBy("log_offset")
    count = f.coalesce(f.size("members"), f.lit(0))
    rows = groups.withColumn("count", f.when(f.col("tombstone"), 0).otherwise(f.greatest(count, f.lit(0))))
    before = f.lag(f.struct("generation", "count", "tombstone")).over(in_order)
    is_new = before.isNull() | before["tombstone"] | (before["count"] == 0)
    rebalanced = (f.col("count") > 0) & (is_new | (before["generation"] != f.col("generation")))
    inside = f.col("timestamp_ms").between(selection.since_ms, selection.until_ms)
    return (
        rows.withColumn("rebalanced", rebalanced & inside)
        .groupBy("group")
        .agg(
            f.count(f.when(f.col("rebalanced"), f.lit(1))).alias("rebalances"),
            f.max(f.when(f.col("rebalanced"), f.col("timestamp_ms"))).alias("last_ms"),
            f.max_by("count", "log_offset").alias("members"),
            f.max_by("generation", "log_offset").alias("generation"),
        )
        .where(f.col("rebalances") > 0)
    )


def _with_previous(commits: DataFrame) -> DataFrame:
    """Add to each commit the offset `before` it, which is `known` unless it is the first or follows a deletion."""
    in_order = Window.partitionBy(*_KEY).orderBy("log_offset")
    before = f.lag(f.struct("committed_offset", "tombstone")).over(in_order)
    return commits.withColumn("before", before["committed_offset"]).withColumn(
        "known", before.isNotNull() & ~f.coalesce(before["tombstone"], f.lit(True))
    )


def _wanted(selection: Selection) -> Column:
    wanted = f.col("timestamp_ms").between(selection.since_ms, selection.until_ms)
    if selection.topics:
        wanted &= f.col("topic").isin(list(selection.topics))
    if selection.partitions:
        wanted &= f.col("partition").isin(list(selection.partitions))
    return wanted


def _rows(frame: DataFrame) -> Answer:
    return [row.asDict() for row in frame.collect()]

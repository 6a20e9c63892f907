"""Asks Spark the questions about all groups of a history that is too large for one process.

Tables are Parquet files, and the log beyond the marks. A task reads a segment of that, or a partition to derive changes
of groups. The texts are those that DuckDB answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.history import views
from coordinator.history.change_rows import CHANGE_SCHEMAS
from coordinator.history.questions import Answer
from coordinator.history.source import HistorySource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def ask_all_groups(
    spark: SparkSession,
    sources: Sequence[HistorySource],
    name: str,
    parameters: Mapping[str, Any],
    *,
    skip_corrupt: bool = False,
) -> Answer:
    """Answer a question about all groups. Raises the errors of Spark, MarksError, HistoryError."""
    text = views.text_of(name)
    names = views.needed(text)
    values = {key: _literal(value) for key, value in views.bound(text, parameters).items()}

    def answer(stand: views.Stand) -> Answer:
        with ExitStack() as cleanup:

            def add(name: str, frame: DataFrame) -> None:
                frame.createOrReplaceTempView(name)
                cleanup.callback(spark.catalog.dropTempView, name)

            for table in (each for each in views.TABLES if each.name in names):
                parts = stand.parts(sources, are_whole=table.name in CHANGE_SCHEMAS)
                live = _live(spark, parts, table, skip_corrupt=skip_corrupt)
                cleanup.callback(live.persist().unpersist)  # the views of commits read it more than once
                add(table.name, stored(spark, stand.files[table.name], table).unionByName(live))
            for name in (each for each in views.SQL_VIEWS if each in names):
                add(name, spark.sql(views.text_of(name)))
            return [row.asDict() for row in spark.sql(text.replace("$", ":"), values).collect()]

    return views.steady(sources, names, answer)


def _literal(value: Any) -> Column:
    return f.array(*map(f.lit, value)) if isinstance(value, list) else f.lit(value)


def stored(spark: SparkSession, paths: Sequence[str], table: views.Table) -> DataFrame:
    """Return the rows of some files of a table, with the partition of the log that their paths name (`lp`)."""
    if not paths:
        return spark.createDataFrame([], from_arrow_schema(table.full_schema))
    # The partition is in the path. Spark's own discovery would also demand a date in every path.
    lp = f.regexp_extract(f.input_file_name(), r"/lp=(\d+)/", 1).try_cast("int").alias(views.LP.name)
    return spark.read.schema(from_arrow_schema(table.schema)).parquet(*paths).select(lp, *table.schema.names)


def _live(spark: SparkSession, parts: Sequence[views.Part], table: views.Table, *, skip_corrupt: bool) -> DataFrame:
    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for _, rows in views.read_part(parts[number], [table], skip_corrupt=skip_corrupt):
                    yield from rows.combine_chunks().to_batches()

    fields = from_arrow_schema(table.full_schema)
    if not parts:
        return spark.createDataFrame([], fields)
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, fields)

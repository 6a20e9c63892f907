"""Appends the rows of a history to tables in Delta or Iceberg, whose jar the user brings.

Each row is appended once, whenever a run is killed (`lake_marks.py`). Delta itself leaves out an append whose number it
has (`txnAppId`, `txnVersion`); a table of Iceberg has the numbers in its snapshots, where they are looked up before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.history.change_rows import ROW_NAMES
from coordinator.history.lake_marks import (
    LOG,
    LakeError,
    LakeMarks,
    ends_of,
    names_of,
    read_lake_marks,
    write_lake_marks,
)
from coordinator.history.layout import LAG_DIR
from coordinator.history.source import HistorySource
from coordinator.history.spark_views import stored
from coordinator.history.views import LP, TABLES, Table
from coordinator.storage.log.fs import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# By format and Spark: the package that was tried with it.
PACKAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "delta": {
        "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
    },
    "iceberg": {"4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"},
}
_SNAPSHOT_KEY: Final = "coordinator-append"
_CATALOG: Final = "coordinator_lake"  # of Iceberg, if the location is a directory
_IN_CATALOG: Final = re.compile(r"\w+(\.\w+)+")
_WRONG_JAR: Final = re.compile(
    r"NoSuchMethodError|NoSuchFieldError|NoClassDefFoundError|ClassNotFoundException|IncompatibleClassChangeError|"
    r"AbstractMethodError|DATA_SOURCE_NOT_FOUND|Cannot find catalog plugin class|CATALOG_NOT_FOUND"
)
_DATE: Final = (
    "date_add(DATE '1970-01-01', CAST(greatest(least(floor({} / 86400000), 2932896), -719162) AS INT)) AS date"
)


def package_of(format_name: str) -> str:
    """Return the Maven coordinates of a format for the Spark that is installed. LakeError: none is known."""
    known = PACKAGES[format_name]
    release = pyspark.__version__.rpartition(".")[0]
    if release not in known:
        raise LakeError(
            f"no package of {format_name} is known for Spark {pyspark.__version__}; name one with --packages or "
            f"--jars, or install another Spark: pip install 'pyspark=={max(known)}.*'"
        )
    return known[release]


def located(location: str) -> str:
    """Return a location as it is kept: a URL, or for Iceberg a name in a catalog."""
    is_complete = "://" in location or _IN_CATALOG.fullmatch(location)
    return location if is_complete else f"file://{Path(location).absolute()}"


def spark_conf(format_name: str, location: str) -> dict[str, str]:
    """Return the settings of Spark for tables in this format at this location."""
    if format_name == "delta":
        return {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "2",  # the log of a table is small
        }
    conf = {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"}
    if not _IN_CATALOG.fullmatch(location):
        catalog = f"spark.sql.catalog.{_CATALOG}"
        conf |= {catalog: "org.apache.iceberg.spark.SparkCatalog", f"{catalog}.type": "hadoop"}
        conf[f"{catalog}.warehouse"] = location
    return conf


class LakeTables(Protocol):
    """The tables of a format at a location. Errors are those of Spark."""

    def exists(self, name: str) -> bool: ...
    def create(self, name: str, empty: DataFrame) -> None: ...
    def append(self, name: str, rows: DataFrame, id_: str, number: int) -> None:
        """Append the rows, unless the table has the append of this id and number."""
        ...


@dataclass(frozen=True, slots=True)
class DeltaTables:
    """Tables in Delta, each in a directory of its name."""

    spark: SparkSession
    location: str

    def exists(self, name: str) -> bool:
        return _exists(lambda: self.spark.read.format("delta").load(f"{self.location}/{name}"))

    def create(self, name: str, empty: DataFrame) -> None:
        self._write(name, empty, {})

    def append(self, name: str, rows: DataFrame, id_: str, number: int) -> None:
        self._write(name, rows, {"txnAppId": id_, "txnVersion": str(number)})

    def _write(self, name: str, rows: DataFrame, options: Mapping[str, str]) -> None:
        writer = rows.write.format("delta").mode("append").partitionBy("date")
        writer.options(mergeSchema="true", **options).save(f"{self.location}/{name}")


@dataclass(frozen=True, slots=True)
class IcebergTables:
    """Tables in Iceberg, in a directory, or in a catalog that Spark's own settings name."""

    spark: SparkSession
    location: str

    def exists(self, name: str) -> bool:
        return _exists(lambda: self.spark.table(self._name(name)))

    def create(self, name: str, empty: DataFrame) -> None:
        if _IN_CATALOG.fullmatch(self.location):
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.location}")
        empty.writeTo(self._name(name)).using("iceberg").partitionedBy(f.col("date")).create()

    def append(self, name: str, rows: DataFrame, id_: str, number: int) -> None:
        key, told = f.col("summary").getItem(_SNAPSHOT_KEY), f"{id_}-{number}"
        if self.spark.table(f"{self._name(name)}.snapshots").where(key == told).isEmpty():
            rows.writeTo(self._name(name)).option(f"snapshot-property.{_SNAPSHOT_KEY}", told).append()

    def _name(self, name: str) -> str:
        return f"{self.location if _IN_CATALOG.fullmatch(self.location) else _CATALOG}.{name}"


FORMATS: Final[dict[str, Callable[[Any, str], LakeTables]]] = {"delta": DeltaTables, "iceberg": IcebergTables}


def _exists(read: Callable[[], DataFrame]) -> bool:
    try:
        read()
    except AnalysisException:
        return False
    return True


@dataclass(slots=True)
class SparkLake:
    """The tables of a history in another format. The lock of the history must be held.

    `plan` writes down what to append, and `publish` appends it, so what is written can be brought to a bucket first.
    """

    spark: SparkSession
    source: HistorySource
    tables: LakeTables
    marks: LakeMarks
    fs: FileSystem = field(default_factory=RealFileSystem)

    @classmethod
    def open(cls, spark: SparkSession, source: HistorySource, format_name: str, location: str) -> SparkLake:
        """Make the tables that are not there. LakeError: the jar does not fit, or they belong to another history."""
        tables, fs = FORMATS[format_name](spark, location), RealFileSystem()
        marks = read_lake_marks(source.history_dir, fs)
        try:
            there = {table.directory for table in TABLES if tables.exists(table.directory)}
            if marks is None:
                if there:
                    raise LakeError(
                        f"{location} has tables of another history; name another place with --lake, or remove them"
                    )
                marks = LakeMarks(format_name, location)
                write_lake_marks(source.history_dir, marks, fs)
            elif (marks.format, marks.location) != (format_name, location):
                raise LakeError(
                    f"these tables are appended to {marks.location} in {marks.format}; name that with --format and "
                    f"--lake, or remove lake.json from {source.history_dir} to begin anew at {location}"
                )
            for table in TABLES:
                if table.directory not in there:
                    empty = spark.createDataFrame([], from_arrow_schema(table.full_schema))
                    tables.create(table.directory, _with_date(empty, table))
        except Exception as error:
            if isinstance(error, LakeError) or not _WRONG_JAR.search(str(error)):
                raise
            named = ", ".join(f"{each} for Spark {spark_}" for spark_, each in PACKAGES[format_name].items())
            raise LakeError(
                f"Spark {pyspark.__version__} cannot write {format_name} with the jars that it has; name the package "
                f"for it with --packages: {named}"
            ) from None
        return cls(spark, source, tables, marks, fs)

    def plan(self, next_offsets: Mapping[int, int]) -> bool:
        """Return whether there is something to append; that is durable. `next_offsets`: the marks of the history."""
        planned = self.marks.planned(ends_of(self.source, self.marks, next_offsets, self.fs))
        if planned != self.marks:
            write_lake_marks(self.source.history_dir, planned, self.fs)
            self.marks = planned
        return planned.pending is not None

    def publish(self, on_table: Callable[[str], None] = lambda _: None) -> None:
        """Append what is planned, one table after another."""
        names = names_of(self.source.history_dir, self.marks, self.fs)
        for table in TABLES:
            own = [str(self.source.history_dir / name) for name in names if name.startswith(f"{table.directory}/")]
            if own:
                on_table(table.directory)
                self.tables.append(table.directory, self._rows(table, own), self.marks.id, self.marks.number)
        done = self.marks.done()
        write_lake_marks(self.source.history_dir, done, self.fs)
        self.marks = done

    def _rows(self, table: Table, paths: list[str]) -> DataFrame:
        """Return the rows of the pending append, each once: a run that is killed while it joins files has two."""
        kind = LOG if table.has_marks else table.directory
        at = f.col(_at(table))
        inside = [
            at.between(start, end - 1)
            if kind == LAG_DIR
            else at.between(start, end - 1) & (f.col(LP.name) == partition)
            for partition, (start, end) in self.marks.ranges(kind).items()
        ]
        rows = stored(self.spark, paths, table).where(reduce(or_, inside))
        if kind != LAG_DIR:
            rows = rows.dropDuplicates([LP.name, _at(table), *ROW_NAMES.get(table.directory, ())])
        return _with_date(rows, table)


def _at(table: Table) -> str:
    """Return the column by which rows are appended."""
    return "at_ms" if table.directory == LAG_DIR else "log_offset"


def _with_date(rows: DataFrame, table: Table) -> DataFrame:
    """Return rows with their day, by which the tables are partitioned. The lag has no partition of the log."""
    time = "timestamp_ms" if "timestamp_ms" in table.schema.names else "at_ms"
    columns = table.schema.names if table.directory == LAG_DIR else table.full_schema.names
    return rows.selectExpr(*(f"`{name}`" for name in columns), _DATE.format(time))

"""The tables of a history as a stream: Structured Streaming reads the offsets log, and each trigger adds to the tables.

The log is that of a data directory, of a store that nodes share, or the topic of any Kafka (Spark's Kafka source, whose
package the user brings). The marks of the history say where to go on, and move after the files of a trigger are there,
so each record is in the tables once, whenever the job is killed. Spark's own checkpoint would repeat them, and is
thrown away.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyspark
from pyspark.sql import functions as f

from coordinator.columnar.row_columns import ROWS
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.history.commits import NEVER
from coordinator.history.extract import Extracted
from coordinator.history.stream_writer import StreamWriter, write_rows
from coordinator.processes.wall_clock import wall_ms
from coordinator.spark import spark_engine_source
from coordinator.spark.spark_source import NAME, register

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from coordinator.config.config import Config

FRESH_MS: Final = 600_000  # a record that was read so soon had no compaction before it
MOST_OFFSETS: Final = 1_000_000  # of a trigger
_LONG_S: Final = 3600

_REPORT: Final = pa.schema([("report", pa.string())])
_REPORT_DDL: Final = "report string"


class StreamSource(Protocol):
    """A log that a stream reads."""

    def rows(self, spark: SparkSession, next_offsets: Mapping[int, int]) -> DataFrame:
        """Return the stream of rows (`row_columns.ROWS`) from these offsets on."""
        ...

    def old_before_ms(self) -> int:
        """Return the time before which a gap in the offsets means that the log was compacted."""
        ...

    def clean_up_to(self) -> Mapping[int, int]:
        """Return for partitions the offset up to which they are compacted, as far as known."""
        ...


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """The offsets log in data directories: of a daemon, of its workers, or of a Kafka."""

    data_dirs: Sequence[Path]
    most_offsets: int = MOST_OFFSETS
    skip_corrupt: bool = False
    compacted_to: Callable[[], Mapping[int, int]] = dict

    def rows(self, spark: SparkSession, next_offsets: Mapping[int, int]) -> DataFrame:
        register(spark)
        reader = spark.readStream.format(NAME).option("decode", "false")
        reader = reader.option("maxOffsetsPerTrigger", str(self.most_offsets))
        reader = reader.option("skipCorrupt", str(self.skip_corrupt).lower())
        reader = reader.option("startingOffsets", json.dumps({str(number): at for number, at in next_offsets.items()}))
        return _of_batches(reader.option("paths", json.dumps([str(path.absolute()) for path in self.data_dirs])).load())

    def old_before_ms(self) -> int:
        return NEVER

    def clean_up_to(self) -> Mapping[int, int]:
        return self.compacted_to()


@dataclass(frozen=True, slots=True)
class EngineSource:
    """The store that the nodes of a cluster share, which is only read. `partitions`: those of the offsets log.

    Where the store has deleted batches, their newest records are read from its snapshot, as from a compacted log.
    """

    config: Config
    partitions: int
    most_offsets: int = MOST_OFFSETS

    def rows(self, spark: SparkSession, next_offsets: Mapping[int, int]) -> DataFrame:
        spark_engine_source.register(spark)
        options = {
            "settings": spark_engine_source.settings_text(self.config),
            "partitions": str(self.partitions),
            "startingOffsets": json.dumps({str(number): at for number, at in next_offsets.items()}),
            "maxOffsetsPerTrigger": str(self.most_offsets),
        }
        return _of_batches(spark.readStream.format(spark_engine_source.NAME).options(**options).load())

    def old_before_ms(self) -> int:
        return NEVER

    def clean_up_to(self) -> Mapping[int, int]:
        extents = spark_engine_source.extents(self.config, self.partitions)
        return {number: extent.covered_offset for number, extent in extents.items() if extent.start_offset}


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """The offsets topic of a Kafka. `settings`: other options of Spark's Kafka source, such as `kafka.sasl.mechanism`.

    Commits in transactions are read when they count, and aborted ones not at all (`isolation.level=read_committed`).
    The offsets of markers are not seen then, so a gap counts as compaction only before records that are not fresh.
    """

    bootstrap_servers: str
    settings: Mapping[str, str]
    most_offsets: int = MOST_OFFSETS

    def rows(self, spark: SparkSession, next_offsets: Mapping[int, int]) -> DataFrame:
        earliest = -2
        starts = {str(number): at or earliest for number, at in next_offsets.items()}
        # By its default way of asking for offsets, Spark does not see the partitions of an internal topic.
        spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
        options = {
            "kafka.bootstrap.servers": self.bootstrap_servers,
            "assign": json.dumps({OFFSETS_TOPIC: sorted(next_offsets)}),  # so it joins no group
            "startingOffsets": json.dumps({OFFSETS_TOPIC: starts}),
            "maxOffsetsPerTrigger": str(self.most_offsets),
            "kafka.isolation.level": "read_committed",
            "failOnDataLoss": "false",  # compaction removes offsets; the marks tell what is missing
            **self.settings,
        }
        found = spark.readStream.format("kafka").options(**options).load()
        return found.select(
            f.col("partition").alias("log_partition"),
            f.col("offset").alias("log_offset"),
            _time_ms(),
            "key",
            "value",
            f.lit(None).cast("long").alias("batch_offset"),
            f.lit(None).cast("long").alias("producer_id"),
            f.lit(None).cast("short").alias("producer_epoch"),
            f.lit(None).cast("string").alias("marker"),
        )

    def old_before_ms(self) -> int:
        return wall_ms() - FRESH_MS

    def clean_up_to(self) -> Mapping[int, int]:
        return {}


def kafka_package() -> str:
    """Return the Maven coordinates of the Kafka source of the Spark that is installed."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The result of a trigger: the reports of its files, and the marks behind them."""

    number: int
    done: Sequence[Extracted]
    next_offsets: Mapping[int, int]


def _of_batches(found: DataFrame) -> DataFrame:
    """Return the rows of a source that tells the batches of records."""
    in_transaction = f.col("transactional") | f.col("marker").isNotNull()
    return found.select(
        "log_partition",
        "log_offset",
        _time_ms(),
        "key",
        "value",
        "batch_offset",
        f.when(in_transaction, f.col("producer_id")).alias("producer_id"),
        "producer_epoch",
        "marker",
    )


def _time_ms() -> Column:
    return f.coalesce(f.unix_millis("timestamp"), f.lit(-1).cast("long")).alias("timestamp_ms")


def run(
    spark: SparkSession,
    source: StreamSource,
    writer: StreamWriter,
    *,
    every_s: float | None,
    on_batch: Callable[[MicroBatch], None] = lambda _: None,
    beside: Callable[[], None] = lambda: None,
) -> None:
    """Run the stream until it ends or is interrupted, with a trigger so often; None: what exists now.

    `beside` is called as often, in the thread of the caller, and at the end. The lock of the history must be held
    meanwhile. An exception of `on_batch` ends the stream, as any of Spark's.
    """
    history_dir = writer.source.history_dir
    partitions = range(writer.source.offsets_partitions)
    rows = source.rows(spark, {number: writer.next_offsets.get(number, 0) for number in partitions})

    def add(batch: DataFrame, number: int) -> None:
        next_offsets, old_before_ms = writer.next_offsets, source.old_before_ms()
        clean_up_to = dict(source.clean_up_to())

        def write(batches: Iterator[Any]) -> Iterator[Any]:
            for report in write_rows(history_dir, batches, next_offsets, old_before_ms, clean_up_to):
                yield from pa.table([[report.to_text()]], schema=_REPORT).to_batches()

        found = [Extracted.from_text(row[0]) for row in batch.mapInArrow(write, _REPORT_DDL).collect()]
        done = writer.enter(found, old_before_ms)
        on_batch(MicroBatch(number, done, writer.next_offsets))

    with tempfile.TemporaryDirectory(prefix="coordinator-tables-", ignore_cleanup_errors=True) as checkpoint:
        writing = rows.select(ROWS.names).writeStream.foreachBatch(add).option("checkpointLocation", checkpoint)
        if every_s is None:
            query = writing.trigger(availableNow=True).start()
        else:
            query = writing.trigger(processingTime=f"{every_s} seconds").start()
        try:
            while not query.awaitTermination(_LONG_S if every_s is None else math.ceil(every_s)):
                beside()
            beside()
        finally:
            query.stop()

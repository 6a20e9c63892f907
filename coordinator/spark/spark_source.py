"""`spark.read.format("kafka-log")`: the records of a log's files as a DataFrame, once or as a stream.

    spark.read.format("kafka-log").load("/var/lib/coordinator")            # the offsets log of a data directory
    spark.readStream.format("kafka-log").option("partitions", "0-3,7").load(directory)

It reads data directories of this coordinator and of Kafka, while a daemon runs on them or not. A task reads one
segment; columns go to Spark as Arrow batches (`columns.SCHEMA`, times as timestamps), all or those that a schema names.

A stream's offsets are log offsets, one per log partition, each behind a whole batch, so checkpoints stay valid when a
compaction rewrites the files. Records that a compaction removed before they were read are not seen. The newest records
of a running daemon may be read before they are flushed, and may then be lost in a crash of the machine.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.columnar.columns import SCHEMA as COLUMNS
from coordinator.columnar.columns import offsets_table
from coordinator.columnar.log_reader import (
    FilePosition,
    LogPartition,
    Reading,
    find_partitions,
    log_end,
    read_range,
    segments,
)
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.spark.spark_offsets import LogStreamReader, starting_offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME: Final = "kafka-log"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_LEAST_MS: Final = -62_135_596_800_000  # the years that a Spark timestamp knows: 1 to 9999
_MOST_MS: Final = 253_402_300_799_999
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_TIMES: Final = {  # column in Spark: column of the table
    "timestamp": "timestamp_ms",
    "delete_horizon": "delete_horizon_ms",
    "committed": "committed_ms",
    "expires": "expires_ms",
    "since": "since_ms",
}
_NAMED: Final = {source: name for name, source in _TIMES.items()}
SCHEMA: Final = pa.schema(
    [pa.field(_NAMED[each.name], _TIMESTAMP) if each.name in _NAMED else each for each in COLUMNS]
)

LOG: Final = logging.getLogger("coordinator.spark.spark_source")


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(KafkaLog)


class KafkaLog(DataSource):
    """The format `kafka-log`. Options: path, topic, partitions, verify, skipCorrupt, decode; see `SourceOptions`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _BatchReader(SourceOptions.parse(self.options), wanted_columns(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return _StreamReader(SourceOptions.parse(self.options), wanted_columns(schema))


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a reader. ValueError, one sentence, if one is not valid."""

    paths: tuple[Path, ...]  # `path`: a data directory, or directories of partitions
    topic: str = OFFSETS_TOPIC  # another topic's records are not decoded
    partitions: frozenset[int] | None = None  # "0,2,5-7"
    reading: Reading = field(default_factory=Reading)  # `verify` (true), `skipCorrupt` (false)
    starting: str = EARLIEST  # `startingOffsets` of a stream: earliest, latest
    starts: Mapping[str, int] = field(default_factory=dict)  # or {"0": 1204, …}: of these partitions
    decodes: bool = True  # `decode`: false leaves keys and values of all records as bytes
    most_offsets: int | None = None  # `maxOffsetsPerTrigger`, rounded to segments

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> SourceOptions:
        given = {name.lower(): value for name, value in options.items()}
        paths = json.loads(given["paths"]) if "paths" in given else [given["path"]] if "path" in given else []
        if not paths:
            raise ValueError("no path is given; name a data directory, or directories of partitions, in load(...)")
        starting = given.get("startingoffsets", EARLIEST).lower()
        starts = starting_offsets(starting)
        if starting not in (EARLIEST, LATEST) and starts is None:
            raise ValueError(f'startingOffsets is {starting!r}; say {EARLIEST}, {LATEST}, or {{"0": 1204, …}}')
        most = given.get("maxoffsetspertrigger")
        if most is not None and not (most.isdecimal() and int(most)):
            raise ValueError(f"maxOffsetsPerTrigger is {most!r}; say a number of offsets")
        return cls(
            paths=tuple(Path(each.removeprefix("file://")) for each in paths),
            topic=given.get("topic", OFFSETS_TOPIC),
            partitions=_numbers(given["partitions"]) if "partitions" in given else None,
            reading=Reading(_flag(given, "verify", True), _flag(given, "skipCorrupt", False)),
            starting=starting,
            starts=starts or {},
            decodes=_flag(given, "decode", True),
            most_offsets=int(most) if most is not None else None,
        )

    def found(self) -> list[LogPartition]:
        """Return the log partitions. LogNotFoundError if there are none."""
        return find_partitions(self.paths, self.topic, self.partitions)


def _flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    text = given.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is {text!r}; say true or false")
    return text == "true"


def _numbers(text: str) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
        if found is None or int(found[2] or found[1]) - int(found[1]) not in range(100_000):
            raise ValueError(f"partitions is {text!r}; say for example 0,2,5-7")
        numbers.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return frozenset(numbers)


def wanted_columns(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of the requested columns. ValueError if one is unknown or has another type."""
    unknown = [name for name in schema.names if name not in SCHEMA.names]
    if unknown:
        raise ValueError(f"{NAME} has no column {unknown[0]!r}; its columns are {', '.join(SCHEMA.names)}")
    wanted = pa.schema([SCHEMA.field(name) for name in schema.names])
    for name, is_type, has_type in zip(schema.names, schema.fields, from_arrow_schema(wanted).fields, strict=True):
        if is_type.dataType != has_type.dataType:
            raise ValueError(f"the column {name!r} of {NAME} is {has_type.dataType.simpleString()}")
    return wanted


class _Range(InputPartition):
    """Some offsets of a log partition: those of one segment at the time of planning."""

    def __init__(self, source: LogPartition, start: int, end: int | None, known: FilePosition | None = None) -> None:
        super().__init__(None)
        self.source = source
        self.start = start
        self.end = end
        self.known = known


def _ranges(source: LogPartition, start: int, end: int | None, known: FilePosition | None = None) -> Iterator[_Range]:
    """Yield a range for each segment that has some of these offsets."""
    bases = [each.base_offset for each in segments(source.directory)]
    inside = [base for base in bases[1:] if base > start and (end is None or base < end)]
    edges = [start, *inside, end]
    for low, high in pairwise(edges):
        if low is not None:
            yield _Range(source, low, high, known)


def _batches(part: InputPartition, options: SourceOptions, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range as Arrow batches for Spark."""
    if not isinstance(part, _Range):
        return  # Spark's stand-in for a source without partitions
    directory = part.source.directory
    for piece in read_range(directory, part.start, part.end, options.reading, part.known):
        for damage in piece.damages:
            LOG.warning("%s: left out %d bytes at %d: %s", directory, damage.size, damage.position, damage.reason)
        table = offsets_table(
            piece.batches,
            piece.records,
            log_partition=part.source.number,
            is_offsets_log=options.decodes and options.topic == OFFSETS_TOPIC,
        )
        if not isinstance(piece.rows, slice):
            table = table.take(pa.array(piece.rows))
        yield from as_spark_has_it(table, wanted)


def as_spark_has_it(table: pa.Table, wanted: pa.Schema) -> list[pa.RecordBatch]:
    """Return the wanted columns of a table of `columns.SCHEMA`."""
    made = pa.table(
        [_timestamps(table[_TIMES[name]]) if name in _TIMES else table[name] for name in wanted.names], schema=wanted
    )
    found: list[pa.RecordBatch] = made.combine_chunks().to_batches()
    return found


def _timestamps(column: pa.ChunkedArray) -> pa.Array:
    """Convert milliseconds to Spark's timestamps; null where there is no valid time (-1: none)."""
    times = column.combine_chunks()
    numbers = times.fill_null(_LEAST_MS - 1).to_numpy()
    is_none = (numbers < _LEAST_MS) | (numbers > _MOST_MS) | (numbers == -1)
    return pa.array(np.where(is_none, 0, numbers) * 1000, mask=is_none).cast(_TIMESTAMP)


class _BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, wanted: pa.Schema) -> None:
        self._options = options
        self._wanted = wanted

    def partitions(self) -> list[InputPartition]:
        return [part for source in self._options.found() for part in _ranges(source, 0, None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(partition, self._options, self._wanted)


class _StreamReader(LogStreamReader):
    """Reader of a stream of the files of a log."""

    def __init__(self, options: SourceOptions, wanted: pa.Schema) -> None:
        super().__init__(options.most_offsets)
        self._options = options
        self._wanted = wanted
        self._places: dict[int, list[FilePosition]] = {}  # where recent ends were found, by log partition

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        if self._options.starting == LATEST:
            return self._ends()
        first = {str(source.number): _first_offset(source) for source in self._options.found()}
        return {number: max(start, self._options.starts.get(number, 0)) for number, start in first.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        found: list[InputPartition] = []
        for source in self._options.found():
            number = str(source.number)
            first, behind = start.get(number, 0), end.get(number, 0)
            if first < behind:
                known = [place for place in self._places.get(source.number, []) if place.offset <= first]
                found += _ranges(source, first, behind, max(known, key=lambda place: place.offset, default=None))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _batches(partition, self._options, self._wanted)

    def _ends(self) -> dict[str, int]:
        ends = {}
        for source in self._options.found():
            places = self._places.setdefault(source.number, [])
            end = log_end(source.directory, self._options.reading, places[-1] if places else None)
            if not places or end != places[-1]:
                places.append(end)
                del places[:-4]  # the last micro-batch may be planned again
            ends[str(source.number)] = end.offset
        return ends

    def _limited(self, start: dict[str, int], latest: dict[str, int], share: int) -> dict[str, int]:
        """Limit a micro-batch: up to the last segment that begins within, at least one."""
        limited = {}
        for source in self._options.found():
            number = str(source.number)
            first, end = start.get(number, 0), latest[number]
            bases = [each.base_offset for each in segments(source.directory) if first < each.base_offset < end]
            within = [base for base in bases if base <= first + share]
            if end - first > share:
                end = within[-1] if within else bases[0] if bases else end
            limited[number] = end
        return limited


def _first_offset(source: LogPartition) -> int:
    files = segments(source.directory)
    return files[0].base_offset if files else 0

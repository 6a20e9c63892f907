"""The format `engine-log`: the offsets log of a store that nodes share, as a stream of the rows of `kafka-log`.

The store is only read. A range of offsets is what is durable when it is planned; a batch belongs to the range that has
its first offset. Each call opens the store anew, because a stream outlives the primary of a database.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.columnar.batches import read_batches
from coordinator.columnar.columns import offsets_table
from coordinator.columnar.kernel import read_records
from coordinator.config.config import Config
from coordinator.engine.log_reading import chunks, patiently, reading
from coordinator.spark.spark_offsets import LogStreamReader, starting_offsets
from coordinator.spark.spark_source import SCHEMA, as_spark_has_it, wanted_columns
from coordinator.storage.log_store import StoredExtent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from coordinator.storage.log_store import LogStore

NAME: Final = "engine-log"
MOST_TASKS: Final = 8  # of a trigger; each opens the store
_SETTINGS: Final = ("log_engine", "cluster_", "node_id")  # how the attributes begin that an engine reads


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(EngineLog)


def settings_text(config: Config) -> str:
    """Return the option `settings`."""
    names = [each.name for each in fields(config) if each.name.startswith(_SETTINGS)]
    return json.dumps({name: getattr(config, name) for name in names})


def extents(config: Config, partitions: int) -> Mapping[int, StoredExtent]:
    """Return the extents of the first partitions of a store. Raises LogStoreError."""

    async def ask() -> Mapping[int, StoredExtent]:
        async with reading(config) as engine:
            return await patiently(lambda: engine.store.extents(range(partitions)))

    return asyncio.run(ask())


class EngineLog(DataSource):
    """The format. Options: settings, partitions (their number), startingOffsets, maxOffsetsPerTrigger."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def streamReader(self, schema: StructType) -> _EngineReader:  # noqa: N802 - Spark's name
        given = {name.lower(): text for name, text in self.options.items()}
        return _EngineReader(
            Config(**json.loads(given["settings"])),
            int(given["partitions"]),
            starting_offsets(given["startingoffsets"]) or {},
            int(given["maxoffsetspertrigger"]),
            wanted_columns(schema),
        )


class _Range(NamedTuple):
    """Some offsets of a log partition."""

    partition: int
    start: int
    end: int


class _Ranges(InputPartition):
    """The ranges that a task reads."""

    def __init__(self, ranges: list[_Range]) -> None:
        super().__init__(None)
        self.ranges = ranges


class _EngineReader(LogStreamReader):
    def __init__(
        self, config: Config, partitions: int, starts: Mapping[str, int], most_offsets: int, wanted: pa.Schema
    ) -> None:
        super().__init__(most_offsets)
        self._config = config
        self._partitions = partitions
        self._start_offsets = starts
        self._wanted = wanted
        self._extents: Mapping[int, StoredExtent] = {}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {str(number): self._start_offsets.get(str(number), 0) for number in range(self._partitions)}

    def _ends(self) -> dict[str, int]:
        self._extents = extents(self._config, self._partitions)
        return {str(number): extent.end_offset for number, extent in self._extents.items()}

    def _limited(self, start: dict[str, int], latest: dict[str, int], share: int) -> dict[str, int]:
        """Limit by the offsets that batches have: those of a snapshot are far apart, and read at once."""
        return {
            number: min(end, max(start.get(number, 0), self._extents[int(number)].start_offset) + share)
            for number, end in latest.items()
        }

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        found = [_Range(int(number), start.get(number, 0), behind) for number, behind in end.items()]
        waiting = [each for each in found if each.start < each.end]
        return [_Ranges(waiting[task::MOST_TASKS]) for task in range(min(MOST_TASKS, len(waiting)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Ranges):
            return  # Spark's stand-in for a source without partitions
        tables = _tables(self._config, partition.ranges)
        with asyncio.Runner() as runner:
            while (table := runner.run(_following(tables))) is not None:
                yield from as_spark_has_it(table, self._wanted)


async def _following(tables: AsyncIterator[pa.Table]) -> pa.Table | None:
    return await anext(tables, None)


async def _tables(config: Config, ranges: list[_Range]) -> AsyncIterator[pa.Table]:
    async with reading(config) as engine:
        for each in ranges:
            async for table in tables_of(engine.store, *each):
                yield table


async def tables_of(store: LogStore, partition: int, start: int, end: int) -> AsyncIterator[pa.Table]:
    """Yield the records of a range as `columns.SCHEMA`. Raises LogStoreError, CorruptBatchError."""
    path = f"{store.name} partition {partition}"
    async for chunk in chunks(store, partition, start, end):
        batches, _ = read_batches(chunk.data, path=path)
        records = read_records(chunk.data, batches, path=path)
        table: Any = offsets_table(batches, records, log_partition=partition, is_offsets_log=False)
        new = records.offset >= chunk.from_offset
        yield table if new.all() else table.take(pa.array(np.flatnonzero(new)))

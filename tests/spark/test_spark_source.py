"""The format `kafka-log`: every record once, as a table and as a stream, over files that a compaction rewrites.

Most of it needs no Spark: its reader objects are called here as Spark calls them. The few tests at the end show that
Spark agrees.
"""

from __future__ import annotations

import json
import pickle
import shutil
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from coordinator.columnar.columns import offsets_table
from coordinator.columnar.kernel import read_segment
from coordinator.columnar.log_reader import LogNotFoundError, Reading
from coordinator.spark.spark_source import KafkaLog, SourceOptions, register
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from tests.compaction.segments import BatchOf, RecordOf, segment_of
from tests.conformance.exchange import KEPT_LOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHEN_MS = 1_700_000_000_123
NUMBERS = (0, 5)


def name(base: int, suffix: str = ".log") -> str:
    return f"{base:020d}{suffix}"


def commit(offset: int, **facts: Any) -> RecordOf:
    value = OffsetValue(offset, -1, "", WHEN_MS + offset, -1)
    return RecordOf(encode_offset_key("g", "t", offset % 7), encode_offset_value(value), **facts)


def write(directory: Path, base: int, count: int = 30, every: int = 1, suffix: str = ".log") -> None:
    """Write a segment of batches of three; with `every`, as a compaction would leave it."""
    offsets = [range(base + first, base + first + 3) for first in range(0, count, 3)]
    batches, gap = [], 0
    for three in offsets:
        kept = [each for each in three if each % every == 0]
        if not kept:
            gap += 3
            continue
        records, previous = [], three[0] - 1
        for each in kept:
            records.append(commit(each, gap=each - previous - 1))
            previous = each
        batches.append(BatchOf(records, gap=gap, trailing_gap=three[-1] - kept[-1], base_timestamp=WHEN_MS))
        gap = 0
    (directory / name(base, suffix)).write_bytes(segment_of(batches, base).data)


def append(directory: Path, base: int, first: int, count: int = 3) -> None:
    """Append batches of three to the segment that begins at `base`."""
    batches = [BatchOf([commit(at + each) for each in range(3)]) for at in range(first, first + count, 3)]
    with (directory / name(base)).open("ab") as file:
        file.write(segment_of(batches, first).data)


def compact(directory: Path) -> None:
    """Swap the segments 0 and 30 for one with every second record."""
    write(directory, 0, 60, every=2, suffix=".log.cleaned")
    (directory / name(0, ".log.cleaned")).rename(directory / name(0))
    (directory / name(30)).unlink()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two partitions with segments from 0, 30 and 60, ninety records each."""
    for number in NUMBERS:
        directory = tmp_path / "data" / f"__consumer_offsets-{number}"
        directory.mkdir(parents=True)
        for base in (0, 30, 60):
            write(directory, base)
    return tmp_path / "data"


def partition(data_dir: Path, number: int = 0) -> Path:
    return data_dir / f"__consumer_offsets-{number}"


# --- as Spark calls it, without Spark -------------------------------------------------------------------------------


def source(path: Path, **options: Any) -> KafkaLog:
    return KafkaLog({"path": str(path), **{key: str(value) for key, value in options.items()}})


def rows(reader: Any, parts: list[Any], column: str = "log_offset") -> list[list[Any]]:
    """Return the rows of each task; tasks get their range through a pickle."""
    return [
        [value for batch in reader.read(pickle.loads(pickle.dumps(part))) for value in batch[column].to_pylist()]
        for part in parts
    ]


def all_rows(reader: Any, parts: list[Any]) -> list[int]:
    return list(chain.from_iterable(rows(reader, parts)))


def batch_reader(path: Path, **options: Any) -> Any:
    made = source(path, **options)
    return made.reader(made.schema())


def stream_reader(path: Path, **options: Any) -> Any:
    made = source(path, **options)
    return made.streamReader(made.schema())


def test_a_task_reads_one_segment(data_dir: Path) -> None:
    reader = batch_reader(data_dir)
    found = rows(reader, reader.partitions())
    assert found == [list(range(base, base + 30)) for _ in NUMBERS for base in (0, 30, 60)]


def test_columns_are_those_of_the_table_and_times_are_timestamps(data_dir: Path) -> None:
    reader = batch_reader(data_dir, partitions=0)
    got = pa.Table.from_batches([batch for part in reader.partitions() for batch in reader.read(part)])
    batches, records, _ = read_segment(partition(data_dir) / name(0))
    table = offsets_table(batches, records, log_partition=0)
    for column in (
        "log_partition",
        "log_offset",
        "kind",
        "group",
        "topic",
        "partition",
        "committed_offset",
        "tombstone",
    ):
        assert got[column].to_pylist()[:30] == table[column].to_pylist()
    assert got["committed"].cast(pa.int64()).to_pylist()[:3] == [(WHEN_MS + each) * 1000 for each in range(3)]
    assert got["expires"].null_count == got.num_rows


def test_times_outside_the_calendar_are_null(tmp_path: Path) -> None:
    directory = partition(tmp_path)
    directory.mkdir()
    times = (-1, 0, 2**62, -(2**62), 253_402_300_799_999)
    batches = [BatchOf([RecordOf(b"k", b"v")], base_timestamp=each) for each in times]
    (directory / name(0)).write_bytes(segment_of(batches).data)
    reader = batch_reader(tmp_path)
    (batch,) = reader.read(reader.partitions()[0])
    assert batch["timestamp"].cast(pa.int64()).to_pylist() == [None, 0, None, None, 253_402_300_799_999_000]


def test_some_columns_can_be_asked_for_and_others_are_refused(data_dir: Path) -> None:
    from pyspark.sql.types import LongType, StringType, StructType

    made = source(data_dir, partitions=5)
    few = StructType().add("group", StringType()).add("log_offset", LongType())
    reader = made.reader(few)
    assert next(reader.read(reader.partitions()[0])).schema.names == ["group", "log_offset"]
    with pytest.raises(ValueError, match="no column 'nothing'"):
        made.reader(StructType().add("nothing", LongType()))
    with pytest.raises(ValueError, match="'group' of kafka-log is string"):
        made.reader(StructType().add("group", LongType()))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "no path is given"),
        ({"path": "d", "partitions": "1-"}, "say for example 0,2,5-7"),
        ({"path": "d", "partitions": "3-1"}, "say for example 0,2,5-7"),
        ({"path": "d", "partitions": "0-999999999"}, "say for example 0,2,5-7"),
        ({"path": "d", "verify": "maybe"}, "say true or false"),
        ({"path": "d", "startingOffsets": "7"}, "say earliest, latest, or"),
        ({"path": "d", "maxOffsetsPerTrigger": "-1"}, "say a number of offsets"),
    ],
)
def test_invalid_options_are_refused_in_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SourceOptions.parse(options)


def test_options_are_read_whatever_their_case() -> None:
    paths = json.dumps(["/a", "file:///b"])
    got = SourceOptions.parse({"PATHS": paths, "Partitions": "0, 2-4", "SKIPCORRUPT": "TRUE", "verify": "false"})
    assert got.paths == (Path("/a"), Path("/b"))
    assert got.partitions == frozenset({0, 2, 3, 4})
    assert got.reading == Reading(verify_crc=False, skip_corrupt=True)


def test_a_path_without_a_log_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LogNotFoundError, match="no partition of __consumer_offsets in"):
        batch_reader(tmp_path).partitions()


def test_another_topic_is_read_as_it_is(data_dir: Path) -> None:
    shutil.move(partition(data_dir), data_dir / "orders-0")
    reader = batch_reader(data_dir, topic="orders")
    kinds = {each for found in rows(reader, reader.partitions(), "kind") for each in found}
    assert kinds == {"record"}


def test_a_swap_between_planning_and_reading_repeats_and_loses_nothing(data_dir: Path) -> None:
    reader = batch_reader(data_dir, partitions=0)
    parts = reader.partitions()
    compact(partition(data_dir))
    assert rows(reader, parts) == [list(range(0, 30, 2)), list(range(30, 60, 2)), list(range(60, 90))]


# --- the stream -----------------------------------------------------------------------------------------------------


def test_a_stream_reads_existing_records_and_then_new_ones(data_dir: Path) -> None:
    reader = stream_reader(data_dir)
    begun = reader.initialOffset()
    assert begun == {"0": 0, "5": 0}
    first = reader.latestOffset(begun, None)
    assert first == {"0": 90, "5": 90}
    assert all_rows(reader, reader.partitions(begun, first)) == [*range(90), *range(90)]
    assert reader.latestOffset(first, None) == first
    assert list(reader.partitions(first, first)) == []
    parts = reader.partitions({"0": 12}, {"0": 45, "5": 0})
    assert rows(reader, parts) == [list(range(12, 30)), list(range(30, 45))]
    append(partition(data_dir, 5), 60, 90)
    second = reader.latestOffset(first, None)
    assert second == {"0": 90, "5": 93}
    assert rows(reader, reader.partitions(first, second)) == [[90, 91, 92]]


def test_a_compaction_between_micro_batches_repeats_and_loses_nothing_that_it_kept(data_dir: Path) -> None:
    directory = partition(data_dir)
    reader = stream_reader(data_dir, partitions=0)
    first = reader.latestOffset({"0": 0}, None)
    compact(directory)
    append(directory, 60, 90)
    write(directory, 93)  # and a roll
    second = reader.latestOffset(first, None)
    assert second == {"0": 123}
    assert all_rows(reader, reader.partitions(first, second)) == list(range(90, 123))
    restarted = stream_reader(data_dir, partitions=0)
    assert all_rows(restarted, restarted.partitions({"0": 45}, second)) == [*range(46, 60, 2), *range(60, 123)]


def test_a_compaction_between_planning_and_reading_a_micro_batch_repeats_and_loses_nothing(data_dir: Path) -> None:
    reader = stream_reader(data_dir, partitions=0)
    parts = reader.partitions({"0": 12}, {"0": 75})
    compact(partition(data_dir))
    assert rows(reader, parts) == [list(range(12, 30, 2)), list(range(30, 60, 2)), list(range(60, 75))]


def test_a_batch_that_is_being_written_is_left_to_the_next_micro_batch(data_dir: Path) -> None:
    path = partition(data_dir) / name(60)
    whole = path.read_bytes()
    reader = stream_reader(data_dir, partitions=0)
    path.write_bytes(whole[:-20])
    first = reader.latestOffset({"0": 0}, None)
    assert first == {"0": 87}
    with path.open("ab") as file:
        file.write(whole[-20:])
    second = reader.latestOffset(first, None)
    assert rows(reader, reader.partitions(first, second)) == [[87, 88, 89]]


def test_offsets_never_go_back_even_if_the_log_was_truncated(data_dir: Path) -> None:
    reader = stream_reader(data_dir, partitions=0)
    first = reader.latestOffset({"0": 0}, None)
    write(partition(data_dir), 60, 12)
    assert reader.latestOffset(first, None) == first


def test_a_stream_may_begin_at_the_end(data_dir: Path) -> None:
    assert stream_reader(data_dir, startingOffsets="latest").initialOffset() == {"0": 90, "5": 90}


def test_a_partition_that_appears_later_is_read_from_its_beginning(data_dir: Path) -> None:
    reader = stream_reader(data_dir)
    first = reader.latestOffset({"0": 0, "5": 0}, None)
    shutil.copytree(partition(data_dir), partition(data_dir, 6))
    second = reader.latestOffset(first, None)
    assert second == {"0": 90, "5": 90, "6": 90}
    assert all_rows(reader, reader.partitions(first, second)) == list(range(90))


def test_with_a_limit_a_micro_batch_ends_with_a_segment(data_dir: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    reader = stream_reader(data_dir, maxOffsetsPerTrigger=70)
    limit = reader.getDefaultReadLimit()
    begun = {"0": 0, "5": 0}
    first = reader.latestOffset(begun, limit)
    assert first == {"0": 30, "5": 30}
    assert reader.latestOffset(begun, ReadAllAvailable()) == {"0": 90, "5": 90}
    assert reader.latestOffset({"0": 90, "5": 1}, limit) == {"0": 90, "5": 60}
    tiny = stream_reader(data_dir, maxOffsetsPerTrigger=1)
    assert tiny.latestOffset(begun, tiny.getDefaultReadLimit()) == {"0": 30, "5": 30}


def test_records_after_the_start_of_an_available_now_query_are_left_to_the_next(data_dir: Path) -> None:
    reader = stream_reader(data_dir, partitions=0, maxOffsetsPerTrigger=30)
    reader.prepareForTriggerAvailableNow()
    append(partition(data_dir), 60, 90)
    offset, seen = {"0": 0}, []
    while (following := reader.latestOffset(offset, reader.getDefaultReadLimit())) != offset:
        offset = following
        seen.append(offset["0"])
    assert seen == [30, 60, 90]


# --- with Spark -----------------------------------------------------------------------------------------------------


def read_with(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    register(spark)
    return spark.read.format("kafka-log").options(**options).load(str(path))


@pytest.mark.integration
@pytest.mark.spark
def test_a_log_that_kafka_wrote_is_a_table(spark: SparkSession) -> None:
    frame = read_with(spark, KEPT_LOG)
    (path,) = KEPT_LOG.glob("*/*.log")
    batches, records, _ = read_segment(path)
    table = offsets_table(batches, records, log_partition=0)
    assert [row.log_offset for row in frame.select("log_offset").collect()] == table["log_offset"].to_pylist()
    counts = {row.kind: row["count"] for row in frame.groupBy("kind").count().collect()}
    assert counts == {kind: table["kind"].to_pylist().count(kind) for kind in set(table["kind"].to_pylist())}
    stable = [len(row["members"] or []) for row in table.to_pylist() if row["group"] == "stable"]
    assert frame.where("group = 'stable'").selectExpr("explode(members)").count() == sum(stable) > 0


@pytest.mark.integration
@pytest.mark.spark
def test_directories_and_partitions_can_be_named(spark: SparkSession, data_dir: Path) -> None:
    register(spark)
    reader = spark.read.format("kafka-log").schema("log_partition int, log_offset long")
    both = reader.load([str(partition(data_dir, number)) for number in NUMBERS])
    assert both.count() == 180
    assert reader.option("partitions", "5").load(str(data_dir)).distinct().count() == 90


@pytest.mark.integration
@pytest.mark.spark
def test_damage_ends_the_query_with_file_and_byte_unless_it_is_to_be_skipped(
    spark: SparkSession, data_dir: Path
) -> None:
    path = partition(data_dir) / name(30)
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    at = len(data) - len(data) // 10
    with pytest.raises(Exception, match=rf"{path.name}: the batch at byte {at} is damaged"):
        read_with(spark, data_dir).count()
    assert read_with(spark, data_dir, skipCorrupt="true").count() == 177
    assert read_with(spark, data_dir, verify="false").count() == 180


@pytest.mark.integration
@pytest.mark.spark
def test_a_stream_goes_on_from_its_checkpoint_after_a_compaction(
    spark: SparkSession, data_dir: Path, tmp_path: Path
) -> None:
    register(spark)
    sink, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"

    def run() -> list[tuple[int, int]]:
        frame = spark.readStream.format("kafka-log").load(str(data_dir)).select("log_partition", "log_offset")
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start(str(sink))
        assert query.awaitTermination(120)
        return sorted((row[0], row[1]) for row in spark.read.parquet(str(sink)).collect())

    expected = [(number, offset) for number in NUMBERS for offset in range(90)]
    assert run() == expected
    assert run() == expected
    compact(partition(data_dir))
    append(partition(data_dir), 60, 90, 9)
    assert run() == sorted(expected + [(0, offset) for offset in range(90, 99)])


@pytest.mark.integration
@pytest.mark.spark
def test_a_running_stream_sees_a_compaction_only_as_new_records(spark: SparkSession, data_dir: Path) -> None:
    register(spark)
    frame = spark.readStream.format("kafka-log").option("maxOffsetsPerTrigger", "60").load(str(data_dir))
    seen: list[tuple[int, int]] = []

    def take(batch: DataFrame, number: int) -> None:
        seen.extend((row[0], row[1]) for row in batch.select("log_partition", "log_offset").collect())
        if number == 0:
            compact(partition(data_dir))
            append(partition(data_dir), 60, 90)

    query = frame.writeStream.foreachBatch(take).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    kept = [*range(30), *range(30, 60, 2), *range(60, 93)]
    assert sorted(seen) == [(0, offset) for offset in kept] + [(5, offset) for offset in range(90)]

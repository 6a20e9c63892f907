"""The stream: whatever a trigger gets, and wherever a run ends, each record is in the tables once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.history.change_rows import CHANGE_SCHEMAS
from coordinator.history.events import add_events, load_events
from coordinator.history.extract import extract, locked
from coordinator.history.layout import BY_DAY, UNDIVIDED
from coordinator.history.source import HistorySource
from coordinator.history.spark_stream import DirectorySource, MicroBatch, run
from coordinator.history.stream_writer import StreamWriter
from coordinator.history.tables import load_group
from coordinator.history.topic_names import topic_names
from coordinator.storage.log.fs import RealFileSystem
from tests.compaction.logs import ANYTHING, LogWriter, Segment, seeded
from tests.history.test_consumer_groups import random_life
from tests.history.test_events import rebalance, write
from tests.history.worlds import GROUPS, data_dir, tables, write_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]
MOST_OFFSETS = 200


def of_tables(source: HistorySource, directory: Path) -> HistorySource:
    """Return the same log with another history."""
    return HistorySource.of(source.data_dir, directory)


def stream(spark: SparkSession, source: HistorySource, on_batch: Any = lambda _: None) -> list[MicroBatch]:
    """Run the stream over what exists now."""
    seen: list[MicroBatch] = []

    def note(batch: MicroBatch) -> None:
        seen.append(batch)
        on_batch(batch)

    def names() -> Mapping[str, str]:
        return topic_names(source.data_dir)

    with locked(source, RealFileSystem()):
        log = DirectorySource([source.data_dir], MOST_OFFSETS)
        run(spark, log, StreamWriter(source, names), every_s=None, on_batch=note)
    return seen


def made(directory: Path, segments: list[Segment], number: int) -> None:
    """Let the log have these segments, the last of them active."""
    write_segments(directory / f"__consumer_offsets-{number}", segments)


def test_a_growing_log_is_in_the_tables_as_extraction_has_it(tmp_path: Path, spark: SparkSession) -> None:
    segments = LogWriter().write(seeded(3, 250, ANYTHING)).segments
    consumers = random_life(4)
    source = consumers.source(tmp_path / "data")
    log = data_dir(tmp_path / "log", [], partition=1)
    (log.data_dir / "topics.json").write_bytes((source.data_dir / "topics.json").read_bytes())
    streamed = of_tables(HistorySource.of(log.data_dir), tmp_path / "tables")
    dice = random.Random(1)
    triggers = 0
    for count in (3, 5, len(segments)):
        cut = segments[count - 1].data
        some = [*segments[: count - 1], Segment(segments[count - 1].base_offset, cut)]
        made(log.data_dir, some, 0)
        made(log.data_dir, consumers.segments()[: count + dice.randrange(2)], 1)
        triggers += len(stream(spark, streamed))
    made(log.data_dir, [*segments, Segment(_end(segments))], 0)
    made(log.data_dir, [*consumers.segments(), Segment(max(consumers.seen))], 1)
    triggers += len(stream(spark, streamed))
    assert triggers > 4
    extracted = of_tables(HistorySource.of(log.data_dir), tmp_path / "extracted")
    extract(extracted)
    found, expected = tables(streamed.history_dir), tables(extracted.history_dir)
    for name in (*BY_DAY, *UNDIVIDED):
        assert found[name] == expected[name], name
    assert all(found[name] for name in CHANGE_SCHEMAS)
    alone = HistorySource.of(tmp_path / "none", streamed.history_dir)
    for group in GROUPS:
        told, there = load_group(alone, group), load_group(extracted, group)
        assert told.records == there.records
        assert told.commits.log_offset.tolist() == there.commits.log_offset.tolist()
        assert told.whole_since_ms == there.whole_since_ms


def _end(segments: list[Segment]) -> int:
    from coordinator.columnar.kernel import read_batches

    batches, _ = read_batches(bytes(segments[-1].data), path=Path("last"))
    return int(batches.last_offset[-1]) + 1 if len(batches) else segments[-1].base_offset


class KilledError(Exception):
    """The end of a run."""


def test_a_run_that_ends_anywhere_leaves_no_row_twice_and_none_out(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = LogWriter().write(seeded(5, 120, ANYTHING)).segments
    segments.append(Segment(_end(segments)))
    source = data_dir(tmp_path / "data", segments)
    expected = of_tables(source, tmp_path / "extracted")
    extract(expected)
    streamed = of_tables(source, tmp_path / "tables")
    enter = StreamWriter.enter
    left = [3]

    def killed(self: StreamWriter, *rest: Any) -> Any:
        if left[0]:
            left[0] -= 1
            if left[0] % 2:
                enter(self, *rest)  # the marks have moved, and Spark has not heard of it
            raise KilledError
        return enter(self, *rest)

    monkeypatch.setattr(StreamWriter, "enter", killed)
    for _ in range(3):
        with pytest.raises(Exception, match="KilledError"):
            stream(spark, streamed)
    stream(spark, streamed)
    assert tables(streamed.history_dir) == tables(expected.history_dir)
    stream(spark, streamed)
    assert tables(streamed.history_dir) == tables(expected.history_dir), "nothing is added again"


def test_events_come_into_the_tables_while_no_record_of_a_group_does(tmp_path: Path, spark: SparkSession) -> None:
    segments = LogWriter().write(seeded(7, 20, ANYTHING)).segments
    source = data_dir(tmp_path / "data", segments)
    streamed = of_tables(source, tmp_path / "tables")
    alone = replace(streamed, data_dir=tmp_path / "none")
    told: list[int] = []

    def beside() -> None:
        add_events(streamed, RealFileSystem())
        told.append(len(load_events(alone, "g")))
        if told[-1] == 3:
            raise KilledError
        write(source.data_dir, rebalance(len(told), len(told)))

    with locked(streamed, RealFileSystem()), pytest.raises(KilledError):
        run(spark, DirectorySource([source.data_dir]), StreamWriter(streamed, dict), every_s=0.2, beside=beside)
    assert told == [0, 1, 2, 3]
    assert not spark.streams.active

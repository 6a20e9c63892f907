"""Extraction with Spark gives the same files as without Spark."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordinator.cli.history import all_groups
from coordinator.cli.history.extract import extracted
from coordinator.history.events import ExtractedEvents, load_events
from coordinator.history.extract import ExtractError, extract
from coordinator.history.layout import consumer_files
from coordinator.history.source import HistorySource
from coordinator.history.spark_extract import extract_with_spark
from coordinator.storage.history_marks import mark_of
from tests.compaction.logs import OFFSETS, LogWriter, Segment, seeded
from tests.history.test_consumer_groups import random_life
from tests.history.test_events import rebalance
from tests.history.test_events import write as write_events
from tests.history.test_extraction import content
from tests.history.worlds import data_dir, write_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def written(seed: int, count: int = 120) -> list[Segment]:
    return LogWriter().write(seeded(seed, count, OFFSETS)).segments


def test_spark_writes_the_same_files_as_a_run_without_it(tmp_path: Path, spark: SparkSession) -> None:
    segments, consumers = written(5), random_life(4).segments()

    def made(name: str) -> HistorySource:
        source = data_dir(tmp_path / name, consumers, partition=1)
        write_segments(source.data_dir / "__consumer_offsets-0", segments)
        return HistorySource.of(source.data_dir)

    plain = made("plain")
    done = extract(plain)
    source = made("spark")
    assert len(extract_with_spark(source, spark)) == len(done) > 3
    assert content(source.history_dir) == content(plain.history_dir)
    assert consumer_files(source.history_dir, 1)
    assert extract_with_spark(source, spark) == []


def test_events_are_extracted_in_either_mode(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_groups, "spark_session", lambda master: nullcontext(spark))
    found = []
    for master in (None, "local[1]"):
        source = data_dir(tmp_path / str(master), written(5))
        write_events(source.data_dir, *(rebalance(n, n) for n in range(30)), segment_bytes=3000)
        done: list[ExtractedEvents] = []
        extracted(source, master, on_events=done.append)
        found.append((done, content(source.history_dir), load_events(source, "g")))
    assert found[0] == found[1]
    assert done[0].segments > 2 and len(found[0][2]) == 30


def test_damaged_segment_stops_its_own_partition_and_earlier_ones_are_kept(tmp_path: Path, spark: SparkSession) -> None:
    segments = written(6)
    source = data_dir(tmp_path / "data", segments, partition=1)
    write_segments(source.data_dir / "__consumer_offsets-0", segments)
    source = HistorySource.of(source.data_dir)
    whole = replace(source, history_dir=tmp_path / "whole")
    extract(whole)
    bad = source.data_dir / "__consumer_offsets-1" / segments[2].name
    bad.write_bytes(segments[2].data[:-1] + bytes([segments[2].data[-1] ^ 1]))
    with pytest.raises(ExtractError, match=f"{segments[2].name}.*damaged"):
        extract_with_spark(source, spark)
    assert mark_of(source.history_dir, 0) == segments[-1].base_offset
    assert mark_of(source.history_dir, 1) == segments[2].base_offset
    bad.write_bytes(segments[2].data)
    extract_with_spark(source, spark)
    assert content(source.history_dir) == content(whole.history_dir)

"""Extraction and questions with Spark give the same results as without Spark."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordinator.cli.history import all_groups
from coordinator.cli.history.extract import extracted
from coordinator.cli.main import main
from coordinator.history.events import ExtractedEvents, load_events
from coordinator.history.extract import ExtractError, extract
from coordinator.history.layout import consumer_files
from coordinator.history.questions import Selection, rate, stalled
from coordinator.history.rebalances import Kind, changes
from coordinator.history.source import HistorySource
from coordinator.history.spark_all_groups import AllGroups, commit_counts, rates, rebalance_counts, standstills
from coordinator.history.spark_extract import extract_with_spark
from coordinator.history.tables import GroupHistory, load_group
from coordinator.spark import spark_session
from coordinator.storage.history_marks import NOT_EXTRACTED, mark_of, read_marks, write_marks
from tests.compaction.logs import OFFSETS, LogWriter, Segment, seeded
from tests.history.test_consumer_groups import random_life
from tests.history.test_events import rebalance
from tests.history.test_events import write as write_events
from tests.history.test_extraction import content
from tests.history.worlds import GROUPS, data_dir, write_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]

MANY = 1000


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


@pytest.fixture(scope="module")
def half_extracted(tmp_path_factory: pytest.TempPathFactory) -> HistorySource:
    """A log with transactions whose first segments are extracted."""
    segments = written(7, 200)
    assert len(segments) > 6
    source = data_dir(tmp_path_factory.mktemp("half"), segments)
    extract(source)
    marks = read_marks(source.history_dir)
    assert marks is not None
    middle = len(segments) // 2
    mark = replace(
        NOT_EXTRACTED, next_offset=segments[middle].base_offset, last_segment=segments[middle - 1].base_offset
    )
    write_marks(source.history_dir, marks.with_mark(0, mark))  # files beyond the mark are left, and do not count
    return source


@pytest.fixture(scope="module")
def groups(half_extracted: HistorySource) -> dict[str, GroupHistory]:
    found = {group: load_group(half_extracted, group) for group in (*GROUPS, "alone")}
    assert all(past.extracted_to for past in found.values())
    return found


def selections(groups: dict[str, GroupHistory]) -> list[Selection]:
    times = sorted(time for past in groups.values() for time in past.commits.timestamp_ms.tolist())
    third = len(times) // 3
    return [Selection(), Selection(("t",), (), times[third]), Selection((), (1,), times[third], times[2 * third])]


def test_commits_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], spark: SparkSession
) -> None:
    all_groups = AllGroups(spark, (half_extracted,))
    for selection in selections(groups):
        answer = all_groups.ask(lambda *given, selection=selection: commit_counts(*given, selection, MANY))
        expected = {}
        for group, past in groups.items():
            own = past.commits
            mask = selection.mask(own) & own.counted & ~own.is_tombstone
            if mask.any():
                times = own.timestamp_ms[mask]
                partitions = len(set(own.key[mask].tolist()))
                expected[group] = (int(mask.sum()), partitions, int(times.min()), int(times.max()))
        found = {row["group"]: (row["commits"], row["partitions"], row["first_ms"], row["last_ms"]) for row in answer}
        assert found == expected


def test_rates_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], spark: SparkSession
) -> None:
    window_ms = 60_000
    all_groups = AllGroups(spark, (half_extracted,))
    for selection in selections(groups)[1:]:
        answer = all_groups.ask(lambda *given, selection=selection: rates(*given, selection, window_ms, MANY))
        expected = {}
        for group, past in groups.items():
            one = rate(past.commits, selection, window_ms)
            if one.keys:
                sums, counts = one.progress.sum(axis=0), one.commits.sum(axis=0)
                peak = max(int(total) for total, count in zip(sums, counts, strict=True) if count)
                expected[group] = (int(counts.sum()), int(sums.sum()), peak)
        assert {row["group"]: (row["commits"], row["progress"], row["peak"]) for row in answer} == expected


def test_standstills_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], spark: SparkSession
) -> None:
    newest = max(int(past.commits.timestamp_ms.max()) for past in groups.values() if len(past.commits))
    all_groups = AllGroups(spark, (half_extracted,))
    for selection, for_ms in zip(selections(groups), (1000, 3_600_000, 60_000), strict=True):
        answer = all_groups.ask(
            lambda *given, selection=selection, for_ms=for_ms: standstills(*given, selection, for_ms, newest, MANY)
        )
        expected = {
            (group, each.topic, each.partition): (each.kind.value, each.offset, each.since_ms, each.commits_since)
            for group, past in groups.items()
            for each in stalled(past.commits, selection, for_ms, newest)
        }
        assert {
            (row["group"], row["topic"], row["partition"]): (
                row["how"],
                row["offset"],
                row["since_ms"],
                row["commits_since"],
            )
            for row in answer
        } == expected
        assert expected or selection.since_ms


def test_rebalances_of_all_groups_equal_those_of_each(
    half_extracted: HistorySource, groups: dict[str, GroupHistory], spark: SparkSession
) -> None:
    answer = AllGroups(spark, (half_extracted,)).ask(lambda *given: rebalance_counts(*given, Selection(), MANY))
    expected = {}
    for group, past in groups.items():
        times = [each.record.timestamp_ms for each in changes(past.records) if each.kind is Kind.REBALANCED]
        if times:
            expected[group] = (len(times), max(times), len(past.records[-1].members))
    assert {row["group"]: (row["rebalances"], row["last_ms"], row["members"]) for row in answer} == expected
    assert expected


def test_rebalances_of_groups_of_the_newer_protocol_are_counted_in_either_way(
    tmp_path: Path, spark: SparkSession
) -> None:
    source = random_life(3).source(tmp_path)
    extract(source)
    marks = read_marks(source.history_dir)
    assert marks is not None
    middle = sorted(segment.base_offset for segment in consumer_files_of(source))[1:3]
    write_marks(
        source.history_dir,
        marks.with_mark(0, replace(NOT_EXTRACTED, next_offset=middle[1], last_segment=middle[0])),
    )
    past = load_group(source, "g", skip_corrupt=True)
    times = [each.record.timestamp_ms for each in changes(past.records) if each.kind is Kind.REBALANCED]
    assert len(times) > 5
    late = Selection(since_ms=times[len(times) // 2])
    (row,) = AllGroups(spark, (source,)).ask(lambda *given: rebalance_counts(*given, late, MANY))
    last = past.records[-1]
    assert row == {
        "group": "g",
        "rebalances": sum(each >= late.since_ms for each in times),
        "last_ms": max(times),
        "members": len(last.members),
        "generation": last.generation,
    }


def consumer_files_of(source: HistorySource) -> list[Segment]:
    return [Segment(file.start) for file in consumer_files(source.history_dir, 0)]


def test_a_question_is_asked_again_if_the_marks_moved_meanwhile(tmp_path: Path, spark: SparkSession) -> None:
    source = data_dir(tmp_path, written(8, 40))
    extract(source)
    asked: list[int] = []

    def question(all_groups: AllGroups, marks: object) -> list[dict[str, object]]:
        asked.append(1)
        if len(asked) == 1:
            moved = read_marks(source.history_dir)
            assert moved is not None
            write_marks(source.history_dir, moved.with_mark(7, replace(NOT_EXTRACTED, next_offset=1)))
        return []

    assert AllGroups(spark, (source,)).ask(question) == []
    assert len(asked) == 2


def test_command_answers_for_all_groups_and_names_a_file_that_a_task_cannot_read(
    half_extracted: HistorySource,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark, "stop", lambda: None)  # the command must not stop the session of the tests
    monkeypatch.setattr(spark_session, "open_session", lambda _: spark)
    words = ["--all-groups", "--data-dir", str(half_extracted.data_dir)]
    for question in (["commits"], ["rate", "--window", "1h"], ["stalled", "--for", "1s"], ["rebalances"]):
        assert main(["history", *question, *words]) == 0
        table = capsys.readouterr().out.splitlines()
        assert table[0].split()[0] == "GROUP"
        assert len(table) > 1
        assert main(["history", *question, *words, "--json"]) == 0
        assert {row["group"] for row in json.loads(capsys.readouterr().out)} <= {*GROUPS, "alone"}
    *_, damaged, _ = sorted((half_extracted.data_dir / "__consumer_offsets-0").glob("*.log"))
    data = damaged.read_bytes()
    damaged.write_bytes(data[:70] + bytes([data[70] ^ 1]) + data[71:])
    try:
        assert main(["history", "commits", *words]) == 1
    finally:
        damaged.write_bytes(data)
    err = capsys.readouterr().err
    assert f"{damaged}: the batch at byte 0 is damaged" in err
    assert err.count("\n") == 1

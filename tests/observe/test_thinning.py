"""Older days of a history keep one commit a minute of each key; newer ones, deletions and transactions keep all."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.source import HistorySource
from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.observe.mirror import Mirror
from coordinator.observe.thinning import DAY_MS, Detail, thin
from coordinator.storage.history_marks import read_marks
from coordinator.storage.log.fs import RealFileSystem
from tests.observe.world import batch, commit, part

FS = RealFileSystem()
MIDNIGHT_MS = 1_699_920_000_000  # 2023-11-14
DETAILS = (Detail(24, 60_000), Detail(7 * 24, 600_000))


def day_of_commits(path: Path) -> HistorySource:
    """Write and extract commits of two groups, one every five seconds for an hour."""
    directory = ObservedDirectory.open(path, FS)
    directory.belongs_to(ObservedLog("foreign", b"\1" * 16, 1))
    mirror = Mirror.open(path, 1, FS)
    offset = 0
    for number in range(720):
        at_ms = MIDNIGHT_MS + number * 5_000
        records = [commit("g", number), commit("h", number), commit("g", number, partition=1)]
        if number == 100:
            records.append(commit("h", None))
        more = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
        data = batch(offset, *records, at_ms=at_ms)
        offset += len(records)
        if number == 200:
            data += batch(offset, commit("t", 1), commit("t", 2), at_ms=at_ms, **more)
            offset += 2
        mirror.take([part(0, mirror.next_offset(0), data)])
    mirror.roll([0])
    mirror.close()
    directory.close()
    source = HistorySource.of(path)
    extract(source)
    return source


def rows(source: HistorySource) -> list[dict[str, object]]:
    (file,) = source.history_dir.rglob("commits/**/seg-*.parquet")
    return pq.ParquetFile(file).read().to_pylist()  # type: ignore[no-any-return]


def test_a_recent_day_is_left_alone(tmp_path: Path) -> None:
    source = day_of_commits(tmp_path)
    assert thin(source, MIDNIGHT_MS + DAY_MS + DAY_MS - 1, FS, DETAILS).files == 0
    assert len(rows(source)) == 720 * 3 + 1 + 2


@pytest.mark.parametrize(("days", "span_ms"), [(2, 60_000), (8, 600_000)])
def test_an_older_day_keeps_the_last_commit_of_each_span(tmp_path: Path, days: int, span_ms: int) -> None:
    source = day_of_commits(tmp_path)
    before = rows(source)
    thinned = thin(source, MIDNIGHT_MS + days * DAY_MS, FS, DETAILS)
    after = rows(source)
    assert (thinned.commits_before, thinned.commits_after) == (len(before), len(after))
    expected = {}
    for row in before:
        place = (row["group"], row["topic"], row["partition"], row["timestamp_ms"] // span_ms)  # type: ignore[operator]
        is_plain = not row["tombstone"] and row["producer_id"] is None
        expected[place if is_plain else ("kept", row["log_offset"])] = row
    assert sorted(after, key=str) == sorted(expected.values(), key=str)
    assert len(after) == 3 * (3_600_000 // span_ms) + 1 + 2
    marks = read_marks(source.history_dir)
    assert marks is not None
    assert (marks.of(0).compacted_to, marks.of(0).whole_since_ms) == (
        marks.of(0).next_offset,
        MIDNIGHT_MS + 719 * 5_000,
    )
    # It is not done again, and a week later once more.
    assert thin(source, MIDNIGHT_MS + days * DAY_MS, FS, DETAILS).files == 0
    assert thin(source, MIDNIGHT_MS + 9 * DAY_MS, FS, DETAILS).files == (1 if days == 2 else 0)


def test_questions_are_answered_from_what_is_left_and_name_the_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = day_of_commits(tmp_path)
    thin(source, MIDNIGHT_MS + 2 * DAY_MS, FS, DETAILS)
    capsys.readouterr()
    assert main(["history", "commits", "h", "--data-dir", str(tmp_path), "--json", "--limit", "1000"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 61
    assert "compacted" in said.err


def test_damaged_notes_are_as_none(tmp_path: Path) -> None:
    source = day_of_commits(tmp_path)
    (source.history_dir / "thinned.json").write_text("[")
    assert thin(source, MIDNIGHT_MS + 2 * DAY_MS, FS, DETAILS).files == 1

"""Older days of a history keep one commit a minute of each key; newer ones, deletions and transactions keep all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from coordinator.cli.main import main
from coordinator.history import file_list, joining, thinning
from coordinator.history.extract import extract
from coordinator.history.layout import COMMITS_DIR
from coordinator.history.moment import page_at
from coordinator.history.retention import Limits, forget_old
from coordinator.history.source import HistorySource
from coordinator.history.tables import HistoryError, load_group
from coordinator.history.thinning import DAY_MS, Detail, thin
from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.observe.mirror import Mirror
from coordinator.storage.history_marks import read_marks
from coordinator.storage.log.fs import RealFileSystem, write_atomically
from protocol.offsets_records import GroupValue, encode_group_value
from tests.observe.world import batch, commit, group_record, part
from tests.observe.written import member

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


def days_of_segments(path: Path, segments: int = 60) -> HistorySource:
    """Write and extract three days of segments, of an hour each; one in ten lies across midnight."""
    directory = ObservedDirectory.open(path, FS)
    directory.belongs_to(ObservedLog("foreign", b"\1" * 16, 1))
    mirror = Mirror.open(path, 1, FS)
    offset = 0
    for segment in range(segments):
        for number in range(60):
            at_ms = MIDNIGHT_MS + (segment * 60 + number) * 60_000 + 1_800_000
            records = [commit("g", offset), commit("h", offset, partition=segment % 3)]
            if number == 30:
                records.append(group_record("g", generation(segment)))
            mirror.take([part(0, mirror.next_offset(0), batch(offset, *records, at_ms=at_ms))])
            offset += len(records)
        mirror.roll([0])
    mirror.close()
    directory.close()
    source = HistorySource.of(path)
    extract(source)
    return source


def generation(number: int) -> bytes:
    return encode_group_value(GroupValue("consumer", number, "range", "m", MIDNIGHT_MS, [member("m", [number % 7])]))


def names(source: HistorySource) -> list[str]:
    return sorted(str(path.relative_to(source.history_dir)) for path in source.history_dir.rglob("seg-*.parquet"))


def listed(source: HistorySource) -> list[str]:
    return sorted(name for line in file_list.read(source.history_dir, 0, FS) for name in line.files)


def pages(source: HistorySource) -> list[bytes]:
    moments = [MIDNIGHT_MS + hour * 3_600_000 + 1_799_999 for hour in range(2, 59)]
    return [msgspec.json.encode(page_at([source], group, at_ms)) for at_ms in moments for group in ("g", "h")]


def test_the_segments_in_a_day_become_one_and_all_records_of_groups_stay(tmp_path: Path) -> None:
    source = days_of_segments(tmp_path)
    records = load_group(source, "g").records
    thin(source, MIDNIGHT_MS + 12 * DAY_MS, FS, DETAILS)
    assert listed(source) == names(source)
    lines = file_list.read(source.history_dir, 0, FS)
    marks = read_marks(source.history_dir)
    assert marks is not None and marks.of(0).segments == len(lines)
    # Three days: the joined segment of each, those across the two midnights, and the newest one.
    assert len(lines) == 3 + 2 + 1
    assert [line.end for line in lines[:-1]] == [line.start for line in lines[1:]]
    past = load_group(source, "g")
    assert past.records == records
    assert past.damages == ()
    kept = past.commits
    spans = np.unique(kept.timestamp_ms // 600_000)
    assert len(spans) == 60 * 6
    assert len(kept) <= len(spans) + 4  # a span that two segments share


def test_a_page_is_the_same_after_one_commit_a_minute_was_kept_of_one_a_minute(tmp_path: Path) -> None:
    source = days_of_segments(tmp_path)
    before = pages(source)
    assert thin(source, MIDNIGHT_MS + 5 * DAY_MS, FS, DETAILS).files > 50
    assert len([name for name in names(source) if name.startswith(COMMITS_DIR)]) < 10
    assert pages(source) == before


class StoppedError(Exception):
    """The process ended here."""


# A day of 23 segments: marks, two files, the list, then 44 files go and the note; the day after it likewise.
@pytest.mark.parametrize("stop", [0, 1, 2, 3, 20, 46, 47, 48, 49, 50, 51, 59])
def test_a_run_that_is_interrupted_anywhere_loses_nothing_and_is_completed_by_the_next(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = days_of_segments(tmp_path, 30)
    moments = [MIDNIGHT_MS + hour * 3_600_000 + 1_799_999 for hour in (3, 20, 24, 28)]
    records, before = load_group(source, "g").records, [page_at([source], "h", each) for each in moments]
    left = stop
    changes: dict[str, Callable[..., None]] = {"write": write_atomically, "unlink": FS.unlink}

    def counted(change: str) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal left
            if not left:
                raise StoppedError
            left -= 1
            return changes[change](*arguments)

        return run

    class Disk(RealFileSystem):
        def unlink(self, path: Path) -> None:
            counted("unlink")(path)

    for module in (thinning, joining):
        monkeypatch.setattr(module, "write_atomically", counted("write"))
    now_ms = MIDNIGHT_MS + 5 * DAY_MS
    try:
        thin(source, now_ms, Disk(), DETAILS)
    except StoppedError:
        past = load_group(source, "g")
        assert past.records == records and past.damages == ()
        assert len(np.unique(past.commits.log_offset)) == len(past.commits)
        assert [page_at([source], "h", each) for each in moments] == before
        monkeypatch.undo()
        extract(source)
        thin(source, now_ms, FS, DETAILS)
        forget_old(source, Limits(-1), now_ms, FS)
    assert listed(source) == names(source)
    assert load_group(source, "g").records == records
    assert [page_at([source], "h", each) for each in moments] == before
    marks = read_marks(source.history_dir)
    assert marks is not None and marks.of(0).segments == len(file_list.read(source.history_dir, 0, FS))


def test_a_missing_file_is_named_after_the_others_were_joined(tmp_path: Path) -> None:
    source = days_of_segments(tmp_path, 10)
    gone = next(source.history_dir.rglob("groups/**/seg-*0363.parquet"))
    gone.unlink()
    thin(source, MIDNIGHT_MS + 5 * DAY_MS, FS, DETAILS)
    with pytest.raises(HistoryError, match=r"seg-0+363"):
        load_group(source, "g")

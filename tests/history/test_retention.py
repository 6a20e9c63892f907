"""The retention of a history: states at later times stay exact, whatever is removed, and wherever a run ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.history import file_list, joining, oldest
from coordinator.history.commits import Cut, standing
from coordinator.history.duckdb_views import connect
from coordinator.history.events import extract_events
from coordinator.history.extract import ExtractError, extract
from coordinator.history.joining import PartitionFiles
from coordinator.history.layout import TRANSACTIONS_DIR, event_files, files_undivided
from coordinator.history.oldest import OldestSegment
from coordinator.history.retention import DAY_MS, Limits, forget_in, forget_old
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.history_marks import Marks, read_marks
from coordinator.storage.log.fs import RealFileSystem
from tests.compaction.logs import ANYTHING, LogWriter, Segment, seeded
from tests.history.test_consumer_groups import random_life
from tests.history.test_events import rebalance, write
from tests.history.worlds import GROUPS, before, data_dir, effects, records_of, replay, until

FS = RealFileSystem()


def marks_of(source: HistorySource) -> Marks:
    marks = read_marks(source.history_dir)
    assert marks is not None
    return marks


def lines_of(source: HistorySource, partition: int = 0) -> list[file_list.ExtractedSegment]:
    return file_list.read(source.history_dir, partition, FS)


def keep_the_last_of_each(source: HistorySource, count: int, partition: int = 0) -> None:
    """Make the first segments the oldest one."""
    lines = lines_of(source, partition)
    files = PartitionFiles(source.history_dir, partition, marks_of(source), lines, FS)
    files.replace(OldestSegment(source.history_dir, partition, lines[:count]))


def check_later(source: HistorySource, segments: list[Segment], past: dict[str, Any]) -> None:
    """Compare the states from the end of the oldest segment on with a replay of the log that was written."""
    end = lines_of(source)[0].end
    offsets = sorted({record.offset + 1 for _, record in records_of(segments) if record.offset + 1 >= end})
    whole_ms = marks_of(source).of(0).whole_since_ms
    times = sorted({record.timestamp_ms for _, record in records_of(segments) if record.timestamp_ms >= whole_ms})
    for group in GROUPS:
        found = [effect for effect in effects(segments) if effect.key.group == group]
        now = load_group(source, group)
        for offset in offsets[::7]:
            assert standing(now.commits, Cut(before_offset=offset)) == replay(found, group, before(offset))
        for time in times[::7]:
            assert standing(now.commits, Cut(until_ms=time)) == replay(found, group, until(time))
        assert now.records[-1:] == past[group].records[-1:] or past[group].records[-1].is_tombstone
        assert [each for each in now.records if each.log_offset >= end] == [
            each for each in past[group].records if each.log_offset >= end
        ]


@pytest.mark.parametrize("seed", range(4))
def test_states_after_the_retention_are_those_of_a_replay(tmp_path: Path, seed: int) -> None:
    segments = LogWriter().write(seeded(seed, 200, ANYTHING)).segments
    source = data_dir(tmp_path, segments)
    extract(source)
    past = {group: load_group(source, group) for group in GROUPS}
    before_bytes = sum(path.stat().st_size for path in source.history_dir.rglob("seg-*.parquet"))
    count = len(lines_of(source))
    for left in (count - 2, count // 2, 2):  # again and again, as the days go by
        keep_the_last_of_each(source, len(lines_of(source)) - left)
        assert len(lines_of(source)) == left + 1
        check_later(source, segments, past)
        assert {name for line in lines_of(source) for name in line.files} == {
            str(path.relative_to(source.history_dir)) for path in source.history_dir.rglob("seg-*.parquet")
        }
    after_bytes = sum(path.stat().st_size for path in source.history_dir.rglob("seg-*.parquet"))
    assert after_bytes < before_bytes / 2
    extract(source)  # nothing is missing, and nothing is extracted again
    rows = connect(source.data_dir).sql(
        "SELECT max(count) FROM (SELECT count(*) FROM commits GROUP BY log_offset) AS t(count)"
    )
    assert rows.fetchall() == [(1,)]


def test_the_state_of_consumer_groups_after_the_retention(tmp_path: Path) -> None:
    life = random_life(4)
    source = life.source(tmp_path)
    extract(source)
    partition = next(number for number in marks_of(source).partitions if lines_of(source, number))
    past = {group: load_group(source, group).records for group in ("g",)}
    keep_the_last_of_each(source, len(lines_of(source, partition)) - 1, partition)
    end = lines_of(source, partition)[0].end
    for group, records in past.items():
        now = load_group(source, group).records
        assert [each for each in now if each.log_offset >= end] == [each for each in records if each.log_offset >= end]
    assert any(records[-1].log_offset >= end for records in past.values())


def test_what_is_too_old_or_too_much_is_removed(tmp_path: Path) -> None:
    segments = LogWriter().write(seeded(1, 150, ANYTHING)).segments
    source = data_dir(tmp_path, segments)
    extract(source)
    lines = lines_of(source)
    now_ms = lines[-1].newest_ms + 3 * DAY_MS
    assert forget_old(source, Limits(-1), now_ms, FS).segments == 0
    assert forget_old(source, Limits(4 * DAY_MS), now_ms, FS).segments == 0
    total = sum(path.stat().st_size for path in source.history_dir.rglob("seg-*.parquet"))
    removed = forget_old(source, Limits(-1, max_bytes=total // 2), now_ms, FS)
    assert 0 < removed.segments < len(lines) - 2 and removed.bytes > 0
    assert removed.segments + forget_old(source, Limits(DAY_MS), now_ms, FS).segments == len(lines) - 2
    assert len(lines_of(source)) == 2, "the newest segment stays, an extraction may go back to it"
    assert forget_old(source, Limits(DAY_MS), now_ms, FS).segments == 0
    assert marks_of(source).of(0).segments == 2
    assert not any(file.start < lines[-1].start for file in files_undivided(source.history_dir, TRANSACTIONS_DIR, 0))


def test_nothing_is_removed_while_the_list_or_a_file_is_missing(tmp_path: Path) -> None:
    source = data_dir(tmp_path, LogWriter().write(seeded(1, 150, ANYTHING)).segments)
    extract(source)
    now_ms = lines_of(source)[-1].newest_ms + 9 * DAY_MS
    gone = source.history_dir / next(name for line in lines_of(source)[2:] for name in line.files)
    kept = gone.read_bytes()
    gone.unlink()
    there = sorted(source.history_dir.rglob("seg-*.parquet"))
    assert forget_old(source, Limits(0), now_ms, FS).segments == 0
    gone.write_bytes(kept)
    path = file_list.list_path(source.history_dir, 0)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"damaged\n", *lines[3:]]))
    assert forget_old(source, Limits(0), now_ms, FS).segments == 0
    path.write_bytes(b"".join(lines))
    gone.unlink()
    assert sorted(source.history_dir.rglob("seg-*.parquet")) == there
    gone.write_bytes(b"damaged")
    with pytest.raises(ExtractError, match="is damaged"):
        forget_old(source, Limits(0), now_ms, FS)


def test_old_events_and_lag_are_removed_by_their_own_times(tmp_path: Path) -> None:
    source = data_dir(tmp_path, LogWriter().write(seeded(1, 20, ANYTHING)).segments)
    now_ms = 100 * DAY_MS
    write(source.data_dir, *(rebalance(n, at_ms) for n, at_ms in enumerate((1, now_ms))), segment_bytes=1)
    extract_events(source)
    for at_ms in (1, now_ms):
        path = source.history_dir / "lag" / f"date=1970-01-{at_ms // DAY_MS + 1}" / f"at-{at_ms:013d}.parquet"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    assert forget_old(source, Limits(DAY_MS), now_ms, FS).lag_files == 1
    assert [file.start for file in event_files(source.history_dir, 0)] == [1]
    assert len(list((source.history_dir / "lag").rglob("*.parquet"))) == 1


class StoppedError(Exception):
    """The end of a run."""


@pytest.mark.parametrize("stop", range(8))
def test_a_run_that_ends_anywhere_is_completed_by_the_next(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = LogWriter().write(seeded(2, 60, ANYTHING)).segments
    source = data_dir(tmp_path, segments)
    extract(source)
    past = {group: load_group(source, group) for group in GROUPS}
    newest_ms = lines_of(source)[-1].newest_ms
    left = [stop]

    def counted(change: Any) -> Any:
        def run(*arguments: Any) -> Any:
            if left[0] == 0:
                raise StoppedError
            left[0] -= 1
            return change(*arguments)

        return run

    class Disk(RealFileSystem):
        def unlink(self, path: Path) -> None:
            counted(super().unlink)(path)

    monkeypatch.setattr(oldest, "write_table", counted(oldest.write_table))
    for name in ("write_atomically", "write_marks"):
        monkeypatch.setattr(joining, name, counted(getattr(joining, name)))
    with pytest.raises(StoppedError):
        forget_in(source, Limits(DAY_MS), newest_ms + 3 * DAY_MS, Disk())
    monkeypatch.undo()
    if stop:
        check_later(source, segments, past)
    counts = connect(source.data_dir).sql("SELECT count(*), count(DISTINCT log_offset) FROM commits").fetchall()
    assert len(set(counts[0])) == 1, counts
    forget_in(source, Limits(DAY_MS), newest_ms + 3 * DAY_MS, FS)
    check_later(source, segments, past)
    assert len(lines_of(source)) == 2
    assert {name for line in lines_of(source) for name in line.files} == {
        str(path.relative_to(source.history_dir)) for path in source.history_dir.rglob("seg-*.parquet")
    }

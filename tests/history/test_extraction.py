"""Extraction: Parquet holds the records of the log, and a run that was interrupted at any step can be repeated."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.columnar import log_reader
from coordinator.columnar.batches import CorruptBatchError
from coordinator.history.extract import ExtractError, extract
from coordinator.history.source import HistorySource
from coordinator.history.tables import HistoryError, load_group
from coordinator.simulation.disk import Directory, LossyFileSystem, MachineOffError
from coordinator.storage.file_names import LOCK_NAME, MARKS_NAME
from coordinator.storage.history_marks import NO_MARKS, MarksError, mark_of, read_marks
from coordinator.storage.log.fs import RealFileSystem
from protocol.errors import DecodeError
from protocol.offsets_records import GroupKey, OffsetKey, decode_group_value, decode_key, decode_offset_value
from protocol.record_batch import ControlType, control_type
from tests.compaction.logs import (
    ANYTHING,
    OFFSETS,
    End,
    Gap,
    LogWriter,
    OtherControl,
    Rec,
    Roll,
    Segment,
    Wait,
    Write,
    seeded,
)
from tests.history.worlds import data_dir, records_of, write_segments

HISTORY = Path("/history")  # on the file system that loses unsynced data
DAY_MS = 86_400_000


def written(seed: int = 1, count: int = 60) -> list[Segment]:
    return LogWriter().write(seeded(seed, count, OFFSETS)).segments


def content(directory: Path) -> dict[str, bytes]:
    """Return every file of a history that counts."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != LOCK_NAME and path.suffix != ".tmp"
    }


def rows(history_dir: Path, table: str) -> list[dict[str, Any]]:
    paths = sorted((history_dir / table).rglob("*.parquet"))
    found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(found, key=lambda row: row["log_offset"])


# -- the content of the files --------------------------------------------------------------------------------------


def decoded(segments: list[Segment]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the three tables as read by the plain decoders."""
    commits: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for header, record in records_of(segments):
        common = {"log_offset": record.offset, "timestamp_ms": record.timestamp_ms}
        if header.is_control:
            kind = control_type(record)
            if kind is not ControlType.UNKNOWN:
                producer = {"producer_id": header.producer_id, "producer_epoch": header.producer_epoch}
                ends.append({**common, **producer, "committed": kind is ControlType.COMMIT})
            continue
        try:
            key = decode_key(record.key or b"")
        except DecodeError:
            continue
        if isinstance(key, OffsetKey):
            value = None if record.value is None else decode_offset_value(record.value)
            commits.append(
                {
                    **common,
                    **key._asdict(),
                    "tombstone": value is None,
                    "committed_offset": value and value.offset,
                    "leader_epoch": value.leader_epoch if value and value.leader_epoch >= 0 else None,
                    "metadata": None if value is None else value.metadata,
                    "committed_ms": value and value.commit_timestamp_ms,
                    "expires_ms": value.expire_timestamp_ms if value and value.expire_timestamp_ms >= 0 else None,
                    "producer_id": header.producer_id if header.is_transactional else None,
                }
            )
        elif isinstance(key, GroupKey):
            state = None if record.value is None else decode_group_value(record.value)
            groups.append(
                {
                    **common,
                    "group": key.group,
                    "tombstone": state is None,
                    "generation": state and state.generation,
                    "members": None if state is None else [member.member_id for member in state.members],
                }
            )
    return commits, groups, ends


@pytest.mark.parametrize("seed", range(5))
def test_tables_hold_the_records_that_the_plain_decoders_read(tmp_path: Path, seed: int) -> None:
    log = LogWriter().write(seeded(seed, 80, ANYTHING)).roll()
    source = data_dir(tmp_path, log.segments)
    extract(source)
    commits, groups, ends = decoded(log.closed)
    assert commits and groups and ends
    assert rows(source.history_dir, "commits") == [pytest.approx(row) for row in commits]
    assert rows(source.history_dir, "transactions") == ends
    found = rows(source.history_dir, "groups")
    for row in found:
        row["members"] = row["members"] and [member["member_id"] for member in row["members"]]
    assert [{name: row[name] for name in groups[0]} for row in found] == [
        {**row, "members": row["members"] or row["members"]} for row in groups
    ]


def test_segment_of_two_days_gives_a_file_for_each_utc_day(tmp_path: Path) -> None:
    log = LogWriter(now_ms=19_000 * DAY_MS - 1000)
    log.write([Write((Rec(0),)), Wait(2000), Write((Rec(0),)), Roll()])
    source = data_dir(tmp_path, log.segments)
    extract(source)
    days = [f"{datetime.fromtimestamp(day * 86_400, UTC):%Y-%m-%d}" for day in (18_999, 19_000)]
    name = f"lp=0/seg-{0:020d}.parquet"
    assert sorted(content(source.history_dir)) == [f"commits/date={day}/{name}" for day in days] + [
        "files/lp=0.jsonl",
        MARKS_NAME,
    ]


@pytest.mark.parametrize("now_ms", [-(2**62), 2**62])
def test_time_outside_the_calendar_is_in_the_file_of_the_nearest_day(tmp_path: Path, now_ms: int) -> None:
    log = LogWriter(now_ms=now_ms).write([Write((Rec(0),)), Roll()])
    source = data_dir(tmp_path, log.segments)
    extract(source)
    (path,) = (source.history_dir / "commits").iterdir()
    assert path.name in ("date=0001-01-01", "date=9999-12-31")
    assert len(load_group(source, "g", since_ms=0, until_ms=1).commits) == 1, "a file of the edge is never left out"


def test_rows_of_a_group_are_adjacent(tmp_path: Path) -> None:
    source = data_dir(tmp_path, LogWriter().write([*seeded(3, 40, OFFSETS), Roll()]).segments)
    extract(source)
    for path in (source.history_dir / "commits").rglob("*.parquet"):
        groups = pq.ParquetFile(path).read(columns=["group"])["group"].to_pylist()
        assert groups == sorted(groups)


# -- repeated and interrupted runs ---------------------------------------------------------------------------------


def test_second_run_does_nothing_and_several_runs_give_the_same_files(tmp_path: Path) -> None:
    segments = written()
    source = data_dir(tmp_path / "at once", segments)
    assert len(extract(source)) == len(segments) - 1
    whole = content(source.history_dir)
    assert extract(source) == []
    assert content(source.history_dir) == whole

    growing = data_dir(tmp_path / "in pieces", segments[:1])
    for count in range(1, len(segments) + 1):
        write_segments(growing.data_dir / "__consumer_offsets-0", segments[:count])
        extract(growing)
    assert content(growing.history_dir) == whole


def tree(node: Directory, path: Path = Path("/")) -> Iterator[tuple[Path, bytes]]:
    for name, child in node.entries.items():
        if isinstance(child, Directory):
            yield from tree(child, path / name)
        elif name != LOCK_NAME and not name.endswith(".tmp"):
            yield path / name, bytes(child.content)


def on_lossy_disk(source: HistorySource) -> tuple[dict[Path, bytes], int]:
    """Return the result of an uninterrupted run, and the number of its operations."""
    fs = LossyFileSystem()
    extract(source, fs=fs)
    return dict(tree(fs.root)), sum(fs.counts.values())


def test_power_cut_at_any_step_keeps_files_below_the_mark_and_the_next_run_completes_them(
    tmp_path: Path,
) -> None:
    source = replace(data_dir(tmp_path, written(seed=2, count=16)), history_dir=HISTORY)
    whole, operations = on_lossy_disk(source)
    rng = random.Random(1)
    for step in range(operations):
        for keeps_some in (False, True):
            fs = LossyFileSystem(seed=step)
            fs.crash_after(step)
            with pytest.raises((MachineOffError, ExtractError, MarksError)):
                extract(source, fs=fs)
            fs = fs.crash(rng if keeps_some else None)
            check_promises(dict(tree(fs.root)), whole, fs, step)
            extract(source, fs=fs)
            assert dict(tree(fs.root)) == whole, f"after a cut at operation {step}"
            survivor = fs.crash(None)
            assert dict(tree(survivor.root)) == whole, f"not all durable, after a cut at operation {step}"


def check_promises(left: dict[Path, bytes], whole: dict[Path, bytes], fs: LossyFileSystem, step: int) -> None:
    """Check that every file below the mark exists with its final content."""
    mark = (read_marks(HISTORY, fs) or NO_MARKS).of(0).next_offset if fs.is_dir(HISTORY) else 0
    for path, data in whole.items():
        if path.name.startswith("seg-") and int(path.stem.removeprefix("seg-")) < mark:
            assert left.get(path) == data, f"{path} after a cut at operation {step}, with the mark at {mark}"


KILLED = """
import os, signal, sys
from pathlib import Path
from coordinator.history.extract import extract
from coordinator.history.source import HistorySource
from coordinator.storage.log.fs import RealFile, RealFileSystem

left = int(sys.argv[2])

def dying(method):
    def act(*words, **named):
        global left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return method(*words, **named)
    return act

for kind, names in ((RealFile, ("pwrite", "fsync", "truncate")), (RealFileSystem, ("rename", "fsync_dir", "mkdir"))):
    for name in names:
        setattr(kind, name, dying(getattr(kind, name)))
extract(HistorySource.of(Path(sys.argv[1])))
print("survived")
"""


@pytest.mark.integration
def test_run_after_a_killed_process_gives_the_same_files(tmp_path: Path) -> None:
    segments = written(seed=4, count=40)
    reference = data_dir(tmp_path / "reference", segments)
    extract(reference)
    whole = content(reference.history_dir)
    source = data_dir(tmp_path / "killed", segments)
    kills = 0
    for step in (0, 2, 5, 11, 18, 29, 47, 1000):
        command = [sys.executable, "-c", KILLED, str(source.data_dir), str(step)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        kills += 1
    assert kills > 3
    extract(source)
    assert content(source.history_dir) == whole


# -- marks that do not belong to the log ---------------------------------------------------------------------------


def test_mark_is_the_base_offset_of_the_active_segment(tmp_path: Path) -> None:
    segments = written()
    source = data_dir(tmp_path, segments)
    assert mark_of(source.history_dir, 0) == 0
    extract(source)
    assert mark_of(source.history_dir, 0) == segments[-1].base_offset
    assert mark_of(source.history_dir, 1) == 0


def test_log_truncated_into_an_extracted_segment_is_extracted_again_from_there(tmp_path: Path) -> None:
    before = LogWriter().write([Write((Rec(0),)), Roll(), Write((Rec(0), Rec(1))), Wait(DAY_MS), Write((Rec(2),))])
    kept = [before.segments[0], Segment(before.segments[1].base_offset, before.segments[1].data)]
    before.write([Roll(), Write((Rec(3),))])
    source = data_dir(tmp_path, before.segments)
    extract(source)
    # The write to the third segment failed, and the log was truncated before the last batch of the second.
    first_batch = int.from_bytes(kept[1].data[8:12], "big") + 12
    kept[1].data = kept[1].data[:first_batch]
    after = LogWriter(next_offset=3, segments=[*kept, Segment(3)], now_ms=before.now_ms)
    after.write([Write((Rec(1),)), Write((Rec(1),)), Write((Rec(1),)), Roll(), Write((Rec(0),))])
    write_segments(source.data_dir / "__consumer_offsets-0", after.segments)
    fresh = data_dir(tmp_path / "fresh", after.segments)
    commits, right = load_group(source, "g").commits, load_group(fresh, "g").commits
    assert commits.log_offset.tolist() == list(range(7))
    assert commits.offset.tolist() == right.offset.tolist(), "a question sees the log as it is"
    extract(source)
    extract(source)
    extract(fresh)
    assert content(source.history_dir) == content(fresh.history_dir)


def test_leftovers_of_an_interrupted_run_do_not_count_and_are_removed(tmp_path: Path) -> None:
    segments = written()
    source = data_dir(tmp_path, segments)
    extract(source)
    whole = content(source.history_dir)
    paths = sorted((source.history_dir / "commits").rglob("*.parquet"))
    newest = segments[-1].base_offset + 3
    (paths[0].parent / f"seg-{newest:020d}.parquet").write_bytes(paths[0].read_bytes())
    commits = load_group(source, "g").commits
    assert len(set(commits.log_offset.tolist())) == len(commits)
    extract(source)
    assert content(source.history_dir) == whole


def test_gaps_tell_from_what_time_on_the_history_is_complete(tmp_path: Path) -> None:
    log = LogWriter().write([Write((Rec(0),)), Gap(1), Write((Rec(0),))])
    compacted_ms = log.now_ms
    log.write([Write((Rec(1),)), Roll(), Write((Rec(2),)), Roll(), Write((Rec(3),))])
    source = data_dir(tmp_path, log.segments)
    (source.data_dir / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 4\n")
    live = load_group(source, "g")
    assert (live.compacted_to, live.whole_since_ms) == (4, log.now_ms - 20), "all that the cleaner had seen"
    extract(source)
    stored = load_group(source, "g")
    assert (stored.compacted_to, stored.whole_since_ms) == (live.compacted_to, live.whole_since_ms)

    (source.data_dir / "cleaner-offset-checkpoint").unlink()
    without = load_group(replace(source, history_dir=tmp_path / "none"), "g")
    assert (without.compacted_to, without.whole_since_ms) == (2, compacted_ms), "at least up to the gap"


def test_log_without_gaps_is_complete_from_its_beginning(tmp_path: Path) -> None:
    log = LogWriter().write([Write((Rec(0),)), OtherControl(), Roll(), End(1, True), Roll(), Write((Rec(1),))])
    source = data_dir(tmp_path, log.segments)
    assert load_group(source, "g").compacted_to == 0
    extract(source)
    assert load_group(source, "g").whole_since_ms == -1


def test_damaged_segment_stops_the_extraction_unless_skip_corrupt(tmp_path: Path) -> None:
    log = LogWriter().write([Write((Rec(0),)), Roll(), Write((Rec(0),)), Write((Rec(1),)), Write((Rec(2),)), Roll()])
    second = log.segments[1]
    size = int.from_bytes(second.data[8:12], "big") + 12
    second.data = second.data[: size + 70] + bytes([second.data[size + 70] ^ 1]) + second.data[size + 71 :]
    source = data_dir(tmp_path, log.segments)
    with pytest.raises(CorruptBatchError, match=rf"{second.name}.*at byte {size}"):
        extract(source)
    assert mark_of(source.history_dir, 0) == second.base_offset, "earlier segments stay extracted"
    done = extract(source, skip_corrupt=True)
    assert [position for each in done for position, _ in each.damages] == [size]
    past = load_group(source, "g")
    assert past.commits.log_offset.tolist() == [0, 1, 3]
    assert past.compacted_to == 3, "the skipped batch is a gap"


def test_the_newest_segment_is_read_up_to_its_last_whole_batch(tmp_path: Path) -> None:
    log = LogWriter().write([Write((Rec(0),)), Write((Rec(1),))])
    whole = log.active.data
    for size in range(len(whole) // 2 + 1, len(whole), 7):
        log.active.data = whole[:size]
        source = data_dir(tmp_path, log.segments)
        assert load_group(source, "g").commits.log_offset.tolist() == [0]


def test_two_extractions_at_once_are_refused(tmp_path: Path) -> None:
    source = data_dir(tmp_path, written())
    source.history_dir.mkdir()
    held = RealFileSystem().lock(source.history_dir / LOCK_NAME)
    with pytest.raises(ExtractError, match="another extraction"):
        extract(source)
    held.close()
    extract(source)


def test_the_history_of_another_cluster_is_refused(tmp_path: Path) -> None:
    source = data_dir(tmp_path / "a", written())
    extract(source)
    other = replace(data_dir(tmp_path / "b", written(seed=3), cluster_id="other"), history_dir=source.history_dir)
    with pytest.raises(ExtractError, match="history of cluster test"):
        extract(other)
    with pytest.raises(HistoryError, match="another cluster"):
        load_group(other, "g")


def test_a_history_without_its_marks_is_refused(tmp_path: Path) -> None:
    source = data_dir(tmp_path, written())
    extract(source)
    (source.history_dir / MARKS_NAME).unlink()
    with pytest.raises(ExtractError, match=r"without its marks\.json"):
        extract(source)
    (source.history_dir / MARKS_NAME).write_text(json.dumps({"version": 9}))
    with pytest.raises(MarksError, match="restore it from a copy"):
        extract(source)


def test_a_log_that_ends_before_its_history_is_refused(tmp_path: Path) -> None:
    segments = written()
    source = data_dir(tmp_path, segments)
    extract(source)
    write_segments(source.data_dir / "__consumer_offsets-0", segments[:1])
    with pytest.raises(ExtractError, match="ends before its history"):
        extract(source)


def test_a_history_inside_of_a_kafkas_data_directory_is_refused(tmp_path: Path) -> None:
    source = data_dir(tmp_path, written())
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=kafkas\nnode.id=1\n")
    kafkas = HistorySource.of(tmp_path)
    with pytest.raises(ExtractError, match="--history-dir"):
        extract(kafkas)
    assert not source.history_dir.exists()
    elsewhere = HistorySource.of(tmp_path, tmp_path.parent / f"{tmp_path.name}-history")
    assert extract(elsewhere)
    assert len(load_group(elsewhere, "g").commits) == len(load_group(kafkas, "g").commits) > 0


def test_history_without_its_log_still_answers(tmp_path: Path) -> None:
    segments = written()
    source = data_dir(tmp_path / "data", segments)
    extract(source)
    source.history_dir.rename(tmp_path / "history")
    alone = HistorySource.of(tmp_path / "gone", tmp_path / "history")
    commits = load_group(alone, "g").commits
    extracted = [row["log_offset"] for row in decoded(segments[:-1])[0] if row["group"] == "g"]
    assert commits.log_offset.tolist() == extracted


# -- while the directory changes -----------------------------------------------------------------------------------


def test_extraction_and_compaction_during_a_question_leave_no_gap_between_parquet_and_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter().write([Write((Rec(0),)), Write((Rec(0),)), Roll(), Write((Rec(0),))])
    source = data_dir(tmp_path, log.segments)
    directory = source.data_dir / "__consumer_offsets-0"
    second_batch = int.from_bytes(log.segments[0].data[8:12], "big") + 12
    survivor = Segment(0, log.segments[0].data[second_batch:])
    listed = log_reader.segments
    looks: list[Path] = []

    def compacting(where: Path) -> list[log_reader.SegmentFile]:
        looks.append(where)
        if len(looks) == 1:  # the question has read the marks and starts to read the log
            extract(source)
            write_segments(directory, [survivor, log.segments[1]])
        return listed(where)

    monkeypatch.setattr(log_reader, "segments", compacting)
    past = load_group(source, "g")
    assert past.commits.log_offset.tolist() == [0, 1, 2]
    assert past.compacted_to == 0
    assert looks


def test_record_in_a_cleaned_segment_and_in_the_old_one_is_read_once(tmp_path: Path) -> None:
    log = LogWriter().write([Write((Rec(0),)), Roll(), Write((Rec(1),)), Roll(), Write((Rec(2),))])
    merged = Segment(0, log.segments[0].data + log.segments[1].data)
    source = data_dir(tmp_path, [merged, log.segments[1], log.segments[2]])
    past = load_group(source, "g")
    assert past.commits.log_offset.tolist() == [0, 1, 2]
    assert past.compacted_to == 0


def test_the_same_rows_give_the_same_bytes() -> None:
    from coordinator.history.extract import parquet_bytes

    table = pa.table({"group": ["a", "b"], "log_offset": [1, 2]})
    assert parquet_bytes(table) == parquet_bytes(pa.table(table.to_pydict()))

"""Offsets at a moment, compared with a replay record by record at every record boundary and every time.

The same log is read with none, some and all of its closed segments extracted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.offsets.replay import Replay
from coordinator.history.change_writer import ChangeWriter
from coordinator.history.commits import Cut, standing
from coordinator.history.extract import begin, due, entered, extract, extract_segment, locked
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.history_marks import write_marks
from coordinator.storage.log.fs import RealFileSystem
from protocol.record_batch import iter_batches, read_records
from tests.compaction.logs import OFFSETS, End, LogWriter, Op, Rec, Segment, Wait, Write, operations, seeded
from tests.history.stories import Story
from tests.history.worlds import EVERYTHING, GROUPS, Offsets, before, data_dir, effects, records_of, replay, until


def extract_some(source: HistorySource, count: int) -> None:
    """Extract only the first segments, as an interrupted run does."""
    fs = RealFileSystem()
    with locked(source, fs):
        marks = begin(source, fs)
        changes = ChangeWriter(source.history_dir, 0, {}, fs)
        for task in due(source, marks, 0)[:count]:
            marks = entered(source, marks, changes, extract_segment(source, task), fs)
            write_marks(source.history_dir, marks)


def check_everywhere(source: HistorySource, segments: list[Segment], *, every: int = 1) -> None:
    records = list(records_of(segments))
    boundaries = [record.offset for _, record in records] + [records[-1][1].offset + 1 if records else 0]
    times = sorted({record.timestamp_ms + step for _, record in records for step in (-1, 0)})
    for group in GROUPS:
        found = [effect for effect in effects(segments) if effect.key.group == group]
        commits = load_group(source, group).commits
        for boundary in boundaries[::every]:
            assert standing(commits, Cut(before_offset=boundary)) == replay(found, group, before(boundary))
        for time in times[::every]:
            assert standing(commits, Cut(until_ms=time)) == replay(found, group, until(time))
        assert standing(commits, Cut()) == replay(found, group, EVERYTHING)


@given(operations(OFFSETS, max_size=30), st.integers(0, 6))
def test_offsets_at_every_boundary_are_those_of_a_replay_up_to_it(ops: list[Op], extracted: int) -> None:
    log = LogWriter().write(ops)
    with tempfile.TemporaryDirectory() as name:
        source = data_dir(Path(name), log.segments)
        extract_some(source, extracted)
        check_everywhere(source, log.segments)


@pytest.mark.parametrize(("seed", "extracted"), [(0, 0), (1, 3), (2, 1000)])
def test_answers_do_not_depend_on_the_extracted_part_of_a_long_log(tmp_path: Path, seed: int, extracted: int) -> None:
    log = LogWriter().write(seeded(seed, 150, OFFSETS))
    source = data_dir(tmp_path, log.segments)
    extract_some(source, extracted)
    check_everywhere(source, log.segments, every=5)


@pytest.mark.parametrize("seed", range(3))
def test_answer_after_each_batch_equals_the_memory_of_a_restarted_coordinator(tmp_path: Path, seed: int) -> None:
    log = LogWriter().write(seeded(seed, 40, OFFSETS))
    source = data_dir(tmp_path, log.segments)
    extract(source)
    histories = {group: load_group(source, group).commits for group in GROUPS}
    batches = [
        (header, read_records(segment.data, position, header))
        for segment in log.segments
        for position, header in iter_batches(segment.data)
    ]
    for count in range(len(batches) + 1):
        loaded = loaded_offsets(batches[:count])
        end = batches[count - 1][0].last_offset + 1 if count else 0
        for group, commits in histories.items():
            assert {
                key: stood.offset for key, stood in standing(commits, Cut(before_offset=end)).items()
            } == loaded.get(group, {}), f"{group} before offset {end}"


def loaded_offsets(batches: list) -> dict[str, dict[tuple[str, int], int]]:  # type: ignore[type-arg]
    """Return the offsets by group that the coordinator's own loader reads from these batches."""
    loader = Replay()
    for header, records in batches:
        loader.add(header, records)
    _, store = loader.settle()
    found: dict[str, dict[tuple[str, int], int]] = {}
    for group in GROUPS:
        offsets = {
            (topic, partition): committed.offset
            for topic, own in store.of_group(group).items()
            for partition, committed in own.items()
        }
        if offsets:
            found[group] = offsets
    return found


def test_transaction_counts_from_its_marker_on_and_never_if_aborted(tmp_path: Path) -> None:

    commit = (Rec(0), Rec(1))  # partitions 0 and 1 of topic t in group g
    log = LogWriter().write(
        [Write(commit), Write((Rec(0),), producer_id=1), Wait(1000), End(1, True), Write((Rec(1),), producer_id=2)]
    )
    log.write([End(2, False), Write((Rec(0),), producer_id=1)])
    source = data_dir(tmp_path, log.segments)
    commits = load_group(source, "g").commits
    first: Offsets = standing(commits, Cut(before_offset=3))
    assert [each.offset for each in first.values()] == [1, 2]
    assert [each.offset for each in standing(commits, Cut(before_offset=4)).values()] == [3, 2]
    assert [each.offset for each in standing(commits, Cut()).values()] == [3, 2]
    assert commits.counted.tolist() == [True, True, True, False, False]


def test_deletion_within_a_transaction_counts_at_once(tmp_path: Path) -> None:
    story = Story().commit(t=5).commit(producer_id=1, t=9).commit(producer_id=1, t=None)
    assert standing(story.past(tmp_path)[0], Cut()) == {}
    assert standing(story.end_transaction(1, commit=True).past(tmp_path)[0], Cut()) == {}

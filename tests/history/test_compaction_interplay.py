"""History with compaction: extracted records answer as before, and lost records never give a wrong answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coordinator.compaction.column_compaction import compact_partition
from coordinator.history.commits import Cut, standing
from coordinator.history.extract import extract
from coordinator.history.rebalances import changes
from coordinator.history.resets import last_reset
from coordinator.history.source import HistorySource
from coordinator.history.tables import GroupHistory, load_group
from tests.compaction.logs import DAY_MS, OFFSETS, START_MS, Empty, Gap, LogWriter, Segment, compacted, seeded
from tests.history.stories import Story
from tests.history.worlds import GROUPS, data_dir, effects, replay, until, write_segments

COLUMNS = ("log_offset", "timestamp_ms", "offset", "is_tombstone", "committed_ms", "counts_from", "counts_ms", "key")


def compact_closed(segments: list[Segment], now_ms: int, retention_ms: int = DAY_MS) -> list[Segment]:
    """Compact all closed segments, as one round of compaction does."""
    made, _ = compacted(
        compact_partition, segments[:-1], segments[-1].base_offset, now_ms, delete_retention_ms=retention_ms
    )
    return [*made, segments[-1]]


def same(one: GroupHistory, other: GroupHistory) -> None:
    assert one.commits.keys == other.commits.keys
    for name in COLUMNS:
        assert np.array_equal(getattr(one.commits, name), getattr(other.commits, name)), name
    assert one.commits.metadata.to_pylist() == other.commits.metadata.to_pylist()
    assert one.records == other.records


@pytest.mark.parametrize("seed", range(3))
def test_answers_do_not_change_if_each_compaction_follows_an_extraction(tmp_path: Path, seed: int) -> None:
    log = LogWriter()
    twin = LogWriter()
    source = data_dir(tmp_path / "compacted", log.segments)
    never = data_dir(tmp_path / "never", twin.segments)
    log_dir, twin_dir = (each.data_dir / "__consumer_offsets-0" for each in (source, never))
    before = after = 0
    for number in range(4):
        ops = seeded(10 * seed + number, 50, OFFSETS)
        for writer, directory in ((log, log_dir), (twin, twin_dir)):
            writer.write(ops).roll()
            write_segments(directory, writer.segments)
        extract(source)
        before += sum(segment.size_bytes for segment in log.segments)
        log.segments = compact_closed(log.segments, log.now_ms, retention_ms=0)
        after += sum(segment.size_bytes for segment in log.segments)
        write_segments(log_dir, log.segments)
        for group in GROUPS:
            past, whole = load_group(source, group), load_group(never, group)
            same(past, whole)
            assert past.whole_since_ms == whole.whole_since_ms
            assert past.commits.log_offset.size or not number
            assert last_reset(past.commits, past.records) == last_reset(whole.commits, whole.records)
            assert changes(past.records) == changes(whole.records)
    assert after < before * 0.8, "something was compacted"


@pytest.mark.parametrize("seed", range(4))
def test_log_compacted_first_gives_no_wrong_answer_and_its_gaps_are_known(tmp_path: Path, seed: int) -> None:
    log = LogWriter().write([*seeded(seed, 120, OFFSETS)]).roll()
    found = effects(log.segments)
    log.segments = compact_closed(log.segments, log.now_ms)
    end = log.segments[-1].base_offset
    log.write([op for op in seeded(seed + 50, 20, OFFSETS) if not isinstance(op, Gap | Empty)])
    found += [effect for effect in effects(log.segments) if effect.from_offset >= end]
    source = data_dir(tmp_path, log.segments)
    (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\n__consumer_offsets 0 {end}\n")
    check_compacted(source, found, end)
    extract(source)
    check_compacted(source, found, end)


def check_compacted(source: HistorySource, found: list, end: int) -> None:  # type: ignore[type-arg]
    times = sorted({effect.from_ms for effect in found})
    for group in GROUPS:
        past = load_group(source, group)
        assert past.compacted_to == end
        assert past.whole_since_ms > times[0]
        own = [effect for effect in found if effect.key.group == group]
        lost = 0
        for time in times[:: max(len(times) // 60, 1)]:
            right = replay(own, group, until(time))
            told = standing(past.commits, Cut(until_ms=time))
            if time >= past.whole_since_ms:
                assert told == right
            else:
                assert told.items() <= right.items(), f"wrong at {time}"
                lost += told != right
        assert lost, "else this test shows nothing"


@pytest.mark.parametrize("knows_cleaner", [True, False])
def test_commits_of_members_do_not_become_a_reset_by_compaction(tmp_path: Path, knows_cleaner: bool) -> None:
    """The records that show the group's members are lost, so no commit of that time counts as a reset."""
    story = Story().members("a").commit(u=5).empty().members("b").commit(t=7).empty()
    segments = story.segments()
    source = data_dir(tmp_path, segments)
    past = load_group(source, "g")
    assert last_reset(past.commits, past.records) is None
    write_segments(tmp_path / "__consumer_offsets-0", compact_closed(segments, story.now_ms))
    if knows_cleaner:
        (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\n__consumer_offsets 0 {segments[-1].base_offset}\n")
    past = load_group(source, "g")
    assert [record.members for record in past.records] == [()], "only the newest record of the group is left"
    assert past.commits.log_offset.tolist() == [1, 4]
    with_members = [*Story().members("a").past(tmp_path / "other")[1], *past.records]
    assert last_reset(past.commits, with_members) is None
    assert last_reset(past.commits, past.records, past.compacted_to) is None
    assert past.compacted_to > 0 and past.whole_since_ms >= past.commits.timestamp_ms[0]


def test_commits_of_a_compacted_log_without_a_group_record_are_no_reset(tmp_path: Path) -> None:
    """The gap ends right before the commit, so only the missing group record would show its members."""
    segments = Story().members("a").commit(u=5).members("a", "b").segments()
    source = data_dir(tmp_path, compact_closed(segments, START_MS))
    past = load_group(source, "g")
    assert (past.compacted_to, past.commits.log_offset.tolist()) == (1, [1])
    assert last_reset(past.commits, past.records) is not None, "taken for a reset, if nothing were known of gaps"
    assert last_reset(past.commits, past.records, past.compacted_to) is None


def test_reset_in_the_compacted_part_is_not_undone(tmp_path: Path) -> None:
    story = Story().members("a").commit(t=5, t_1=6).empty().commit(t=0)
    source = data_dir(tmp_path, compact_closed(story.segments(), story.now_ms))
    past = load_group(source, "g")
    records = [*Story().members("a").past(tmp_path / "other")[1], *past.records]
    unaware = last_reset(past.commits, records)
    assert unaware is not None and unaware.before == {("t", 0): None}, "it had one: 5"
    end = story.next_offset
    (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\n__consumer_offsets 0 {end}\n")
    past = load_group(source, "g")
    assert past.compacted_to == end
    assert last_reset(past.commits, records, past.compacted_to) is None


def test_a_reset_after_the_compacted_part_is_found(tmp_path: Path) -> None:
    story = Story().members("a").commit(u=5).empty().members("b").commit(t=7).empty().roll()
    closed = len(story.closed)
    story.commit(t=1)
    segments = story.segments()
    made = compact_closed([*segments[:closed], Segment(segments[closed].base_offset)], story.now_ms)
    source = data_dir(tmp_path, [*made[:-1], *segments[closed:]])
    past = load_group(source, "g")
    reset = last_reset(past.commits, past.records, past.compacted_to)
    assert reset is not None
    assert [(key, stood and stood.offset) for key, stood in reset.before.items()] == [(("t", 0), 7)]

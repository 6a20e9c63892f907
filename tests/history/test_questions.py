"""Rates, standstills and lists of commits, compared with counting one by one and with numpy."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from coordinator.history.commits import NEVER, Commits
from coordinator.history.duckdb_views import DuckdbViews
from coordinator.history.questions import MAX_CELLS, NO_LIMIT, Answer, Ask, QuestionError, Selection, rate
from coordinator.history.tables import load_group
from tests.compaction.logs import OFFSETS, START_MS, LogWriter, seeded
from tests.history import numpy_questions
from tests.history.stories import Story
from tests.history.worlds import GROUPS, Effect, data_dir, effects

MINUTE_MS = 60_000
STUCK, SILENT = "no progress", "no commits"


def world(tmp_path: Path, seed: int, group: str) -> tuple[Ask, Commits, list[Effect]]:
    segments = LogWriter().write(seeded(seed, 120, OFFSETS)).segments
    past = load_group(data_dir(tmp_path, segments), group)
    own = [effect for effect in effects(segments) if effect.key.group == group]
    return DuckdbViews.of_group(past).ask, past.commits, sorted(own, key=lambda effect: effect.log_offset)


def asking(story: Story, directory: Path) -> Ask:
    return DuckdbViews.of_group(load_group(story.source(directory), story.group)).ask


def listed(ask: Ask, group: str, selection: Selection, limit: int) -> Answer:
    return ask("listed", {**selection.parameters(), "group": group, "limit": limit})


def stalled(ask: Ask, selection: Selection, for_ms: int, now_ms: int) -> Answer:
    return ask("stalled", {**selection.parameters(), "for_ms": for_ms, "now_ms": now_ms, "limit": NO_LIMIT})


def timestamps(commits: Commits) -> dict[int, int]:
    return dict(zip(commits.log_offset.tolist(), commits.timestamp_ms.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window_ms", [10, MINUTE_MS, 3_600_000])
def test_rates_equal_a_plain_count(tmp_path: Path, seed: int, window_ms: int) -> None:
    group = GROUPS[seed % 3]
    ask, commits, found = world(tmp_path, seed, group)
    at = timestamps(commits)
    times = sorted(at.values())
    selection = Selection(since_ms=times[len(times) // 4], until_ms=times[len(times) * 3 // 4])
    counts: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    progress: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    resets: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    standing: dict[tuple[str, int], int | None] = {}
    for effect in found:
        key = (effect.key.topic, effect.key.partition)
        time = at[effect.log_offset]
        before, standing[key] = standing.get(key), effect.value.offset if effect.value else None
        if effect.value is not None and selection.since_ms <= time <= selection.until_ms:
            counts[key][time // window_ms * window_ms] += 1
            moved = effect.value.offset - before if before is not None else 0
            progress[key][time // window_ms * window_ms] += max(moved, 0)
            resets[key][time // window_ms * window_ms] += moved < 0
    answer = rate(ask, group, selection, window_ms)
    assert answer.keys == sorted(counts)
    for row, key in enumerate(answer.keys):
        starts = answer.starts_ms.tolist()
        assert {s: n for s, n in zip(starts, answer.commits[row].tolist(), strict=True) if n} == counts[key]
        for answered, expected in ((answer.progress, progress), (answer.resets, resets)):
            given = {s: n for s, n in zip(starts, answered[row].tolist(), strict=True) if n}
            assert given == {s: n for s, n in expected[key].items() if n}
    assert (answer.starts_ms[1:] - answer.starts_ms[:-1] == window_ms).all()


def test_reset_subtracts_no_progress(tmp_path: Path) -> None:
    story = Story()
    for offset in (100, 105, 0, 7):
        story.commit(t=offset).wait(60)
    answer = rate(asking(story, tmp_path), "g", Selection(), MINUTE_MS)
    assert answer.progress.tolist() == [[0, 5, 0, 7]]
    assert answer.resets.tolist() == [[0, 0, 1, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_standstills_equal_a_plain_search(tmp_path: Path, seed: int) -> None:
    ask, commits, found = world(tmp_path, seed, GROUPS[seed % 3])
    at = timestamps(commits)
    times = sorted(at.values())
    kinds = set()
    for now_ms in (times[len(times) // 2], times[-1], times[-1] + 86_400_000):
        for for_ms in (20, MINUTE_MS, 7_200_000):
            expected = {}
            for key in {(effect.key.topic, effect.key.partition) for effect in found}:
                own = [e for e in found if (e.key.topic, e.key.partition) == key and at[e.log_offset] <= now_ms]
                if not own or own[-1].value is None:
                    continue
                since, again = own[0], 0
                for before, effect in zip([None, *own[:-1]], own, strict=True):
                    if effect.value is None:
                        continue
                    if before is None or before.value is None or before.value.offset != effect.value.offset:
                        since, again = effect, 0
                    else:
                        again += 1
                last_ms, since_ms = at[own[-1].log_offset], at[since.log_offset]
                if now_ms - last_ms >= for_ms:
                    expected[key] = (SILENT, last_ms, again)
                elif now_ms - since_ms >= for_ms and again >= 2:
                    expected[key] = (STUCK, since_ms, again)
            answer = stalled(ask, Selection(), for_ms, now_ms)
            assert {
                (e["topic"], e["partition"]): (e["how"], e["since_ms"], e["commits_since"]) for e in answer
            } == expected
            assert [each["since_ms"] for each in answer] == sorted(each["since_ms"] for each in answer)
            kinds |= {each["how"] for each in answer}
    assert kinds


def test_partition_with_repeated_commits_is_stuck_since_the_first_commit_of_the_offset(tmp_path: Path) -> None:
    story = Story().commit(t=5, t_1=5)
    for number in range(40):
        story.wait(30).commit(t=5, t_1=6 + number)
    ask = asking(story, tmp_path)
    (found,) = stalled(ask, Selection(), 10 * MINUTE_MS, story.now_ms)
    assert (found["topic"], found["partition"], found["how"]) == ("t", 0, STUCK)
    assert (found["since_ms"], found["commits_since"], found["offset"]) == (START_MS, 40, 5)


def test_a_partition_no_longer_committed_is_silent_since_its_last_commit(tmp_path: Path) -> None:
    story = Story().commit(t=5, t_1=5).wait(60).commit(t_1=6).wait(700)
    ask = asking(story, tmp_path)
    found = stalled(ask, Selection(), 10 * MINUTE_MS, story.now_ms)
    assert [(each["partition"], each["how"]) for each in found] == [(0, SILENT), (1, SILENT)]
    found = stalled(ask, Selection(), 12 * MINUTE_MS, story.now_ms)
    assert [(each["partition"], each["since_ms"]) for each in found] == [(0, START_MS)]


def test_a_deleted_partition_does_not_stand_still(tmp_path: Path) -> None:
    story = Story().commit(t=5).wait(1).commit(t=None).wait(3600)
    ask = asking(story, tmp_path)
    assert stalled(ask, Selection(), MINUTE_MS, story.now_ms) == []


def test_list_of_commits_has_changes_deletions_and_transactions(tmp_path: Path) -> None:
    story = Story().commit(t=5, metadata="note").commit(t=9).commit(producer_id=7, t=20).commit(producer_id=8, t=30)
    story.end_transaction(7, commit=True).end_transaction(8, commit=False).commit(t=None).commit(t=3)
    story.commit(producer_id=9, t=40).commit(producer_id=7, t=50)
    ask = asking(story, tmp_path)
    rows = listed(ask, "g", Selection(), 100)[::-1]
    assert {row["total"] for row in rows} == {len(rows)} == {8}
    assert [(row["offset"], row["change"], row["transaction"], row["producer_id"]) for row in rows] == [
        (5, None, None, None),
        (9, 4, None, None),
        (20, 11, "committed", 7),
        (30, None, "aborted", 8),
        (None, None, None, None),
        (3, None, None, None),
        (40, None, "open", 9),
        (50, None, "open", 7),
    ]
    assert rows[0]["metadata"] == "note"


def test_list_has_the_newest_commits_and_their_total_number(tmp_path: Path) -> None:
    story = Story()
    for number in range(10):
        story.commit(t=number, u=number)
    ask = asking(story, tmp_path)
    rows = listed(ask, "g", Selection(("u",)), 3)
    assert [(row["topic"], row["offset"], row["total"]) for row in rows] == [("u", 9, 10), ("u", 8, 10), ("u", 7, 10)]
    assert listed(ask, "g", Selection(partitions=(1,)), 3) == []


def test_rate_without_since_covers_the_windows_up_to_the_newest_commit(tmp_path: Path) -> None:
    story = Story().commit(t=0).wait(100 * 60).commit(t=10).wait(60).commit(t=70)
    ask = asking(story, tmp_path)
    answer = rate(ask, "g", Selection(), MINUTE_MS)
    assert len(answer.starts_ms) <= 60
    assert answer.commits.sum() == 2
    assert answer.progress.sum() == 70, "the previous commit counts, though it is not shown"


def test_too_many_windows_are_refused_with_what_to_do(tmp_path: Path) -> None:
    story = Story().commit(t=0).wait(MAX_CELLS / 100).commit(t=1)
    ask = asking(story, tmp_path)
    with pytest.raises(QuestionError, match="longer --window"):
        rate(ask, "g", Selection(since_ms=0), 1)


def test_a_group_without_commits_has_no_rates_and_does_not_stand_still(tmp_path: Path) -> None:
    ask = asking(Story().members("a"), tmp_path)
    assert rate(ask, "g", Selection(), MINUTE_MS).keys == []
    assert stalled(ask, Selection(), 1, NEVER) == []
    assert listed(ask, "g", Selection(), 5) == []


@pytest.mark.parametrize("seed", range(6))
def test_answers_equal_those_of_numpy(tmp_path: Path, seed: int) -> None:
    group = GROUPS[seed % 3]
    ask, commits, _ = world(tmp_path, seed, group)
    times = sorted(timestamps(commits).values())
    since_ms, until_ms = times[len(times) // 3], times[2 * len(times) // 3]
    for selection in (
        Selection(),
        Selection(("t",), (), since_ms),
        Selection((), (1,), since_ms, until_ms),
        Selection(("t", "u"), (0, 1), -NEVER, until_ms),
    ):
        for limit in (3, 1000):
            assert listed(ask, group, selection, limit) == numpy_questions.listed(commits, selection, limit)
        for window_ms in (10, MINUTE_MS, 3_600_000):
            made = rate(ask, group, selection, window_ms)
            right = numpy_questions.rate(commits, selection, window_ms)
            assert made.keys == right.keys
            for name in ("starts_ms", "commits", "progress", "resets"):
                assert getattr(made, name).tolist() == getattr(right, name).tolist()
        for for_ms in (20, MINUTE_MS, 7_200_000):
            for now_ms in (until_ms, times[-1], NEVER):
                expected = numpy_questions.stalled(group, commits, selection, for_ms, now_ms)
                assert stalled(ask, selection, for_ms, now_ms) == expected

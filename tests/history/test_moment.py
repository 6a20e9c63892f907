"""A group's page at a past moment: its state, owners and commits then, and what is not recorded."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from coordinator.console.model import UNOWNED, GroupPage
from coordinator.console.past import Past
from coordinator.console.source import ConsoleError
from coordinator.core.events.model import RebalanceOutcome
from coordinator.explain.verdict import Finding
from coordinator.history.moment import MomentError, known_from_ms, page_at
from coordinator.history.source import HistorySource
from tests.compaction.logs import START_MS
from tests.history.stories import Story
from tests.history.test_events import rebalance, write

BOTH = {"a": {"t": [0]}, "b": {"t": [1]}}


def told(tmp_path: Path) -> HistorySource:
    """A has partitions 0 and 1 from 60 s on; b joins at 120 s, and has 1 from 122 s on; both leave at 180 s."""
    story = Story().wait(60).members("a", owning={"a": {"t": [0, 1]}}).commit(t=5).wait(62)
    story.members("a", "b", owning=BOTH).commit(t=7, t_1=9).wait(58).empty()
    source = story.source(tmp_path / "data")
    write(source.data_dir, rebalance(2, START_MS + 120_000))
    return source


def at(source: HistorySource, seconds: float) -> GroupPage:
    return page_at([source], "g", START_MS + int(seconds * 1000))


def spans(page: GroupPage) -> list[list[tuple[float, str]]]:
    """Return for each partition the starts of its spans in seconds, each with the client of its member."""
    assert page.ribbon is not None
    names = [member.client_id for member in page.ribbon.members]
    return [
        [((start - START_MS) // 1000, "" if who == UNOWNED else names[who]) for start, _, who in row.spans]
        for row in page.ribbon.rows
    ]


def test_the_members_and_commits_are_those_of_the_moment(tmp_path: Path) -> None:
    page = at(told(tmp_path), 100)
    state = page.story.state
    assert state is not None and page.lag is not None
    assert (state.state, state.generation, [each.member.client_id for each in state.members]) == ("Stable", 1, ["a"])
    assert [(each.partition, each.committed, each.end, each.lag) for each in page.lag.partitions] == [(0, 5, -1, -1)]
    assert page.is_past
    assert "not recorded" in page.unknown[0]


def test_the_ribbon_shows_the_hour_before(tmp_path: Path) -> None:
    page = at(told(tmp_path), 200)
    start = 200 - 3600
    assert spans(page) == [
        [(start, ""), (60, "a"), (120, ""), (122, "a"), (180, "")],
        [(start, ""), (60, "a"), (120, ""), (122, "b"), (180, "")],
    ]
    assert page.ribbon is not None
    assert [(seam.at_ms - START_MS, seam.culprit) for seam in page.ribbon.seams] == [
        (120_000, "web2 (10.0.0.2, librdkafka 2.16)")
    ]
    assert page.ribbon.known_from_ms == START_MS + 60_000


def test_a_moment_within_a_rebalance_shows_it_running_and_not_how_it_ended(tmp_path: Path) -> None:
    page = at(told(tmp_path), 121)
    state = page.story.state
    assert state is not None and state.rebalance is not None
    assert (state.state, state.rebalance.outcome, state.rebalance.join_ms) == (
        "PreparingRebalance",
        RebalanceOutcome.RUNNING,
        -1,
    )
    assert page.story.events == []
    assert [row[-1] for row in spans(page)] == [(120, ""), (120, "")]


def test_a_group_without_records_is_told_by_its_events_and_commits(tmp_path: Path) -> None:
    """Its records were compacted before its history began."""
    source = Story().wait(60).commit(t=5).source(tmp_path / "data")
    write(source.data_dir, rebalance(7, START_MS + 50_000))
    page = at(source, 100)
    state = page.story.state
    assert state is not None and page.lag is not None
    assert (state.generation, page.ribbon, [each.committed for each in page.lag.partitions]) == (7, None, [5])
    assert any("by records of the group, and there are none" in sentence for sentence in page.unknown)
    assert page.verdicts[0].code is not Finding.NO_SUCH_GROUP


def test_a_moment_before_all_records_has_no_page(tmp_path: Path) -> None:
    source = told(tmp_path)
    with pytest.raises(MomentError, match="choose a later moment"):
        at(source, 10)
    with pytest.raises(MomentError, match="nothing is known"):
        page_at([source], "other", START_MS + 100_000)


def test_the_oldest_record_tells_since_when_something_is_known(tmp_path: Path) -> None:
    assert known_from_ms([told(tmp_path)]) == START_MS + 60_000


async def test_a_child_process_answers_the_console(tmp_path: Path) -> None:
    source = told(tmp_path)
    past = Past(source.data_dir)
    assert past.why_not() == ""
    assert await past.from_ms() == START_MS + 60_000
    page = await past.group("g", START_MS + 100_000)
    assert msgspec.json.encode(page) == msgspec.json.encode(at(source, 100))
    with pytest.raises(ConsoleError, match="choose a later moment"):
        await past.group("g", START_MS)
    with pytest.raises(ConsoleError, match="there is no data directory"):
        await Past(tmp_path / "none").group("g", START_MS)


async def test_without_the_packages_of_history_the_reason_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.console.past.NEEDED", ("no_such_package",))
    past = Past(tmp_path)
    assert "pip install" in past.why_not()
    with pytest.raises(ConsoleError, match="pip install"):
        await past.group("g", 1)


async def test_a_log_that_had_no_record_yet_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.console.past.ASK_AGAIN_S", 0.0)
    story = Story()
    past = Past(story.source(tmp_path / "data").data_dir)
    assert await past.from_ms() == -1
    story.wait(60).members("a").source(tmp_path / "data")
    assert await past.from_ms() == START_MS + 60_000

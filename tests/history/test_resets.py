"""Detection of resets and of the offsets before them, with a story for each case in practice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.history.resets import Reset, last_reset
from tests.history.stories import Story

Offsets = dict[str, int | None]


def found_in(story: Story, directory: Path) -> Reset | None:
    return last_reset(*story.past(directory))


def names(offsets: dict) -> Offsets:  # type: ignore[type-arg]
    return {
        f"{topic}_{partition}": None if stood is None else stood.offset for (topic, partition), stood in offsets.items()
    }


def at_work() -> Story:
    """Return a story of a group that has committed and is empty now."""
    return Story().created().members("a").commit(t=5, t_1=6).commit(t=7, u=1).empty().wait(30)


CASES: dict[str, tuple[Callable[[], Story], Offsets, Offsets]] = {
    "one request": (
        lambda: at_work().commit(t=0, t_1=0),
        {"t_0": 0, "t_1": 0},
        {"t_0": 7, "t_1": 6},
    ),
    "a request for each partition, as some tools send them": (
        lambda: at_work().commit(t=0).commit(t_1=0).commit(u=0),
        {"t_0": 0, "t_1": 0, "u_0": 0},
        {"t_0": 7, "t_1": 6, "u_0": 1},
    ),
    "two resets in one second are two, because they name the same partition": (
        lambda: at_work().commit(t=0, t_1=0).commit(t_1=3, t=3),
        {"t_0": 3, "t_1": 3},
        {"t_0": 0, "t_1": 0},
    ),
    "a second request with one partition of the first is a reset of its own": (
        lambda: at_work().commit(t=0).commit(t_1=3, t=3),
        {"t_0": 3, "t_1": 3},
        {"t_0": 0, "t_1": 6},
    ),
    "requests apart in time are resets of their own": (
        lambda: at_work().commit(t=0).wait(2).commit(t_1=0),
        {"t_1": 0},
        {"t_1": 6},
    ),
    "a reset before the group went to work again": (
        lambda: at_work().commit(t=0).members("b").commit(t=2).commit(t=4).empty(),
        {"t_0": 0},
        {"t_0": 7},
    ),
    "resets in two times without members: the newer one": (
        lambda: at_work().commit(t=0).members("b").commit(t=2).empty().commit(t=1),
        {"t_0": 1},
        {"t_0": 2},
    ),
    "the same second, but the group was at work in between": (
        lambda: at_work().commit(u=0).members("b").empty().commit(t=1),
        {"t_0": 1},
        {"t_0": 7},
    ),
    "a partition that had no offset": (
        lambda: at_work().commit(t=0, new=3),
        {"new_0": 3, "t_0": 0},
        {"new_0": None, "t_0": 7},
    ),
    "deletions right behind it belong to it": (
        lambda: at_work().commit(t=0).commit(t_1=None),
        {"t_0": 0, "t_1": None},
        {"t_0": 7, "t_1": 6},
    ),
    "deletions right before it belong to it": (
        lambda: at_work().commit(t_1=None).commit(t=0),
        {"t_0": 0, "t_1": None},
        {"t_0": 7, "t_1": 6},
    ),
    "a later deletion, an expiry for instance, is none": (
        lambda: at_work().commit(t=0).wait(60).commit(t_1=None, u=None),
        {"t_0": 0},
        {"t_0": 7},
    ),
    "a reset of a deleted group makes it again": (
        lambda: at_work().commit(t=None, t_1=None, u=None).deleted().wait(5).commit(t=4),
        {"t_0": 4},
        {"t_0": None},
    ),
    "before the first member came": (
        lambda: Story().commit(t=9).members("a").commit(t=11),
        {"t_0": 9},
        {"t_0": None},
    ),
    "a transaction of the time without members is no reset": (
        lambda: at_work().commit(t=0).wait(5).commit(producer_id=3, u=9).end_transaction(3, commit=True),
        {"t_0": 0},
        {"t_0": 7},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_last_reset_is_found_with_the_offsets_before_it(case: str, tmp_path: Path) -> None:
    build, committed, before = CASES[case]
    reset = found_in(build(), tmp_path)
    assert reset is not None
    assert (names(reset.committed), names(reset.before)) == (committed, before)
    assert not reset.went_back


def test_commits_of_members_are_no_reset(tmp_path: Path) -> None:
    assert found_in(at_work(), tmp_path) is None
    assert found_in(Story().created().members("a").commit(t=5), tmp_path / "at work") is None


def test_deletions_alone_are_no_reset(tmp_path: Path) -> None:
    assert found_in(at_work().commit(t=None, t_1=None), tmp_path) is None


def test_undo_and_undo_of_undo_come_back_to_the_same_offsets(tmp_path: Path) -> None:
    story = at_work().commit(t=0, t_1=0)
    for number in range(4):
        reset = found_in(story.wait(2), tmp_path / str(number))
        assert reset is not None
        before = names(reset.before)
        assert before == ({"t_0": 7, "t_1": 6} if number % 2 == 0 else {"t_0": 0, "t_1": 0})
        story.commit(**{name: offset for name, offset in before.items() if offset is not None})


def test_undo_right_after_the_reset_is_a_reset_of_its_own(tmp_path: Path) -> None:
    reset = found_in(at_work().commit(t=0, t_1=0).commit(t=7, t_1=6), tmp_path)
    assert reset is not None
    assert names(reset.before) == {"t_0": 0, "t_1": 0}


def test_two_requests_of_one_millisecond_with_the_same_partition_are_two_resets(tmp_path: Path) -> None:
    story = at_work().commit(t=0, t_1=0)
    story.now_ms -= 10
    reset = found_in(story.commit(t=3), tmp_path)
    assert reset is not None
    assert (names(reset.committed), names(reset.before)) == ({"t_0": 3}, {"t_0": 0})


def test_commits_since_the_reset_are_counted(tmp_path: Path) -> None:
    reset = found_in(at_work().commit(t=0).members("b").commit(t=2, t_1=8).commit(t=4).empty(), tmp_path)
    assert reset is not None
    assert reset.commits_since == 3


def test_commits_of_a_consumer_without_membership_are_no_reset(tmp_path: Path) -> None:
    """Every commit of consumers that assign partitions to themselves looks like a reset, so none counts."""
    story = Story()
    for number in range(5):
        story.commit(t=number, t_1=number).wait(5)
    assert found_in(story, tmp_path) is None


def test_reset_of_a_group_without_members_is_the_commit_that_went_back(tmp_path: Path) -> None:
    story = Story()
    for number in range(5):
        story.commit(t=number, t_1=10 * number).wait(5)
    story.commit(t=1, t_1=2).wait(5).commit(t=3, t_1=4)
    reset = found_in(story, tmp_path)
    assert reset is not None
    assert reset.went_back
    assert (names(reset.committed), names(reset.before)) == ({"t_0": 1, "t_1": 2}, {"t_0": 4, "t_1": 40})
    assert reset.commits_since == 2


def test_other_commits_of_a_group_without_members_are_not_part_of_the_reset(tmp_path: Path) -> None:
    reset = found_in(Story().commit(t=4).commit(t_1=6).commit(t=1).commit(t_1=7).commit(u=1), tmp_path)
    assert reset is not None
    assert (names(reset.committed), names(reset.before)) == ({"t_0": 1}, {"t_0": 4})


def test_many_commits_without_members_beside_the_reset_are_counted(tmp_path: Path) -> None:
    """A simple consumer shares its group with members; the last of its commits is found."""
    story = at_work()
    for number in range(30):
        story.commit(t=10 + number).wait(5)
    reset = found_in(story, tmp_path)
    assert reset is not None
    assert names(reset.committed) == {"t_0": 39}
    assert reset.others_while_empty == 29


def test_pending_transaction_does_not_count_before_a_reset(tmp_path: Path) -> None:
    story = Story().members("a").commit(t=5).commit(producer_id=1, t=6).empty().commit(t=0)
    story.end_transaction(1, commit=True)
    reset = found_in(story, tmp_path)
    assert reset is not None
    assert names(reset.before) == {"t_0": 5}

"""The history: which values of a committed offset may be seen, and which may not."""

from __future__ import annotations

import pytest

from coordinator.simulation.history import UNKNOWN_S, History, Place
from coordinator.simulation.world import World
from protocol.error_codes import ErrorCode

PLACE = Place("shop", "orders", 0)
NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def history(world: World) -> History:
    return History(world)


def commit(world: World, history: History, name: str, offset: int, error: ErrorCode | None = NONE) -> None:
    """Send a commit, and take its answer a second later. None: there is no answer."""
    world.now_s += 1
    write = history.sent(PLACE, name, offset)
    world.now_s += 1
    if error is None:
        history.unanswered(write)
    else:
        history.answered(PLACE, write, error)


def see(world: World, history: History, name: str, offset: int = -1) -> bool:
    """Return whether a value may be seen now."""
    world.violation = None
    history.seen(PLACE, name, offset, history.register(PLACE).floor_s, "a test")
    return world.violation is None


def test_the_newest_acknowledged_commit_is_seen(world: World, history: History) -> None:
    commit(world, history, "first", 1)
    commit(world, history, "second", 2)
    assert see(world, history, "second", 2)
    assert not see(world, history, "first", 1)
    assert not see(world, history, "")


def test_a_refused_commit_is_never_seen(world: World, history: History) -> None:
    commit(world, history, "refused", 5, ErrorCode.ILLEGAL_GENERATION)
    assert not see(world, history, "refused", 5)
    assert see(world, history, "")


def test_a_commit_without_an_answer_may_be_seen_or_not(world: World, history: History) -> None:
    commit(world, history, "first", 1)
    commit(world, history, "lost", 2, None)
    assert see(world, history, "first", 1)
    assert see(world, history, "lost", 2)


def test_a_commit_without_an_answer_does_not_come_back_after_a_later_one(world: World, history: History) -> None:
    commit(world, history, "lost", 2, None)
    world.now_s += UNKNOWN_S + 1
    commit(world, history, "later", 3)
    assert not see(world, history, "lost", 2)


def test_commits_at_the_same_time_may_be_seen_in_either_order(world: World, history: History) -> None:
    one, other = history.sent(PLACE, "one", 1), history.sent(PLACE, "other", 2)
    world.now_s += 1
    history.answered(PLACE, one, NONE)
    history.answered(PLACE, other, NONE)
    assert see(world, history, "one", 1)
    assert see(world, history, "other", 2)


def test_an_offset_that_differs_from_its_commit_is_found(world: World, history: History) -> None:
    commit(world, history, "first", 1)
    assert not see(world, history, "first", 2)
    assert not see(world, history, "no such commit", 1)


def test_a_deleted_offset_is_gone(world: World, history: History) -> None:
    commit(world, history, "first", 1)
    commit(world, history, "deleted", -1)
    assert see(world, history, "")
    assert not see(world, history, "first", 1)


def test_two_owners_of_a_partition_are_found(world: World, history: History) -> None:
    history.assigned("shop", 3, "one", b"1", [("orders", 0)], honest=True)
    history.assigned("shop", 4, "other", b"2", [("orders", 0)], honest=True)
    assert world.violation is None
    history.assigned("shop", 4, "third", b"3", [("orders", 0)], honest=True)
    assert "both own orders-0 in generation 4" in str(world.violation)


def test_a_generation_with_assignments_is_given_to_no_other_member(world: World, history: History) -> None:
    history.joined("shop", 3, "one", ["one", "two"], -1)
    history.assigned("shop", 3, "one", b"1", [], honest=True)
    history.joined("shop", 3, "two", [], 3)
    assert world.violation is None
    history.joined("shop", 3, "third", [], 3)
    assert "third was given generation 3" in str(world.violation)


def test_a_static_member_of_which_the_leader_knew_the_member_id_only_may_return(world: World, history: History) -> None:
    history.joined("shop", 3, "one-1", ["one-1", "two-1"], -1)
    history.joined("shop", 3, "two", [], 3)
    assert world.violation is None
    history.joined("shop", 3, "tw", [], 3)
    assert "tw was given generation 3" in str(world.violation)


def test_an_acknowledged_commit_of_an_old_generation_is_found(world: World, history: History) -> None:
    history.committed_in("shop", 3, "one", 3)
    history.committed_in("shop", -1, "one", 3)
    assert world.violation is None
    history.committed_in("shop", 2, "one", 3)
    assert "committed in generation 2" in str(world.violation)

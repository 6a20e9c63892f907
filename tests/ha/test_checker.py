"""The checker is held to right and wrong histories, to a search through all orders, and to seeded corruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ha.checker import check
from tests.ha.history import COMMIT, EVER, FAIL, FETCH, INFO, JOIN, OK, Generation, Key, Operation
from tests.ha.register import check_register
from tests.ha.simulated import SimulatedRegister

KEY = Key("group", 0)


def commit(value: int, start: float, end: float, outcome: str = OK, *, may_repeat: bool = False) -> Operation:
    return Operation(f"w{value}", COMMIT, KEY, value, start, end, outcome, may_repeat, error="refused by the test")


def fetch(value: int | None, start: float, end: float, *, is_final: bool = False) -> Operation:
    return Operation(f"r{start}", FETCH, KEY, value, start, end, OK, is_final=is_final)


def join(number: int, start: float, end: float, **facts: object) -> Operation:
    value = Generation(number, **facts)  # type: ignore[arg-type]
    return Operation(f"m{start}", JOIN, Key("group", -1), value, start, end, OK)


def kinds(*history: Operation, needs_final_fetches: bool = False) -> list[str]:
    return [each.kind for each in check(history, needs_final_fetches=needs_final_fetches)]


RIGHT: dict[str, list[Operation]] = {
    "nothing was committed": [fetch(None, 0, 1)],
    "a fetch sees the last commit": [commit(1, 0, 1), fetch(1, 2, 3), commit(2, 4, 5), fetch(2, 6, 7)],
    "a fetch that overlaps a commit sees the old value": [commit(1, 0, 1), commit(2, 2, 5), fetch(1, 3, 4)],
    "a fetch that overlaps a commit sees the new value": [commit(1, 0, 1), commit(2, 2, 5), fetch(2, 3, 4)],
    "a commit may take effect after a fetch that began later": [commit(1, 0, 9), fetch(None, 1, 2), fetch(1, 3, 4)],
    "concurrent commits, the first one stays": [commit(1, 0, 5), commit(2, 1, 6), fetch(1, 7, 8)],
    "concurrent commits, the second one stays": [commit(1, 0, 5), commit(2, 1, 6), fetch(2, 7, 8)],
    "concurrent commits, each seen in turn": [commit(1, 0, 9), commit(2, 1, 9), fetch(2, 2, 3), fetch(1, 4, 5)],
    "the same instant counts as overlapping": [commit(1, 0, 1), commit(2, 2, 3), fetch(1, 3, 4)],
    "an unknown commit happened": [commit(1, 0, 1), commit(2, 2, 3, INFO), fetch(2, 4, 5), fetch(2, 6, 7)],
    "an unknown commit did not happen": [commit(1, 0, 1), commit(2, 2, 3, INFO), fetch(1, 4, 5), fetch(1, 6, 7)],
    "an unknown commit happened late": [commit(1, 0, 1), commit(2, 2, 3, INFO), fetch(1, 4, 5), fetch(2, 6, 7)],
    "an unknown commit was overwritten": [
        *(commit(1, 0, 1), commit(2, 2, 3, INFO), fetch(2, 4, 5), commit(3, 6, 7), fetch(3, 8, 9)),
    ],
    "a commit of a killed client": [commit(1, 0, EVER, INFO), fetch(None, 1, 2), fetch(1, 3, 4)],
    "a refused commit was not seen": [commit(1, 0, 1), commit(2, 2, 3, FAIL), fetch(1, 4, 5)],
    "a library repeated a commit while it waited": [
        *(commit(1, 0, 9, may_repeat=True), commit(2, 2, 3), fetch(1, 1, 2), fetch(2, 4, 5), fetch(1, 10, 11)),
    ],
}


@pytest.mark.parametrize("history", RIGHT.values(), ids=RIGHT)
def test_a_right_history_is_accepted(history: list[Operation]) -> None:
    assert check(history, needs_final_fetches=False) == []


WRONG: dict[str, tuple[str, list[Operation]]] = {
    "an acknowledged commit is gone at the end": (
        "acknowledged commit lost",
        [commit(1, 0, 1), commit(2, 2, 3), fetch(1, 4, 5, is_final=True)],
    ),
    "all commits are gone at the end": (
        "acknowledged commit lost",
        [commit(1, 0, 1), fetch(None, 2, 3, is_final=True)],
    ),
    "a fetch sees an older value": ("stale fetch", [commit(1, 0, 1), commit(2, 2, 3), fetch(1, 4, 5), fetch(2, 6, 7)]),
    "a fetch sees nothing after a commit": ("stale fetch", [commit(1, 0, 1), fetch(None, 2, 3), fetch(1, 4, 5)]),
    "a fetch goes back while a commit is under way": (
        "value vanished",
        [commit(1, 0, 1), commit(2, 2, 9), fetch(2, 3, 4), fetch(1, 5, 6)],
    ),
    "a value that was never sent": ("value never committed", [commit(1, 0, 1), fetch(7, 2, 3)]),
    "a value before it was sent": ("value seen before it was sent", [fetch(1, 0, 1), commit(1, 2, 3)]),
    "a refused commit was seen": ("refused commit seen", [commit(1, 0, 1), commit(2, 2, 3, FAIL), fetch(2, 4, 5)]),
    "an unknown commit vanishes": (
        "value vanished",
        [commit(1, 0, 1), commit(2, 2, 3, INFO), fetch(2, 4, 5), fetch(1, 6, 7)],
    ),
    "an unknown commit of a killed client vanishes": (
        "value vanished",
        [commit(1, 0, 1), commit(2, 2, EVER, INFO), fetch(2, 4, 5), fetch(1, 6, 7)],
    ),
    "concurrent commits seen in two orders": (
        "stale fetch",
        [commit(1, 0, 9), commit(2, 0, 9), fetch(1, 10, 11), fetch(2, 12, 13), fetch(1, 14, 15)],
    ),
    "a repeated commit comes again after its acknowledgement": (
        "stale fetch",
        [commit(1, 0, 1, may_repeat=True), commit(2, 2, 3), fetch(2, 4, 5), fetch(1, 6, 7)],
    ),
    "a repeated commit of unknown outcome vanishes after its client gave up": (
        "value vanished",
        [commit(1, 0, 1), commit(2, 2, 3, INFO, may_repeat=True), fetch(2, 4, 5), fetch(1, 6, 7), fetch(2, 8, 9)],
    ),
    "one value is committed twice": ("value committed twice", [commit(1, 0, 1), replace(commit(1, 2, 3), process="x")]),
}


@pytest.mark.parametrize(("kind", "history"), WRONG.values(), ids=WRONG)
def test_a_wrong_history_is_found(kind: str, history: list[Operation]) -> None:
    assert set(kinds(*history)) == {kind}


def test_a_finding_names_the_operations() -> None:
    (finding,) = check([commit(1, 0, 1), commit(2, 2, 3), fetch(1, 4e9, 5e9)], needs_final_fetches=False)
    assert finding.sentence == (
        "[fetch 1 by r4000000000.0, 4.000000 to 5.000000] is stale: 2 was acknowledged before it began, by "
        "[commit 2 by w2, 0.000000 to 0.000000], and is newer, since [commit 1 by w1, 0.000000 to 0.000000] had ended "
        "when [commit 2 by w2, 0.000000 to 0.000000] began."
    )
    assert [each.value for each in finding.operations] == [1, 2, 1]


def test_keys_are_independent() -> None:
    other = Key("group", 1)
    assert kinds(commit(1, 0, 1), commit(2, 2, 3), fetch(2, 4, 5), replace(fetch(None, 4, 5), key=other)) == []
    assert kinds(commit(1, 0, 1), replace(fetch(1, 4, 5), key=other)) == ["value never committed"]


def test_an_acknowledged_commit_must_be_fetched_at_the_end() -> None:
    assert kinds(commit(1, 0, 1), fetch(1, 2, 3), needs_final_fetches=True) == ["no final fetch"]
    assert kinds(commit(1, 0, 1, INFO), needs_final_fetches=True) == []
    assert kinds(commit(1, 0, 1), fetch(1, 2, 3, is_final=True), needs_final_fetches=True) == []


# -- generations -----------------------------------------------------------------------------------------------------


def test_generations_that_rise_are_accepted() -> None:
    members = ("a", "b")
    assert not kinds(
        join(1, 0, 5, leader="a", members=members, mark="x"),
        join(1, 0, 5, leader="a", mark="x"),
        join(1, 6, 7),  # a client that is told its generation alone, and joined it late
        join(2, 8, 9, leader="b", members=members, mark="y"),
        join(4, 10, 11, leader="a", members=members, mark="z"),
    )


def test_joins_that_overlap_may_have_any_order() -> None:
    assert kinds(join(2, 0, 5, leader="a"), join(1, 1, 6, leader="b")) == []


@pytest.mark.parametrize(
    "again",
    [{"leader": "b"}, {"leader": "a", "members": ("a", "c")}, {"mark": "y"}],
    ids=["leader", "members", "assignment"],
)
def test_a_generation_given_twice_is_found(again: dict[str, object]) -> None:
    first = join(3, 0, 1, leader="a", members=("a", "b"), mark="x")
    assert kinds(first, join(3, 2, 3, **again)) == ["generation given twice"]


def test_a_generation_that_goes_back_is_found() -> None:
    assert kinds(join(3, 0, 1), join(4, 2, 3), join(3, 4, 5)) == ["generation went back"]


def test_a_generation_that_goes_back_is_found_when_the_higher_one_had_ended_first() -> None:
    assert kinds(join(4, 0, 5), join(3, 1, 6), join(3, 7, 8)) == ["generation went back"]


def test_a_join_that_was_not_finished_does_not_count() -> None:
    assert kinds(join(3, 0, 1, leader="a"), replace(join(3, 2, 3, leader="b"), outcome=INFO)) == []


# -- a search through all orders -------------------------------------------------------------------------------------


class State(NamedTuple):
    """A state of the search: operations to come, and the committed value."""

    to_come: frozenset[int]
    value: int | None


def can_be_explained(history: Sequence[Operation]) -> bool:
    """Search for an order of effects that explains the history: exponential, and simple enough to be believed."""
    operations = [each for each in history if each.outcome != FAIL]
    first = State(frozenset(range(len(operations))), None)
    known, waiting = {first}, [first]
    while waiting:
        state = waiting.pop()
        if all(operations[number].outcome == INFO for number in state.to_come):
            return True
        for number in state.to_come:
            for following in _after(state, number, operations):
                if following not in known:
                    known.add(following)
                    waiting.append(following)
    return False


def _after(state: State, number: int, operations: Sequence[Operation]) -> Iterator[State]:
    """The states after the next effect, if it is of this operation."""
    each = operations[number]
    earliest_end = min(_end(operations[other]) for other in state.to_come)
    if each.start > earliest_end or (each.kind == FETCH and each.value != state.value):
        return
    assert not isinstance(each.value, Generation)
    yield State(state.to_come - {number}, each.value)
    if each.may_repeat:
        yield State(state.to_come, each.value)


def _end(operation: Operation) -> float:
    return operation.end if operation.outcome == OK else EVER


@st.composite
def small_histories(draw: st.DrawFn, *, may_repeat: bool) -> list[Operation]:
    """Any operations at any times: most of them cannot be explained."""
    history: list[Operation] = []
    values = draw(st.integers(1, 4))
    instants = st.integers(0, 9)
    for value in range(1, values + 1):
        start, end = sorted((draw(instants), draw(instants)))
        repeated = may_repeat and draw(st.booleans())
        history.append(commit(value, start, end, draw(st.sampled_from((OK, OK, INFO))), may_repeat=repeated))
    for number in range(draw(st.integers(1, 5))):
        start, end = sorted((draw(instants), draw(instants)))
        value = draw(st.sampled_from((None, *range(1, values + 1))))
        history.append(replace(fetch(value, start, end), process=f"r{number}"))
    return history


@given(st.booleans().flatmap(lambda may_repeat: small_histories(may_repeat=may_repeat)))
def test_the_check_agrees_with_a_search_through_all_orders(history: list[Operation]) -> None:
    assert (check_register(KEY, history) == []) == can_be_explained(history)


# -- simulated histories and corruptions -----------------------------------------------------------------------------

STEPS = st.integers(10, 400)
PROCESSES = st.integers(1, 6)
RANDOM = st.integers(0, 2**32).map(Random)


@given(RANDOM, STEPS, PROCESSES)
def test_a_correct_register_is_always_accepted(random: Random, steps: int, processes: int) -> None:
    history = SimulatedRegister(random, KEY, processes).run(steps)
    assert check(history) == []


def commits_of(history: list[Operation], outcome: str) -> list[Operation]:
    return [each for each in history if each.kind == COMMIT and each.outcome == outcome]


def lose_acknowledged(random: Random, history: list[Operation]) -> set[str]:
    """The last fetch sees a commit that another one, acknowledged as well, replaced; or nothing."""
    *acknowledged, newest = sorted(commits_of(history, OK), key=lambda each: each.start)
    older: list[int | None] = [_value(each) for each in acknowledged if each.end < newest.start]
    history[-1] = replace(history[-1], value=random.choice([None, *older]))
    return {"acknowledged commit lost"}


def read_stale(random: Random, history: list[Operation]) -> set[str]:
    """A fetch sees a commit that another one replaced before the fetch began."""
    acknowledged = commits_of(history, OK)
    choices = [
        (number, _value(old))
        for number, each in enumerate(history[:-1])
        if each.kind == FETCH and each.outcome == OK
        for old in acknowledged
        if any(old.end < new.start and new.end < each.start for new in acknowledged)
    ]
    number, value = random.choice(choices)
    history[number] = replace(history[number], value=value)
    return {"stale fetch", "value vanished"}


def read_unwritten(random: Random, history: list[Operation]) -> set[str]:
    number = _fetch(random, history)
    history[number] = replace(history[number], value=10_000)
    return {"value never committed"}


def read_refused(random: Random, history: list[Operation]) -> set[str]:
    number = _fetch(random, history)
    history[number] = replace(history[number], value=_value(random.choice(commits_of(history, FAIL))))
    return {"refused commit seen"}


def read_too_soon(random: Random, history: list[Operation]) -> set[str]:
    choices = [
        (number, _value(each))
        for number, fetched in enumerate(history)
        if fetched.kind == FETCH and fetched.outcome == OK
        for each in history
        if each.kind == COMMIT and each.outcome != FAIL and fetched.end < each.start
    ]
    number, value = random.choice(choices)
    history[number] = replace(history[number], value=value)
    return {"value seen before it was sent"}


def let_unknown_vanish(random: Random, history: list[Operation]) -> set[str]:
    """The last fetch sees a commit that was replaced by one whose client never knew, and that another fetch saw."""
    choices = [
        _value(old)
        for new in commits_of(history, INFO)
        if any(each.kind == FETCH and each.outcome == OK and each.value == new.value for each in history[:-1])
        for old in commits_of(history, OK)
        if old.end < new.start
        and not any(old.end < each.start for each in commits_of(history, OK))  # else it is another corruption
    ]
    history[-1] = replace(history[-1], value=random.choice(choices), is_final=False)
    return {"stale fetch", "value vanished"}


def _value(operation: Operation) -> int:
    assert isinstance(operation.value, int)
    return operation.value


def _fetch(random: Random, history: list[Operation]) -> int:
    fetches = [number for number, each in enumerate(history) if each.kind == FETCH and each.outcome == OK]
    return random.choice(fetches)


CORRUPTIONS: list[Callable[[Random, list[Operation]], set[str]]] = [
    *(lose_acknowledged, read_stale, read_unwritten, read_refused, read_too_soon, let_unknown_vanish),
]


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
@given(seed=st.integers(0, 2**32))
def test_a_corruption_is_always_found(corrupt: Callable[[Random, list[Operation]], set[str]], seed: int) -> None:
    random = Random(seed)
    for _ in range(200):  # until a history offers a place for it
        history = SimulatedRegister(random, KEY).run(random.choice((30, 100, 200)))
        try:
            expected = corrupt(random, history)
        except (IndexError, ValueError):
            continue
        assert expected & set(kinds(*history))
        return
    raise AssertionError("no history offers a place for this corruption")


def test_a_long_history_takes_a_moment() -> None:
    """A hundred thousand operations of one key: an algorithm that compares pairs would not end within the timeout."""
    assert check(SimulatedRegister(Random(1), KEY, 5).run(300_000)) == []

"""The ownership ribbon: the spans of each partition cover the whole range, also where it has no owner."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.console import ribbon as module
from coordinator.console.model import UNOWNED, Ribbon, RibbonMember, Seam
from coordinator.console.ribbon import ribbon
from coordinator.core.events.ownership_log import OwnerChange


def change(at_ms: int, key: str, *partitions: int) -> OwnerChange:
    return OwnerChange(at_ms, key, {"t": partitions} if partitions else {})


def drawn(changes: Sequence[OwnerChange], from_ms: int = 0, until_ms: int = 100) -> Ribbon:
    members = {"a": RibbonMember(key="a", name="A", is_member=True)}
    return ribbon(changes, members, [], from_ms=from_ms, until_ms=until_ms, known_from_ms=0)


def spans(found: Ribbon) -> dict[int, list[tuple[int, int, str]]]:
    names = [member.key for member in found.members]
    return {
        row.partition: [(start, end, "" if who == UNOWNED else names[who]) for start, end, who in row.spans]
        for row in found.rows
    }


def test_a_partition_that_moves_has_no_owner_in_between() -> None:
    found = drawn([change(10, "a", 0, 1), change(40, "a"), change(60, "a", 0), change(60, "b", 1)])
    assert spans(found) == {
        0: [(0, 10, ""), (10, 40, "a"), (40, 60, ""), (60, 100, "a")],
        1: [(0, 10, ""), (10, 40, "a"), (40, 60, ""), (60, 100, "b")],
    }
    assert [(member.name, member.is_member) for member in found.members] == [("A", True), ("b", False)]


def test_what_is_given_back_at_once_is_one_span() -> None:
    assert spans(drawn([change(10, "a", 0), change(40, "a"), change(40, "a", 0)])) == {0: [(0, 10, ""), (10, 100, "a")]}


def test_a_partition_with_two_claims_belongs_to_the_later_one() -> None:
    found = drawn([change(10, "a", 0), change(20, "b", 0), change(30, "a"), change(50, "b")])
    assert spans(found) == {0: [(0, 10, ""), (10, 20, "a"), (20, 50, "b"), (50, 100, "")]}


def test_the_range_cuts_spans() -> None:
    found = drawn([change(10, "a", 0), change(40, "b", 0), change(90, "a", 0)], from_ms=20, until_ms=80)
    assert spans(found) == {0: [(20, 40, "a"), (40, 80, "b")]}


def test_members_without_a_span_in_the_range_are_left_out() -> None:
    found = drawn([change(10, "a", 0), change(40, "b", 0)], from_ms=50)
    assert [member.key for member in found.members] == ["b"]


def test_seams_within_the_range_are_kept() -> None:
    seams = [Seam(at_ms=at, ended_ms=at + 5, generation=at) for at in (0, 16, 50, 120)]
    found = ribbon([], {}, seams, from_ms=20, until_ms=100, known_from_ms=0)
    assert [seam.at_ms for seam in found.seams] == [16, 50]


def test_as_many_rows_as_allowed_are_shown_and_one_more_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 3)
    assert drawn([change(1, "a", 0, 1, 2)]).rows_left_out == 0
    found = drawn([change(1, "a", 0, 1, 2, 3)])
    assert ([row.partition for row in found.rows], found.rows_left_out) == ([0, 1, 2], 1)


def test_as_many_spans_as_allowed_are_shown_and_one_more_shortens_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [change(at, "ab"[at // 10 % 2], 0) for at in range(10, 50, 10)]
    monkeypatch.setattr(module, "MOST_SPANS", 5)
    assert spans(drawn(changes)) == {0: [(0, 10, ""), (10, 20, "b"), (20, 30, "a"), (30, 40, "b"), (40, 100, "a")]}
    monkeypatch.setattr(module, "MOST_SPANS", 4)
    found = drawn(changes)
    assert spans(found) == {0: [(10, 20, "b"), (20, 30, "a"), (30, 40, "b"), (40, 100, "a")]}
    assert (found.from_ms, found.known_from_ms) == (10, 10)


CHANGES = st.lists(
    st.builds(
        lambda at, key, held: change(at, key, *sorted(held)),
        st.integers(0, 120),
        st.sampled_from("abc"),
        st.sets(st.integers(0, 3)),
    ),
    max_size=30,
)


@given(CHANGES)
def test_spans_cover_the_range_without_gaps_and_differ_from_their_neighbours(changes: list[OwnerChange]) -> None:
    for row in drawn(changes, 10, 90).rows:
        assert row.spans[0][0] == 10
        assert row.spans[-1][1] == 90
        for (start, end, who), (following, _, other) in zip(row.spans, row.spans[1:], strict=False):
            assert start < end == following
            assert who != other

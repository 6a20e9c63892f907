"""The lag at regular moments, and its slope."""

from __future__ import annotations

import pytest

from coordinator.console import lag as module
from coordinator.console.lag import UNKNOWN, LagSamples, lag_of, per_s


def test_newest_values_of_a_group_are_kept() -> None:
    samples = LagSamples(most_groups=2, kept=3)
    for value in range(5):
        samples.add("g", value)
    assert samples.of("g") == [2, 3, 4]
    assert samples.of("other") == []


def test_as_many_groups_as_allowed_are_kept_and_one_more_replaces_the_one_sampled_longest_ago() -> None:
    samples = LagSamples(most_groups=2, kept=3)
    for group in ("a", "b", "a"):
        samples.add(group, 1)
    samples.add("c", 1)
    assert [samples.of(group) for group in "abc"] == [[1, 1], [], [1]]


@pytest.mark.parametrize(
    ("values", "slope"),
    [
        ([0, 20, 40], 10.0),
        ([40, UNKNOWN, 0], -10.0),
        ([5, 5, 5], 0.0),
        ([5], None),
        ([UNKNOWN, 7], None),
        ([], None),
    ],
)
def test_slope_is_in_records_per_second(values: list[int], slope: float | None) -> None:
    assert per_s(values, 2_000) == slope


def test_as_many_partitions_are_shown_as_allowed_and_one_more_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PARTITIONS", 2)
    committed = {("t", number): (10 * number, UNKNOWN) for number in range(3)}
    found = lag_of(committed, {("t", 0): 5, ("t", 2): 29}, [1, 2])
    assert found is not None
    assert [(each.partition, each.lag) for each in found.partitions] == [(2, 9), (0, 5)]
    assert (found.total, found.partitions_left_out) == (14, 1)
    assert lag_of({}, {}, []) is None

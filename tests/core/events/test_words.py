"""Durations in sentences."""

from __future__ import annotations

import pytest

from coordinator.core.events.words import duration


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0 ms"),
        (850, "850 ms"),
        (3_400, "3.4 s"),
        (8_000, "8 s"),
        (9_960, "10 s"),
        (59_400, "59 s"),
        (59_600, "1 m"),
        (262_000, "4 m 22 s"),
        (3_599_600, "1 h"),
        (11_520_000, "3 h 12 m"),
        (190_800_000, "2 d 5 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(ms: int, text: str) -> None:
    assert duration(ms) == text

"""Sorting in steps: short runs are sorted, and then merged in pairs.

`list.sort` finds the two runs of a pair and merges them, which takes about one comparison for each item.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, TypeVar

from coordinator.core.consumer_group.assignors.pace import MOST_AT_ONCE, Pace

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

_Sortable = TypeVar("_Sortable", bound="SupportsRichComparison")


def sorted_in_steps(items: list[_Sortable], pace: Pace) -> Generator[None, None, list[_Sortable]]:
    """Return the items in ascending order. The given list may be sorted in place."""
    if len(items) <= MOST_AT_ONCE:
        items.sort()
        if pace.is_over(len(items)):
            yield None
        return items
    runs: list[list[_Sortable]] = []
    for start in range(0, len(items), MOST_AT_ONCE):
        run = items[start : start + MOST_AT_ONCE]
        run.sort()
        runs.append(run)
        if pace.is_over(2 * len(run)):
            yield None
    while len(runs) > 1:
        merged: list[list[_Sortable]] = []
        for number in range(1, len(runs), 2):
            pair = runs[number - 1] + runs[number]
            pair.sort()
            merged.append(pair)
            if pace.is_over(len(pair)):
                yield None
        if len(runs) % 2:
            merged.append(runs[-1])
        runs = merged
    return runs[0]

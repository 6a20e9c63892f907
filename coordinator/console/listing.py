"""One page of the list of groups: found by a part of their id, and sorted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

from coordinator.console.model import GroupList, GroupRow
from coordinator.console.source import MOST_PER_PAGE, ConsoleError, ListQuestion

SORTED_BY: Final[dict[str, Callable[[GroupRow], Any]]] = {
    "group": lambda row: row.group,
    "state": lambda row: row.state,
    "members": lambda row: row.members,
    "lag": lambda row: row.lag,
    "rebalances": lambda row: row.rebalances,
    "last_rebalance_ms": lambda row: row.last_rebalance_ms,
}


def page(
    rows: Collection[GroupRow], question: ListQuestion, *, at_ms: int, sample_ms: int, problem: str = ""
) -> GroupList:
    """Return one page of `rows`. Equal ones are in the order of their ids. Raises ConsoleError."""
    key = SORTED_BY.get(question.sort)
    if key is None:
        raise ConsoleError(f"groups cannot be sorted by {question.sort!r}; choose one of {', '.join(SORTED_BY)}")
    offset, limit = question.offset, question.limit
    if offset < 0 or not 1 <= limit <= MOST_PER_PAGE:
        raise ConsoleError(f"give an offset of 0 or more, and a limit of 1 to {MOST_PER_PAGE}")
    search, state = question.search.casefold(), question.state
    found = [
        row for row in rows if (not search or search in row.group.casefold()) and (not state or row.state == state)
    ]
    found.sort(key=lambda row: row.group)
    found.sort(key=key, reverse=question.reverse)
    return GroupList(
        at_ms=at_ms,
        total=len(rows),
        matched=len(found),
        offset=offset,
        states=dict(Counter(row.state for row in rows)),
        groups=found[offset : offset + limit],
        sample_ms=sample_ms,
        problem=problem,
    )

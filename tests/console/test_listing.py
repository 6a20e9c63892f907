"""A page of the list of groups: found, sorted and cut by the server."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.console.listing import page
from coordinator.console.model import GroupList, GroupRow
from coordinator.console.source import MOST_PER_PAGE, ConsoleError, ListQuestion

ROWS = [
    GroupRow(group="Orders-eu", state="Stable", members=2, lag=7),
    GroupRow(group="orders-us", state="Empty", members=0, lag=90),
    GroupRow(group="billing", state="Stable", members=2, lag=-1),
]


def found(**given: Any) -> list[str]:
    return [row.group for row in listed(**given).groups]


def listed(**given: Any) -> GroupList:
    return page(ROWS, ListQuestion(**given), at_ms=1, sample_ms=9)


def test_search_ignores_case_and_state_is_exact() -> None:
    assert found(search="ORDERS") == ["Orders-eu", "orders-us"]
    assert found(state="Stable") == ["Orders-eu", "billing"]
    assert found(search="orders", state="Empty") == ["orders-us"]


def test_equal_ones_are_in_the_order_of_their_ids() -> None:
    assert found(sort="members") == ["orders-us", "Orders-eu", "billing"]
    assert found(sort="members", reverse=True) == ["Orders-eu", "billing", "orders-us"]
    assert found(sort="lag", reverse=True) == ["orders-us", "Orders-eu", "billing"]
    assert found(reverse=True) == ["orders-us", "billing", "Orders-eu"]


def test_a_page_tells_how_many_there_are() -> None:
    answer = listed(search="orders", offset=1, limit=1)
    assert ([row.group for row in answer.groups], answer.matched, answer.total) == (["orders-us"], 2, 3)
    assert answer.states == {"Stable": 2, "Empty": 1}
    assert found(offset=99) == []


@pytest.mark.parametrize("given", [{"sort": "x"}, {"limit": 0}, {"limit": MOST_PER_PAGE + 1}, {"offset": -1}])
def test_other_questions_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConsoleError):
        listed(**given)

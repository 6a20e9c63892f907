"""docs/incidents-observed.md belongs to the twenty incidents as they are now."""

from __future__ import annotations

from collections import Counter

from coordinator.core.events.model import Cause, IncidentKind
from coordinator.explain.verdict import Finding
from tests.observe.incidents import INCIDENTS, Where
from tests.observe.incidents_page import HEAD, INTRODUCTION, PAGE


def test_half_of_the_twenty_incidents_are_with_our_daemon_and_half_with_kafka() -> None:
    where = Counter(each.where for each in INCIDENTS)
    assert where == {Where.OURS: 10, Where.CLASSIC: 5, Where.CONSUMER: 5}
    assert len({(each.title, each.where) for each in INCIDENTS}) == len(INCIDENTS)


def test_the_page_has_a_row_for_each_incident() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.startswith(INTRODUCTION + HEAD)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()[-len(INCIDENTS) :]]
    assert [row[:3] for row in rows] == [[each.title, each.where.value, each.client] for each in INCIDENTS]
    causes = {each.value for kind in (Finding, Cause, IncidentKind) for each in kind}
    assert {row[4].strip("`") for row in rows} <= causes
    assert sum(row[7] == "yes" for row in rows) >= 18

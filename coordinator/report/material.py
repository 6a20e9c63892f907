"""Asks a history for the rows that findings are made of: one `GroupPast` for each group.

`sql/` has the texts. TABLES are made first, each from those before it; QUESTIONS are asked of them, each about all
groups at once. DuckDB does the counting, so a group arrives here as a few dozen rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from typing import Any, Final, NamedTuple, TypeAlias

from coordinator.history import views
from coordinator.history.duckdb_views import DuckdbViews, rows_of
from coordinator.history.source import HistorySource

Row: TypeAlias = dict[str, Any]

TABLES: Final = ("rebalanced", "changed", "bursts", "departures", "explained")
QUESTIONS: Final = ("groups", "causes", "gone", "days", "late", "incidents", "deploys")
DAY_MS: Final = 86_400_000
DEFINITIONS: Final = {
    "burst_ms": 300_000,  # rebalances with less time between them are one burst
    "longest_deploy_ms": 7_200_000,
    "return_ms": 900_000,  # a client that is back by then was restarted, and did not scale down
    "late_ms": 120_000,  # a session may end so long after the client is back under another member id
    "follow_up_ms": 10_000,  # a second rebalance of cooperative assignors has begun by then
    "settle_ms": 1_800_000,  # the lag after a deploy is that of this much later
}


@dataclass(frozen=True, slots=True)
class Period:
    """The time that a report is about, in ms since the epoch, both ends included."""

    since_ms: int
    until_ms: int

    @property
    def days(self) -> int:
        """The number of days in UTC that it touches."""
        return self.until_ms // DAY_MS - self.since_ms // DAY_MS + 1

    @property
    def weeks(self) -> float:
        return (self.until_ms - self.since_ms) / (7 * DAY_MS)


class Source(NamedTuple):
    """The text that makes the first table, and the views that all texts need with it."""

    text: str
    views: str


EVENTS: Final = Source("rebalanced", "events lag")
CHANGES: Final = Source("changes_of_groups", "events lag rebalances members")


@dataclass(slots=True)
class GroupPast:
    """The rows about one group. `whole` is its row of `groups`, without which it had no rebalance."""

    group: str
    whole: Row = field(default_factory=dict)
    causes: list[Row] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    days: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    incidents: list[Row] = field(default_factory=list)
    deploys: list[Row] = field(default_factory=list)


@cache
def text_of(name: str) -> str:
    """Return the SQL of a table or question."""
    return (resources("coordinator.report") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def load(
    sources: Sequence[HistorySource],
    period: Period,
    pattern: str = "*",
    *,
    skip_corrupt: bool = False,
    tell: Callable[[str], None] = lambda step: None,
) -> dict[str, GroupPast]:
    """Return the past of each group whose name matches the pattern. Raises duckdb.Error, CorruptBatchError, MarksError.

    A history without events is judged by the changes of its groups. `tell` hears of each step before it begins, and an
    empty text at the end.
    """
    for changes in (EVENTS, CHANGES):
        names = views.needed(changes.views)

        def answer(stand: views.Stand, changes: Source = changes, names: set[str] = names) -> dict[str, GroupPast]:
            tell("reading the log")
            connection = DuckdbViews.of_sources(sources, stand, names, skip_corrupt=skip_corrupt).connection
            return pasts(connection, period, pattern, changes, tell)

        found = views.steady(sources, names, answer)
        if found:
            break
    tell("")
    return found


def pasts(
    connection: Any,
    period: Period,
    pattern: str = "*",
    source: Source = EVENTS,
    tell: Callable[[str], None] = lambda step: None,
) -> dict[str, GroupPast]:
    """Return the past of each group from a connection that has the views of the source. Raises duckdb.Error."""
    parameters: Row = {**DEFINITIONS, "since_ms": period.since_ms, "until_ms": period.until_ms}
    parameters |= {"pattern": pattern, "days": period.days}
    found: dict[str, GroupPast] = {}
    for number, name in enumerate((*TABLES, *QUESTIONS), 1):
        tell(f"step {number} of {len(TABLES) + len(QUESTIONS)}: {name}")
        text = text_of(source.text if name == TABLES[0] else name)
        bound = views.bound(text, parameters)
        if name in TABLES:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {text}", bound)
            continue
        for row in rows_of(connection.execute(text, bound)):
            past = found.setdefault(row["group"], GroupPast(row["group"]))
            if name == "groups":
                past.whole = row
            else:
                getattr(past, name).append(row)
    return dict(sorted(found.items()))

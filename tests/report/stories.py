"""Hand-made events of one group, and the findings that a report has of them.

    Story().start("a", "b", "c").wait(hours=3).goes("a", "expired").comes("a")

Each step is a rebalance of its own. A client is `name`, on the host `host-name`, unless `host` or `software` say more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from coordinator.core.events.model import (
    AnyEvent,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Trigger,
)
from coordinator.history import views
from coordinator.history.duckdb_views import DuckdbViews
from coordinator.history.events import EVENTS, StoredEvent, columns
from coordinator.history.lag_table import LAG
from coordinator.report.cases import GroupProblem, ProblemKind
from coordinator.report.findings import judge_all
from coordinator.report.material import DAY_MS, GroupPast, Period, pasts

START_MS = 1_790_000_000_000 // DAY_MS * DAY_MS
WEEK = Period(START_MS, START_MS + 7 * DAY_MS - 1)
POLL_TIMEOUT = "consumer poll timeout has expired."
_CAUSES = {"left": Cause.MEMBER_LEFT, "expired": Cause.SESSION_EXPIRED, "dropped": Cause.NO_SYNC}


class Story:
    """The events of a group under construction."""

    def __init__(self, group: str = "g", **facts: Any) -> None:
        self.group = group
        self.now_ms = START_MS + 60_000
        self.events: list[AnyEvent] = []
        self.lag: list[dict[str, Any]] = []
        self.facts = {"protocol": "cooperative-sticky", "partitions": 12, "join_ms": 50, "sync_ms": 5, **facts}
        self.members: dict[str, ClientInfo] = {}
        self._runs = 0

    def wait(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> Story:
        self.now_ms += round(days * DAY_MS + hours * 3_600_000 + minutes * 60_000 + seconds * 1000)
        return self

    def start(self, *names: str, **client: str) -> Story:
        for name in names:
            self.comes(name, **client).wait(seconds=1)
        return self

    def comes(self, name: str, *, host: str = "", software: str = "", instance: str = "", **facts: Any) -> Story:
        self._runs += 1
        info = ClientInfo(f"{name}-{self._runs:04}", instance, name, host or f"host-{name}", software)
        before = len(self.members)
        self.members[name] = info
        return self.rebalance(Cause.MEMBER_JOINED, info, ChangeKind.JOINED, before=before, **facts)

    def goes(self, name: str, how: str = "left", reason: str = "", **facts: Any) -> Story:
        before = len(self.members)
        info = self.members.pop(name)
        return self.rebalance(_CAUSES[how], info, ChangeKind(how), reason, before=before, **facts)

    def rebalance(
        self,
        cause: Cause,
        info: ClientInfo,
        kind: ChangeKind | None = None,
        reason: str = "",
        *,
        before: int = -1,
        changed: bool = False,
        **facts: Any,
    ) -> Story:
        number = len(self.events)
        self.events.append(
            Rebalance(
                group=self.group,
                at_ms=self.now_ms,
                trigger=Trigger(cause, info, reason, subscription_changed=changed),
                outcome=RebalanceOutcome.STABLE,
                previous_generation=number,
                generation=number + 1,
                members_before=before if before >= 0 else len(self.members),
                members_after=len(self.members),
                changes=[] if kind is None else [Change(kind, info, reason=reason)],
                **{**self.facts, **facts},
            )
        )
        return self

    def incident(self, what: IncidentKind, member: ClientInfo, times: int = 1, **facts: Any) -> Story:
        self.events.append(
            Incident(group=self.group, at_ms=self.now_ms, what=what, member=member, times=times, **facts)
        )
        return self

    def lags(self, records: int) -> Story:
        row = (self.now_ms, self.group, "orders", 0, 1000, 1000 + records, records)
        self.lag.append(dict(zip(LAG.names, row, strict=True)))
        return self


def past_of(stories: Iterable[Story], period: Period = WEEK, pattern: str = "*") -> dict[str, GroupPast]:
    """Return what the SQL of the report finds in the events of these groups."""
    told = list(stories)
    events = [event for story in told for event in story.events]
    rows = [
        columns(stored) | {"json": _json(stored.event)} for stored in (StoredEvent(*each) for each in enumerate(events))
    ]
    made = DuckdbViews()
    records = pa.Table.from_pylist(rows, schema=EVENTS)
    made.connection.from_arrow(views.with_partition(records, EVENTS, 0)).create_view("event_records")
    made.connection.from_arrow(pa.Table.from_pylist([row for story in told for row in story.lag], LAG)).create_view(
        "lag"
    )
    made.connection.execute(f"CREATE VIEW events AS {views.text_of('events')}")
    return pasts(made.connection, period, pattern)


def problems_of(*stories: Story, period: Period = WEEK) -> list[GroupProblem]:
    """Return the findings about these groups."""
    return judge_all(past_of(stories, period), period.weeks)


def kinds_of(*stories: Story) -> set[ProblemKind]:
    """Return the kinds of the findings about these groups."""
    return {problem.kind for problem in problems_of(*stories)}


def _json(event: AnyEvent) -> str:
    from coordinator.core.events.model import encode

    return encode(event).decode()

"""The report: ten lines for a person, and the tables below them, as rows for the screen, the page and JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from coordinator.history.times import local_time, span
from coordinator.report.cases import FLAP_RATIO, FLAPS, GroupProblem, ProblemKind, culprit
from coordinator.report.findings import judge_all
from coordinator.report.material import GroupPast, Period
from coordinator.report.rules import ROUTINE
from coordinator.report.words import MINUTE_MS, cost, counted, day, number, utc_day

LINES: Final = 10
SHARED: Final = (ProblemKind.HOST, ProblemKind.VERSION)  # one host or version may trouble several groups: one line
HALF_HOUR_LAG: Final = "LAG 30 MIN LATER"

Cells = dict[str, int | str | None]  # by column


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with its title, the rows in their order."""

    title: str
    rows: Sequence[Cells]
    numbers: Sequence[str] = ("PARTITION-MINUTES", "MEDIAN DAY", "TOOK")  # columns of texts that are numbers


class GroupsReport:
    """The findings about a period, with the past of the groups."""

    def __init__(self, pasts: Mapping[str, GroupPast], period: Period) -> None:
        self.period = period
        self.pasts = pasts
        self.problems = judge_all(pasts, period.weeks)

    def total(self, column: str) -> int:
        """Return the sum of a column over all groups."""
        return sum(int(past.whole[column] or 0) for past in self.pasts.values() if past.whole)

    def lines(self) -> list[str]:
        """Return at most ten lines, the most costly findings first."""
        merged = self._merged()
        shown = merged[: LINES - 2]
        lines = [self._summary(), *shown]
        well = len(self.pasts) - len({problem.group for problem in self.problems})
        more = f"{counted(len(merged) - len(shown), 'more finding')} below. " if len(merged) > len(shown) else ""
        return [*lines, f"{more}{counted(well, 'group')} without a finding."]

    def _summary(self) -> str:
        spent = cost(self.total("rebalances"), self.total("lost_ms"), self.total("read_twice"))
        first, last = day(self.period.since_ms), day(self.period.until_ms)
        return f"{first} to {last}: {counted(len(self.pasts), 'group')}, {spent}."

    def _merged(self) -> list[str]:
        """Return a line for each finding; one for several groups with the same host or version."""
        groups: dict[tuple[Any, ...], list[GroupProblem]] = defaultdict(list)
        for problem in self.problems:
            groups[(problem.kind, problem.subject, "" if problem.kind in SHARED else problem.group)].append(problem)
        lines = []
        for some in sorted(groups.values(), key=lambda each: -sum(problem.lost_ms for problem in each)):
            first, others = some[0], some[1:]
            line = f"{first.group}: {first.sentence}. {first.advice}"
            if others:
                rebalances, lost_ms = (sum(getattr(each, name) for each in some) for name in ("rebalances", "lost_ms"))
                line += f" With {counted(len(others), 'more group')}: {cost(rebalances, lost_ms)}."
            lines.append(line)
        return lines

    # -- tables --------------------------------------------------------------------------------------------------

    def tables(self) -> list[ReportTable]:
        """Return the tables that have rows."""
        made = (
            ReportTable("Findings", [_finding(problem) for problem in self.problems]),
            ReportTable("Groups that flap: days (UTC), without deploys, far above their own median", self._flapping()),
            ReportTable("Deploys: all members were replaced", self._deploys()),
            ReportTable("Groups, those that lost most first", self._groups()),
        )
        return [table for table in made if table.rows]

    def _flapping(self) -> list[Cells]:
        rows: list[tuple[int, Cells]] = []
        for past in self.pasts.values():
            by_day: Counter[int] = Counter()
            for row in past.days:
                by_day[row["day"]] += row["rebalances"] if row["why"] not in ROUTINE else 0
            usual = max((row["median_day"] for row in past.days), default=0)
            flaps = [each for each, count in by_day.items() if count >= max(FLAPS, FLAP_RATIO * usual)]
            if not flaps:
                continue
            date, most = by_day.most_common(1)[0]
            cells: Cells = {
                "GROUP": past.group,
                "DAYS": len(flaps),
                "WORST DAY": utc_day(date),
                "REBALANCES": most,
            }
            cells |= {
                "MEDIAN DAY": number(usual),
                "BEHIND MOST OF IT": culprit([row for row in past.causes if row["why"] not in ROUTINE]) or None,
            }
            rows.append((most, cells))
        return [cells for _, cells in sorted(rows, key=lambda each: (-each[0], str(each[1]["GROUP"])))]

    def _deploys(self) -> list[Cells]:
        rows = sorted(
            (row for past in self.pasts.values() for row in past.deploys),
            key=lambda row: (-row["lost_ms"], row["group"]),
        )
        return [
            {
                "GROUP": row["group"],
                "BEGAN": local_time(row["began_ms"], milliseconds=False),
                "TOOK": span(row["ended_ms"] - row["began_ms"]),
                "MEMBERS": row["members_before"],
                "REBALANCES": row["rebalances"],
                "PARTITION-MINUTES": _minutes(row["lost_ms"]),
                "LAG BEFORE": row["lag_before"],
                "LAG AT END": row["lag_at_end"],
                HALF_HOUR_LAG: row["lag_after"],
            }
            for row in rows
        ]

    def _groups(self) -> list[Cells]:
        wholes = [past.whole for past in self.pasts.values() if past.whole]
        return [
            {
                "GROUP": whole["group"],
                "REBALANCES": whole["rebalances"],
                "PARTITION-MINUTES": _minutes(whole["lost_ms"]),
                "PARTITIONS MOVED": int(whole["moved"]),
                "READ TWICE": int(whole["read_twice"]),
                "MEMBERS": whole["members"],
                "PARTITIONS": whole["partitions"],
                "ASSIGNOR": whole["protocol"],
            }
            for whole in sorted(wholes, key=lambda each: (-each["lost_ms"], -each["rebalances"], each["group"]))
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "since_ms": self.period.since_ms,
            "until_ms": self.period.until_ms,
            "groups": len(self.pasts),
            "rebalances": self.total("rebalances"),
            "unowned_partition_ms": self.total("lost_ms"),
            "records_read_twice": self.total("read_twice"),
            "lines": self.lines(),
            "findings": [asdict(problem) | {"kind": problem.kind.value} for problem in self.problems],
            "deploys": [row for past in self.pasts.values() for row in past.deploys],
        }


def _finding(problem: GroupProblem) -> Cells:
    return {
        "GROUP": problem.group,
        "FINDING": problem.kind.value,
        "MEMBER, HOST OR VERSION": problem.subject or None,
        "TIMES": problem.number,
        "REBALANCES": problem.rebalances,
        "PARTITION-MINUTES": _minutes(problem.lost_ms),
        "READ TWICE": problem.read_twice,
    }


def _minutes(ms: float) -> str:
    return f"{ms / MINUTE_MS:.1f}"

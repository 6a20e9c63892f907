"""The report as one HTML file: ten lines, plots as inline SVG, and the tables. It loads nothing else and has no script.

Names come from clients, so every text is escaped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import Final

from coordinator.report import svg
from coordinator.report.material import DAY_MS
from coordinator.report.report import GroupsReport, ReportTable
from coordinator.report.words import MINUTE_MS, day, utc_day

MOST_ROWS: Final = 1_000
PLOTTED: Final = 25  # groups and deploys
STYLE: Final = (
    "body{max-width:1100px;margin:1.5em auto;padding:0 1em;font:15px/1.5 sans-serif;color:#1f2933}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}li{margin:.4em 0}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "th,td{padding:3px 10px 3px 0;text-align:left;white-space:nowrap;border-bottom:1px solid #e4e8ec}"
    "td.n,th.n{text-align:right}svg{width:100%;height:auto}text{font:11px sans-serif;fill:#1f2933}"
    "@media(prefers-color-scheme:dark){body{background:#12181f;color:#dde3ea}text{fill:#dde3ea}"
    "th,td{border-color:#2b3642}}"
)
# The reasons of rebalances as the plot names them.
REASONS: Final = {
    "slow_poll": "max.poll.interval.ms",
    "dropped": "did not rejoin",
    "expired": "session expired",
    "left": "left",
    "replaced": "static member replaced",
    "subscription": "subscription",
    "topics": "topics",
    "replacement": "replaced by another",
}


def page(report: GroupsReport) -> str:
    """Return the whole page."""
    summary, *lines, rest = report.lines()
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    parts = [f"<h1>Consumer groups</h1><p>{escape(summary)}</p><ol>{items}</ol><p>{escape(rest)}</p>"]
    for title, plot in _plots(report):
        parts.append(f"<h2>{escape(title)}</h2>{plot}")
    parts += map(_table, report.tables())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Consumer groups, {escape(summary.partition(':')[0])}</title><style>{STYLE}</style></head>\n"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _plots(report: GroupsReport) -> list[tuple[str, str]]:
    first = report.period.since_ms // DAY_MS
    days = [utc_day(first + number) for number in range(report.period.days)]
    lost: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(days))
    counts: dict[str, list[float]] = {}
    for past in report.pasts.values():
        for row in past.days:
            lost[REASONS.get(row["why"]) or str(row["why"])][row["day"] - first] += row["lost_ms"] / MINUTE_MS
            counts.setdefault(past.group, [0.0] * len(days))[row["day"] - first] += row["rebalances"]
    by_loss = dict(sorted(lost.items(), key=lambda each: -sum(each[1])))
    busiest = dict(sorted(counts.items(), key=lambda each: -max(each[1]))[:PLOTTED])
    deploys = [
        (f"{past.group}, {day(row['began_ms'])[5:]}", float(row["lag_before"]), float(row["lag_after"]))
        for past in report.pasts.values()
        for row in past.deploys
        if None not in (row["lag_before"], row["lag_after"])
    ]
    worst = sorted(deploys, key=lambda each: each[1] - each[2])[:PLOTTED]
    plots = []
    if by_loss:
        plots.append(("Partition-minutes lost, by the reason of the rebalance", svg.stacked(days, by_loss, "minutes")))
        plots.append(("Rebalances a day, groups with the worst days", svg.grid(days, busiest, "rebalances")))
    if worst:
        plots.append(("Lag before a deploy (grey) and half an hour after it", svg.pairs(worst, "records")))
    return plots


def _table(table: ReportTable) -> str:
    columns = tuple(table.rows[0])
    sides = {
        column: ' class="n"' if column in table.numbers or _is_numeric(table, column) else "" for column in columns
    }
    head = "".join(f"<th{sides[column]}>{escape(column)}</th>" for column in columns)
    rows = "".join(_row([(sides[column], row[column]) for column in columns]) for row in table.rows[:MOST_ROWS])
    more = len(table.rows) - MOST_ROWS
    note = f"<p>and {more} more rows</p>" if more > 0 else ""
    return f"<h2>{escape(table.title)}</h2><table><tr>{head}</tr>{rows}</table>{note}"


def _row(cells: Sequence[tuple[str, int | str | None]]) -> str:
    shown = ((side, "-" if text is None else escape(str(text))) for side, text in cells)
    return f"<tr>{''.join(f'<td{side}>{text}</td>' for side, text in shown)}</tr>"


def _is_numeric(table: ReportTable, column: str) -> bool:
    return all(isinstance(row[column], int | None) for row in table.rows)

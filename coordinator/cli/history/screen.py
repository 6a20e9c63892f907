"""Answers of `coordinator history` as tables, with local times and how long ago they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from coordinator.cli.screen import change, number
from coordinator.cli.table import Row, Value, coloured, table
from coordinator.core.events.model import BECAUSE, Incident, Rebalance
from coordinator.history.commits import Ints
from coordinator.history.events import columns
from coordinator.history.rebalances import Kind
from coordinator.history.times import ago, local_time, span

if TYPE_CHECKING:
    from coordinator.history.events import StoredEvent
    from coordinator.history.questions import Answer, CommitRate
    from coordinator.history.rebalances import GroupChange, Move

BARS: Final = " ▁▂▃▄▅▆▇█"
BACK: Final = "▼"
SPARK_WIDTH: Final = 24
NAMED_AT_MOST: Final = 8
TRANSACTIONS: Final = {
    "committed": "in a transaction",
    "aborted": "in an aborted transaction",
    "open": "pending in an open transaction",
}
STUCK: Final = "no progress"  # of a partition that stands still
UNASSIGNED: Final = "unassigned"  # instead of an owner's name


def commits(rows: Answer, total: int, now_ms: int) -> str:
    """Return the table of commits, with the newest last: it is next to the prompt after a long list."""
    cells: list[Row] = [
        {
            "TIME": local_time(row["timestamp_ms"]),
            "AGO": _ago(row["timestamp_ms"], now_ms),
            "PARTITION": f"{row['topic']}-{row['partition']}",
            "OFFSET": coloured("deleted", "red") if row["offset"] is None else str(row["offset"]),
            "CHANGE": coloured(change(row["change"]) or "-", "red" if (row["change"] or 0) < 0 else ""),
            "NOTE": ", ".join(_notes(row)),
        }
        for row in rows
    ]
    return table(cells, right=("AGO", "OFFSET", "CHANGE")) + _left_out(len(rows), total, "commits")


def _notes(row: Mapping[str, Any]) -> Iterator[str]:
    if row["metadata"]:
        yield row["metadata"]
    if row["transaction"] is not None:
        yield f"{TRANSACTIONS[row['transaction']]} of producer {row['producer_id']}"


def rebalances(found: Sequence[GroupChange], reasons: Sequence[Rebalance | None], total: int, now_ms: int) -> str:
    """Return one row for each change, with its cause and duration if known, and what it meant for the members."""
    rows: list[Row] = []
    for each, reason in zip(found, reasons, strict=True):
        deleted = each.kind is Kind.DELETED
        rows.append(
            {
                "TIME": local_time(each.record.timestamp_ms, milliseconds=False),
                "AGO": _ago(each.record.timestamp_ms, now_ms),
                "GEN": None if deleted else each.record.generation,
                "WHAT": coloured(_what(each), _COLOUR[each.kind]),
                "MEMBERS": None if deleted else len(each.record.members),
                "WHO AND WHAT": "\n".join([*_because(reason), _details(each)]),
            }
        )
    return table(rows, right=("AGO",)) + _left_out(len(found), total, "changes")


_COLOUR: Final = {
    Kind.CREATED: "",
    Kind.REBALANCED: "cyan",
    Kind.RECONCILED: "",
    Kind.STATIC_MEMBER_REPLACED: "",
    Kind.EMPTY: "yellow",
    Kind.DELETED: "red",
}


def _what(each: GroupChange) -> str:
    return "replaced" if each.kind is Kind.STATIC_MEMBER_REPLACED else each.kind.value


def _because(reason: Rebalance | None) -> list[str]:
    if reason is None:
        return []
    member = reason.trigger.member
    who = f": {member.name}" if member.is_known else ""
    return [f"because {BECAUSE[reason.trigger.cause]}{who}; took {span(reason.took_ms)}"]


def events(found: Sequence[StoredEvent], total: int, now_ms: int) -> str:
    """Return one row for each event, the newest last."""
    rows: list[Row] = []
    for each in found:
        event = each.event
        own = columns(each)
        member = event.trigger.member if isinstance(event, Rebalance) else event.member
        rows.append(
            {
                "TIME": local_time(event.at_ms, milliseconds=False),
                "AGO": _ago(event.at_ms, now_ms),
                "WHAT": event.trigger.cause.value if isinstance(event, Rebalance) else _times(event),
                "GEN": own["generation"],
                "WHO": member.full_name if member.is_known else None,
                "JOIN": None if own["join_ms"] is None else span(own["join_ms"]),
                "PLAN": None if own["plan_ms"] is None else span(own["plan_ms"]),
                "SYNC": None if own["sync_ms"] is None else span(own["sync_ms"]),
                "OUTCOME": own["outcome"],
            }
        )
    return table(rows, right=("AGO", "JOIN", "PLAN", "SYNC")) + _left_out(len(found), total, "events")


def _times(event: Incident) -> str:
    return event.what.value + (f" ({number(event.times)} times)" if event.times > 1 else "")


def _details(each: GroupChange) -> str:
    """Return one line for each kind of change of members, and for each move of partitions."""
    lines: list[str] = []
    for sign, names, colour in (("+", each.came, "green"), ("-", each.went, "red"), ("↻", each.restarted, "yellow")):
        if names:
            lines.append(coloured(f"{sign} {_some(names)}", colour))
    lines += moves(each.moved)
    if each.kind is Kind.REBALANCED and not lines:
        lines.append("the same members, nothing moved")
    return "\n".join(lines)


def moves(moved: Sequence[Move]) -> list[str]:
    """Return `orders 0-3, 7: a → b`, one line for each topic and pair of owners."""

    def key(move: Move) -> tuple[str, str, str]:
        return move.topic, move.source or "", move.target or ""

    return [
        f"{topic} {ranges([move.partition for move in own])}: {source or UNASSIGNED} → {target or UNASSIGNED}"
        for (topic, source, target), own in groupby(sorted(moved, key=key), key)
    ]


def ranges(numbers: Sequence[int]) -> str:
    """Return `0-3, 7` for 0, 1, 2, 3, 7."""
    runs: list[list[int]] = []
    for each in sorted(numbers):
        if runs and runs[-1][1] == each - 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED_AT_MOST
    return ", ".join(names[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def rate(found: CommitRate, now_ms: int) -> str:
    """Return one row for each partition; its progress over time is drawn in a scale of its own."""
    windows = len(found.starts_ms)
    begin, end = int(found.starts_ms[0]), int(found.starts_ms[-1]) + found.window_ms
    headline = (
        f"{local_time(begin, milliseconds=False)} to {local_time(end, milliseconds=False)} "
        f"({ago(end, now_ms)}): {windows} windows, each of {span(found.window_ms)}"
    )

    def row(name: str, commits: Ints, progress: Ints, resets: Ints) -> Row:
        total = int(progress.sum())
        return {
            "PARTITION": name,
            "COMMITS": int(commits.sum()),
            "PROGRESS": total,
            "PER WINDOW": round(total / windows),
            "PEAK": int(progress.max()),
            "PROGRESS OVER TIME": spark_line(progress, resets),
        }

    by_partition = zip(found.keys, found.commits, found.progress, found.resets, strict=True)
    rows = [row(f"{topic}-{partition}", *counts) for (topic, partition), *counts in by_partition]
    if len(rows) > 1:
        rows.append(row("all", found.commits.sum(axis=0), found.progress.sum(axis=0), found.resets.sum(axis=0)))
    return f"{headline}\n{table(rows)}"


def spark_line(progress: Ints, resets: Ints) -> str:
    """Draw progress over time as one line of text; the maximum is a full block, a reset an arrow."""
    pieces = np.arange(0, len(progress), -(-len(progress) // SPARK_WIDTH))
    means = np.add.reduceat(progress, pieces) / np.diff(np.append(pieces, len(progress)))
    has_reset = np.add.reduceat(resets, pieces)
    heights = np.clip(np.ceil(means * (len(BARS) - 1) / max(means.max(), 1)), 0, len(BARS) - 1).astype(np.int64)
    return "".join(
        BACK if back else BARS[height] for back, height in zip(has_reset.tolist(), heights.tolist(), strict=True)
    )


def stalled(found: Answer, ends: Mapping[tuple[str, int], int] | None, now_ms: int) -> str:
    """Return one row for each partition, in the order given; with its lag if `ends` has log end offsets."""
    rows: list[Row] = []
    for each in found:
        again = f" in {each['commits_since']} commits" if each["how"] == STUCK else ""
        row: dict[str, Value] = {
            "PARTITION": f"{each['topic']}-{each['partition']}",
            "OFFSET": each["offset"],
            "SINCE": local_time(each["since_ms"], milliseconds=False),
            "FOR": span(max(now_ms - each["since_ms"], 0)),
            "HOW": f"{each['how']}{again}",
        }
        if ends is not None:
            end = ends.get((each["topic"], each["partition"]))
            row["LAG"] = None if end is None else end - each["offset"]
        rows.append(row)
    return table(rows, right=("FOR",))


def _ago(moment_ms: int, now_ms: int) -> str:
    return ago(moment_ms, now_ms).removesuffix(" ago")


def _left_out(shown: int, total: int, what: str) -> str:
    return f"\nthe newest {shown} of {number(total)} {what}; --limit shows more" if shown < total else ""

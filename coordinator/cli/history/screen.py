"""Answers about the past for people: tables that fit into 100 columns, local times and how long ago they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from coordinator.cli.screen import change, number, table
from coordinator.history.commits import Ints
from coordinator.history.questions import Standstill
from coordinator.history.rebalances import Kind
from coordinator.history.times import ago, local_time, span

if TYPE_CHECKING:
    from coordinator.history.questions import CommitRate, Committed, Stalled
    from coordinator.history.rebalances import GroupChange, Move

BARS: Final = " ▁▂▃▄▅▆▇█"
BACK: Final = "▼"
SPARK_WIDTH: Final = 24
NAMED_AT_MOST: Final = 8


def commits(rows: Sequence[Committed], total: int, now_ms: int) -> RenderableType:
    """Newest last, where the eye is after a long list."""
    made = table(
        [
            ("TIME", "left"),
            ("AGO", "right"),
            ("PARTITION", "wide"),
            ("OFFSET", "right"),
            ("CHANGE", "right"),
            ("NOTE", "wide"),
        ]
    )
    for row in rows:
        made.add_row(
            local_time(row.timestamp_ms),
            _ago(row.timestamp_ms, now_ms),
            f"{row.topic}-{row.partition}",
            Text("deleted", "red") if row.offset is None else number(row.offset),
            Text(change(row.change), "red" if (row.change or 0) < 0 else ""),
            Text(_note(row)),
        )
    return Group(made, _left_out(len(rows), total, "commits"))


def _note(row: Committed) -> str:
    notes = [row.metadata] if row.metadata else []
    if row.transaction is not None:
        notes.append("in a transaction" if row.transaction == "committed" else "in a transaction, not committed")
    return ", ".join(notes)


def rebalances(found: Sequence[GroupChange], total: int, now_ms: int) -> RenderableType:
    """One row for each change, with what it meant for members and partitions."""
    made = table(
        [
            ("TIME", "left"),
            ("AGO", "right"),
            ("GEN", "right"),
            ("WHAT", "left"),
            ("MEMBERS", "right"),
            ("WHO AND WHAT", "wide"),
        ]
    )
    for each in found:
        deleted = each.kind is Kind.DELETED
        made.add_row(
            local_time(each.record.timestamp_ms, milliseconds=False),
            _ago(each.record.timestamp_ms, now_ms),
            "-" if deleted else str(each.record.generation),
            Text(_what(each), _COLOUR[each.kind]),
            "-" if deleted else str(len(each.record.members)),
            _details(each),
        )
    return Group(made, _left_out(len(found), total, "changes"))


_COLOUR: Final = {
    Kind.CREATED: "",
    Kind.REBALANCED: "cyan",
    Kind.STATIC_MEMBER_REPLACED: "",
    Kind.EMPTY: "yellow",
    Kind.DELETED: "red",
}


def _what(each: GroupChange) -> str:
    return "replaced" if each.kind is Kind.STATIC_MEMBER_REPLACED else each.kind.value


def _details(each: GroupChange) -> Text:
    lines: list[Text] = []
    for sign, names, style in (("+", each.came, "green"), ("-", each.went, "red"), ("↻", each.restarted, "yellow")):
        if names:
            lines.append(Text(f"{sign} {_some(names)}", style))
    lines += [Text(line) for line in moves(each.moved)]
    if each.kind is Kind.REBALANCED and not lines:
        lines.append(Text("the same members, nothing moved"))
    return Text("\n").join(lines)


def moves(moved: Sequence[Move]) -> list[str]:
    """`orders 0-3, 7: a → b`, one line for each topic and pair of owners."""

    def key(move: Move) -> tuple[str, str, str]:
        return move.topic, move.source or "", move.target or ""

    return [
        f"{topic} {ranges([move.partition for move in own])}: {source or 'nobody'} → {target or 'nobody'}"
        for (topic, source, target), own in groupby(sorted(moved, key=key), key)
    ]


def ranges(numbers: Sequence[int]) -> str:
    """`0-3, 7` for 0, 1, 2, 3, 7."""
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


def rate(found: CommitRate, now_ms: int) -> RenderableType:
    """One row for each partition, its progress over time drawn in a line of its own scale."""
    windows = len(found.starts_ms)
    begin, end = int(found.starts_ms[0]), int(found.starts_ms[-1]) + found.window_ms
    per_window = f"each of {span(found.window_ms)}"
    headline = (
        f"{local_time(begin, milliseconds=False)} to {local_time(end, milliseconds=False)} "
        f"({ago(end, now_ms)}): {windows} windows, {per_window}"
    )
    made = table(
        [
            ("PARTITION", "wide"),
            ("COMMITS", "right"),
            ("PROGRESS", "right"),
            ("PER WINDOW", "right"),
            ("PEAK", "right"),
            ("PROGRESS OVER TIME", "left"),
        ]
    )
    for row, (topic, partition) in enumerate(found.keys):
        progress = found.progress[row]
        made.add_row(
            f"{topic}-{partition}",
            number(int(found.commits[row].sum())),
            number(int(progress.sum())),
            number(round(int(progress.sum()) / windows)),
            number(int(progress.max())),
            spark_line(progress, found.resets[row]),
        )
    if len(found.keys) > 1:
        sums = found.progress.sum(axis=0)
        made.add_section()
        made.add_row(
            "all",
            number(int(found.commits.sum())),
            number(int(sums.sum())),
            number(round(int(sums.sum()) / windows)),
            number(int(sums.max())),
            spark_line(sums, found.resets.sum(axis=0)),
        )
    return Group(headline, made)


def spark_line(progress: Ints, resets: Ints) -> str:
    """Progress over time in one line of text, the highest a full block, a reset an arrow."""
    pieces = np.arange(0, len(progress), -(-len(progress) // SPARK_WIDTH))
    means = np.add.reduceat(progress, pieces) / np.diff(np.append(pieces, len(progress)))
    has_reset = np.add.reduceat(resets, pieces)
    heights = np.clip(np.ceil(means * (len(BARS) - 1) / max(means.max(), 1)), 0, len(BARS) - 1).astype(np.int64)
    return "".join(
        BACK if back else BARS[height] for back, height in zip(has_reset.tolist(), heights.tolist(), strict=True)
    )


def stalled(found: Sequence[Stalled], ends: Mapping[tuple[str, int], int] | None, now_ms: int) -> Table:
    """Those that stand longest first."""
    columns = [("PARTITION", "wide"), ("OFFSET", "right"), ("SINCE", "left"), ("FOR", "right"), ("HOW", "wide")]
    made = table([*columns, ("LAG", "right")] if ends is not None else columns)
    for each in found:
        again = f" in {number(each.commits_since)} commits" if each.kind is Standstill.STUCK else ""
        row = [
            f"{each.topic}-{each.partition}",
            number(each.offset),
            local_time(each.since_ms, milliseconds=False),
            span(max(now_ms - each.since_ms, 0)),
            f"{each.kind.value}{again}",
        ]
        if ends is not None:
            end = ends.get((each.topic, each.partition))
            row.append(number(None if end is None else end - each.offset))
        made.add_row(*row)
    return made


def _ago(moment_ms: int, now_ms: int) -> str:
    return ago(moment_ms, now_ms).removesuffix(" ago")


def _left_out(shown: int, total: int, what: str) -> str:
    return f"the newest {shown} of {number(total)} {what}; --limit shows more" if shown < total else ""

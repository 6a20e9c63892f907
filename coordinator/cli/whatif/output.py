"""Output of `coordinator whatif`: a table with a row for each alternative, or JSON, and the limits of the figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from coordinator.cli.screen import tell
from coordinator.cli.table import Row, table
from coordinator.whatif.figures import RunFigures, Spread
from coordinator.whatif.grid import LIMITS, AlternativeFigures


def show(
    arguments: argparse.Namespace, recorded: RunFigures, rows: Sequence[AlternativeFigures], groups: int | None = None
) -> None:
    """Print the table, or JSON, and what the figures cannot tell."""
    if arguments.json:
        print(json.dumps(_facts(arguments.seeds, recorded, rows, groups), indent=2))
        return
    cells: list[Row] = [
        {
            "SETTINGS": "recorded",
            "REBALANCES": str(recorded.rebalances),
            "LOST-PARTITION-S": _number(recorded.lost_partition_ms / 1_000),
            "MOVED": str(recorded.moved),
        }
    ]
    cells += [
        {
            "SETTINGS": row.name,
            "REBALANCES": _spread(row.rebalances),
            "LOST-PARTITION-S": _spread(row.lost_s),
            "MOVED": _spread(row.moved),
        }
        for row in rows
    ]
    print(table(cells, right=("REBALANCES", "LOST-PARTITION-S", "MOVED")))
    tell(f"{f'{groups} groups, ' if groups is not None else ''}{arguments.seeds} seeds. {LIMITS}")


def _facts(seeds: int, recorded: RunFigures, rows: Sequence[AlternativeFigures], groups: int | None) -> dict[str, Any]:
    lost_s = recorded.lost_partition_ms / 1_000
    return {
        **({} if groups is None else {"groups": groups}),
        "seeds": seeds,
        "recorded": {"rebalances": recorded.rebalances, "lost_partition_seconds": lost_s, "moved": recorded.moved},
        "alternatives": [
            {
                "settings": row.name,
                "rebalances": row.rebalances._asdict(),
                "lost_partition_seconds": row.lost_s._asdict(),
                "moved": row.moved._asdict(),
            }
            for row in rows
        ],
        "limits": LIMITS,
    }


def _spread(found: Spread) -> str:
    middle, low, high = map(_number, found)
    return middle if low == high else f"{middle} ({low}-{high})"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"

"""Reports of benchmarks: medians with their spread, Markdown tables, one JSON file, plots.

A table is a list of Markdown lines, so that a page of docs/ can hold the output of the terminal.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def median_of(runs: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(statistics.median(run[key] for run in runs))


def spread_of(runs: Sequence[Mapping[str, Any]], key: str, digits: int = 2) -> str:
    """Lowest and highest, as `9.21..11.05`."""
    values = [run[key] for run in runs]
    return f"{min(values):,.{digits}f}..{max(values):,.{digits}f}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def write_json(path: Path, what: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(what, indent=1) + "\n")
    partial.replace(path)

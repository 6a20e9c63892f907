"""Rows for people as columns, and for programs as JSON, from the same dictionaries.

A row maps a column's name in Kafka's tools ("LOG-END-OFFSET") to a value; None prints as "-", as Kafka's tools do, and
is null in JSON, where the names become "log_end_offset".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = int | str | bool | list["Value"] | dict[str, "Value"] | None
Row: TypeAlias = Mapping[str, Value]


def as_columns(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Left-aligned columns, two blanks apart; nothing is cut off."""
    lines = [list(columns)] + [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_json(columns: Sequence[str], rows: Sequence[Row]) -> str:
    return json.dumps([{_json_name(column): row.get(column) for column in columns} for row in rows], indent=2)


def _cell(value: Value) -> str:
    if value is None or value == "" or value == {}:
        return "-"
    if isinstance(value, dict):  # partitions by topic, as Kafka's tools print an assignment: orders:0,1;payments:2
        return ";".join(f"{key}:{','.join(map(str, items))}" for key, items in value.items() if isinstance(items, list))
    return str(value)


def _json_name(column: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")

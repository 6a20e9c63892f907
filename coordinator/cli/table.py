"""Tables for people, and JSON, YAML and CSV for programs, from the same rows.

A row maps a column's name, as in Kafka's tools ("LOG-END-OFFSET"), to a value. None prints as "-", as in Kafka's tools,
and is null in JSON, where the names become "log_end_offset". Lines are never cut or wrapped, so that grep and awk work.
Control characters are printed as escapes, because clients choose their ids and could otherwise command the terminal.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeAlias

Value: TypeAlias = int | str | bool | list["Value"] | dict[str, "Value"] | None
Row: TypeAlias = Mapping[str, Value]

_COLOURS: Final = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}  # ANSI
_NO_COLOUR: Final = 39
_COLOUR: Final = re.compile(rf"\x1b\[(?:{'|'.join(map(str, (*_COLOURS.values(), _NO_COLOUR)))})m")
_CONTROL: Final = re.compile(rf"{_COLOUR.pattern}|[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def as_columns(columns: Sequence[str], rows: Sequence[Row], right: Collection[str] = ()) -> str:
    """Return the rows as columns, two blanks apart.

    Columns of numbers and those named in `right` are right-aligned. A cell may have several lines.
    """
    lines = [tuple(columns)]
    for row in rows:
        lines += zip_longest(*(_cell(row.get(column)).split("\n") for column in columns), fillvalue="")
    widths = [max(map(_width, cells)) for cells in zip(*lines, strict=True)]
    sides = [column in right or _is_numeric([row.get(column) for row in rows]) for column in columns]
    return "\n".join("  ".join(map(_aligned, line, widths, sides)).rstrip() for line in lines)


def table(rows: Sequence[Row], right: Collection[str] = ()) -> str:
    """Return the rows with all columns that they have, in the order in which these first appear."""
    return as_columns(tuple(dict.fromkeys(column for row in rows for column in row)), rows, right)


def as_json(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the rows as a JSON list of objects."""
    return json.dumps([{_json_name(column): row.get(column) for column in columns} for row in rows], indent=2)


def as_yaml(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the rows as a YAML list of mappings. Values are written as JSON, which YAML 1.2 includes."""
    lines = []
    for row in rows:
        texts = {column: json.dumps(row.get(column), ensure_ascii=False) for column in columns}
        values = [f"{_json_name(column)}: {escaped(text)}" for column, text in texts.items()]
        lines.append("- " + "\n  ".join(values))
    return "\n".join(lines) or "[]"


def as_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the rows as CSV under a line of names. An unknown value is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_json_name(column) for column in columns])
    for row in rows:
        writer.writerow(["" if row.get(column) is None else _text(row.get(column)) for column in columns])
    return text.getvalue().removesuffix("\n")


FORMATS: Final[Mapping[str, Callable[[Sequence[str], Sequence[Row]], str]]] = {
    "table": as_columns,
    "json": as_json,
    "yaml": as_yaml,
    "csv": as_csv,
}


def render(
    form: str, columns: Sequence[str], rows: Sequence[Row], colours: Mapping[str, Mapping[str, str]] | None = None
) -> str:
    """Return the rows in one of the FORMATS. `colours` is for tables: the colour of each value, by column.

    A row of a table is one line: line ends in the ids of clients are escaped, too.
    """
    if form == "table":
        by_column = colours or {}
        rows = [
            {column: _in_one_line(value, by_column.get(column, {})) for column, value in row.items()} for row in rows
        ]
    return FORMATS[form](columns, rows)


def _in_one_line(value: Value, colours: Mapping[str, str]) -> Value:
    if value is None or isinstance(value, int) or not value:
        return value
    text = _text(value).replace("\n", r"\x0a")
    return coloured(text, colours.get(text, ""))


def coloured(text: str, colour: str) -> str:
    """Return the text in this colour ("" is none) if standard output is a terminal and NO_COLOR is not set."""
    if not colour or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[{_NO_COLOUR}m"


def escaped(text: str) -> str:
    """Return the text with escapes for its control characters, but for line ends and the colours used here."""
    return _CONTROL.sub(_escaped, text)


def _cell(value: Value) -> str:
    if value is None or value == "" or value == {} or value == []:
        return "-"
    return escaped(_text(value))


def _text(value: Value) -> str:
    if isinstance(value, dict):  # partitions by topic, as Kafka's tools print an assignment: orders:0,1;payments:2
        return ";".join(f"{key}:{_text(items)}" for key, items in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _escaped(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else f"\\x{ord(found[0]):02x}"


def _is_numeric(values: list[Value]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return kinds == {int}


def _aligned(cell: str, width: int, is_right: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if is_right else cell + blanks


def _width(cell: str) -> int:
    return len(_COLOUR.sub("", cell))


def _json_name(column: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")

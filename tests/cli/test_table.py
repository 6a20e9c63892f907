"""The table that every command prints."""

from __future__ import annotations

import sys

import pytest

from coordinator.cli.table import as_columns, coloured, table


def test_numbers_and_named_columns_are_right_aligned() -> None:
    rows = [
        {"GROUP": "a", "LAG": 7, "AGO": "9s", "NOTE": None},
        {"GROUP": "shop", "LAG": None, "AGO": "10m 2s", "NOTE": ""},
    ]
    assert as_columns(("GROUP", "LAG", "AGO", "NOTE"), rows, right=("AGO",)).splitlines() == [
        "GROUP  LAG     AGO  NOTE",
        "a        7      9s  -",
        "shop     -  10m 2s  -",
    ]


def test_truth_values_are_text() -> None:
    assert as_columns(("UP",), [{"UP": True}, {"UP": False}]).splitlines() == ["UP", "True", "False"]


def test_cell_with_several_lines_takes_several_rows() -> None:
    rows = [{"GEN": 1, "WHAT": "+ a\n- b"}, {"GEN": 2, "WHAT": "empty"}]
    assert table(rows).splitlines() == ["GEN  WHAT", "  1  + a", "     - b", "  2  empty"]


def test_table_has_the_columns_of_all_rows() -> None:
    assert table([{"A": 1}, {"A": 2, "ERROR": "damaged"}]).splitlines() == ["A  ERROR", "1  -", "2  damaged"]


def test_colours_need_a_terminal_and_do_not_count_as_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert coloured("deleted", "red") == "deleted"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    cell = coloured("deleted", "red")
    assert table([{"OFFSET": cell, "X": "y"}]).splitlines() == ["OFFSET   X", f"{cell}  y"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("deleted", "red") == "deleted"

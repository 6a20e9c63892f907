"""The table that every command prints."""

from __future__ import annotations

import csv
import io
import sys

import pytest

from coordinator.cli.table import as_columns, as_csv, as_yaml, coloured, render, table


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


ROWS = [
    {"GROUP": "a: b", "LAG": 7, "ASSIGNMENT": {"orders": [0, 1], "t": [2]}, "NOTE": None},
    {"GROUP": 'ä "x", y', "LAG": None, "ASSIGNMENT": {}, "NOTE": "\x1b[2J\x9b"},
]
COLUMNS = ("GROUP", "LAG", "ASSIGNMENT", "NOTE")


def test_yaml_has_a_mapping_for_each_row() -> None:
    assert as_yaml(COLUMNS, ROWS).splitlines() == [
        '- group: "a: b"',
        "  lag: 7",
        '  assignment: {"orders": [0, 1], "t": [2]}',
        "  note: null",
        '- group: "ä \\"x\\", y"',
        "  lag: null",
        "  assignment: {}",
        '  note: "\\u001b[2J\\x9b"',
    ]
    assert as_yaml(COLUMNS, []) == "[]"


def test_csv_has_a_line_of_names_and_nothing_for_the_unknown() -> None:
    text = as_csv(COLUMNS, ROWS)
    assert list(csv.reader(io.StringIO(text))) == [
        ["group", "lag", "assignment", "note"],
        ["a: b", "7", "orders:0,1;t:2", ""],
        ['ä "x", y', "", "", "\x1b[2J\x9b"],
    ]
    assert as_csv(COLUMNS, []) == "group,lag,assignment,note"


def test_control_characters_of_clients_do_not_reach_the_terminal() -> None:
    assert as_columns(("A",), [{"A": "\x1b[2J\x07\r\x9b1m\x7f"}]).splitlines() == ["A", r"\x1b[2J\x07\x0d\x9b1m\x7f"]


def test_other_codes_of_the_terminal_do_not_pass_as_colours() -> None:
    assert table([{"A": "a\x1b[8mb"}]).splitlines() == ["A", r"a\x1b[8mb"]


def test_a_row_is_one_line_whatever_a_client_is_called() -> None:
    rows = [{"GROUP": "x\nfake  Stable", "MEMBERS": ["a\nb"]}]
    assert render("table", ("GROUP", "MEMBERS"), rows).splitlines()[1] == r"x\x0afake  Stable  a\x0ab"


def test_values_are_coloured_in_tables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows = [{"STATE": "Stable"}, {"STATE": "Odd"}, {"STATE": None}]
    colours = {"STATE": {"Stable": "green"}}
    assert render("table", ("STATE",), rows, colours).splitlines() == ["STATE", "\x1b[32mStable\x1b[39m", "Odd", "-"]
    for form in ("json", "yaml", "csv"):
        assert "\x1b" not in render(form, ("STATE",), rows, colours)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in render("table", ("STATE",), rows, colours)

"""Tests of docs/bounds.md: the settings, constants and tests that it names exist, with the defaults that it says."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from coordinator.config.config import keys

ROOT = Path(__file__).resolve().parents[2]
SETTING = re.compile(r"`([a-z0-9.]+)`")
CONSTANT = re.compile(r"`([A-Z_]+)` in `([a-z_/]+)\.py`")
TEST = re.compile(r"`([a-z_/0-9]+\.py)::(test_[a-z_0-9]+)`")


class Row(NamedTuple):
    """One row of a table."""

    what: str
    bound: str
    default: str
    beyond: str
    test: str


@cache
def rows() -> list[Row]:
    lines = (ROOT / "docs" / "bounds.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [Row(*row) for row in cells if row[0] not in ("what", "---")]


def test_the_page_has_rows() -> None:
    assert len(rows()) > 40


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.what)
def test_a_row_is_true(row: Row) -> None:
    named = TEST.fullmatch(row.test)
    assert named is not None, row.test
    source = (ROOT / "tests" / named[1]).read_text(encoding="utf-8")
    assert f"def {named[2]}(" in source, row.test
    if setting := SETTING.fullmatch(row.bound):
        assert str(keys()[setting[1]].default) == row.default
    elif constant := CONSTANT.fullmatch(row.bound):
        module = import_module("coordinator." + constant[2].replace("/", "."))
        assert str(getattr(module, constant[1])) == row.default
    else:
        assert row.default == "-"

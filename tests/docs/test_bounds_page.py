"""Tests of docs/bounds.md: the settings, constants and tests that it names exist, with the defaults that it says."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import NamedTuple

import pytest

from coordinator.config.config import keys
from tests.docs.blocks import ROOT
from tests.docs.named_tests import NAMED_TEST, is_there

SETTING = re.compile(r"`([a-z0-9.]+)`")
CONSTANT = re.compile(r"`([A-Z_]+)` in `([a-z_/]+)\.py`")


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
    named = NAMED_TEST.fullmatch(row.test)
    assert named is not None, row.test
    assert is_there(named[1], named[2]), row.test
    if setting := SETTING.fullmatch(row.bound):
        assert str(keys()[setting[1]].default) == row.default
    elif constant := CONSTANT.fullmatch(row.bound):
        module = import_module("coordinator." + constant[2].replace("/", "."))
        assert str(getattr(module, constant[1])) == row.default
    else:
        assert row.default == "-"

"""Tests of docs/guarantees.md: the tests, mutants, fuzz targets and settings that it names exist."""

from __future__ import annotations

import re
from typing import Final

import pytest

from coordinator.config.config import keys
from tests.docs.blocks import ROOT
from tests.docs.named_tests import NAMED_TEST, is_there
from tests.simulation.mutants import MUTANTS

PAGE: Final = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED: Final = NAMED_TEST.findall(PAGE)
SETTING: Final = re.compile(r"`([a-z]+(?:\.[a-z]+)+)(?:=([a-z]+))?`")


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 25


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_it_names_exists(file: str, name: str) -> None:
    assert is_there(file, name)


def test_each_mutant_that_it_names_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+){2,})`", PAGE))
    assert named
    assert named <= set(MUTANTS)


def test_each_fuzz_target_that_it_names_exists() -> None:
    named = re.findall(r"fuzz target `([a-z_]+)`", PAGE)
    assert named
    for target in named:
        assert (ROOT / "tests" / "fuzz" / "targets" / f"{target}.py").is_file()


def test_each_setting_that_it_names_exists_and_takes_the_value_that_it_says() -> None:
    named = SETTING.findall(PAGE)
    assert named
    for name, value in named:
        key = keys()[name]
        assert not value or value in (key.choices or ("true", "false"))

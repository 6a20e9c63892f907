"""docs/clients-security.md belongs to the matrix as it is now: a client or cell that is added must have been run."""

from __future__ import annotations

import pytest

from tests.clients.security_matrix import CELLS, FAILED, PAGE, TEXTS
from tests.clients.security_programs import PROGRAMS


def rows_of(scenario: str) -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split(f"## {scenario.capitalize()}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("scenario", TEXTS)
def test_the_page_shows_every_client_and_cell_and_none_that_failed(scenario: str) -> None:
    header, *rows = rows_of(scenario)
    assert header == ["client", *(cell.column for cell in CELLS if cell.scenario == scenario)]
    assert [row[0] for row in rows] == list(PROGRAMS)
    assert not [cell for row in rows for cell in row if FAILED in cell or cell.startswith("-")]


def test_the_page_has_each_scenario() -> None:
    assert {cell.scenario for cell in CELLS} == set(TEXTS)

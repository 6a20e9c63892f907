"""docs/clients-transactions.md belongs to the matrix as it is now: a client that is added must have been run."""

from __future__ import annotations

from tests.clients.transactions_matrix import FAILED, PAGE, SCENARIOS
from tests.clients.transactions_programs import PROGRAMS


def test_the_page_shows_every_client_and_scenario_and_none_that_failed() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    header, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert header == ["client", "version", *SCENARIOS]
    assert [row[0] for row in rows] == list(PROGRAMS)
    assert not [cell for row in rows for cell in row if FAILED in cell or cell == "not run"]

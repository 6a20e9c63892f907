"""docs/clients.md belongs to the matrix as it is now: a client or scenario that is added must have been run."""

from __future__ import annotations

from tests.clients.matrix import MIXED, PAGE
from tests.clients.matrix_consumer_programs import CONSUMER_PROGRAMS
from tests.clients.matrix_programs import PROGRAMS
from tests.clients.matrix_scenarios import SCENARIOS
from tests.clients.matrix_tools import TOOLS


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_shows_every_client_scenario_and_tool() -> None:
    first_cells = [row[0] for row in rows()]
    tools = [title for title, _ in TOOLS.values()]
    assert first_cells == ["client", *PROGRAMS, "client", *CONSUMER_PROGRAMS, "tool", *tools]
    headings = [row for row in rows() if row[0] == "client"]
    assert headings == [["client", "version", *SCENARIOS, MIXED]] * 2


def test_the_page_shows_a_run_in_which_nothing_failed_or_was_left_out() -> None:
    results = [cell for row in rows() if row[0] not in {"client", "tool"} for cell in row[1:]]
    assert not [cell for cell in results if "FAILED" in cell or "not run" in cell]

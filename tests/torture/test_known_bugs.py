"""Known bugs of clients: torture finds them in the faulty release, and is silent about the fixed one."""

from __future__ import annotations

import subprocess
from itertools import islice

import pytest

from coordinator.torture.schedule import FIRST, schedules
from tests.docs.blocks import ROOT
from tests.support.machine_tools import not_run
from tests.torture.bug import Bug
from tests.torture.bugs_page import Row, briefly, page
from tests.torture.known_bugs import BUGS, BUILD, NEWEST, PREPARE, SEED, generated, prove

PATIENCE_S = 40.0  # on a machine that does much else
CHEAP = ("dpkp/kafka-python#2554", "dpkp/kafka-python#3017")


def bring(bug: Bug) -> None:
    try:
        for version in (bug.faulty, bug.fixed):
            PREPARE[bug.client](version, BUILD)
    except subprocess.CalledProcessError:
        not_run(f"connect to a package registry that has {bug.client} {bug.faulty} and {bug.fixed}")


@pytest.mark.integration
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.link in CHEAP], ids=lambda bug: bug.link)
def test_a_known_bug_is_found_in_the_faulty_release_alone(bug: Bug) -> None:
    bring(bug)
    proof = prove(bug, is_quick=True, parallel=1, patience_s=PATIENCE_S)
    assert proof.complaint == ""
    assert proof.fixed is not None
    assert proof.fixed.records > 0


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.link} {bug.kind}")
def test_the_schedule_of_a_known_bug_is_one_of_the_series(bug: Bug) -> None:
    assert 1 <= len(bug.steps) <= 5
    assert bug.client in PREPARE
    assert bug.faulty != bug.fixed
    assert generated(bug) in islice(schedules(SEED, copies=2), 100)


def test_the_page_has_a_row_for_each_bug_and_for_each_fault() -> None:
    rows = [Row(bug, bug.steps, 1, 5.0, 4.0) for bug in BUGS]
    text = page(rows, {"one": ["ok"] * len(FIRST), "other": ["lost"] * len(FIRST)})
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120
    assert all(f"| {bug.faulty} | {bug.fixed or 'not yet'} | {briefly(bug.steps)} |" in text for bug in BUGS)
    assert all(f"| {briefly(steps)} | ok | lost |" in text for steps in FIRST)


def test_the_page_in_the_documentation_is_of_these_bugs_and_faults() -> None:
    text = (ROOT / "docs" / "torture-clients.md").read_text(encoding="utf-8")
    for bug in BUGS:
        assert f"| {bug.client} | {bug.faulty} | {bug.fixed or 'not yet'} | {briefly(bug.steps)} |" in text
    assert all(f"| {client} {version} |" in text for client, version in NEWEST.items())
    faults = [line.split(" | ")[0][2:] for line in text.splitlines()[-len(FIRST) :]]
    assert faults == [briefly(steps) for steps in FIRST]

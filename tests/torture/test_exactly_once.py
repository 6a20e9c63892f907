"""`coordinator torture --exactly-once` against a loop of confluent-kafka that is right, or wrong in a known way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordinator.torture.judge import held_back
from coordinator.torture.schedule import Schedule, Step, write_schedule
from tests.support.transaction_world import TransactionWorld

pytestmark = pytest.mark.integration

APP = Path(__file__).parent / "programs" / "exactly_once_app.py"
KILLED_WHEN_DECIDED = Step("kill_copy_at", copy=1, at="PrepareCommit", ms=300)


def verdict_on(directory: Path, bug: str, *steps: Step) -> Any:
    """Play one schedule and return its verdict."""
    (directory / "schedule.json").write_text(write_schedule(Schedule(steps, 1, 7)))
    options = ["--exactly-once", "--replay", "schedule.json", "--shrink", "0", "--json"]
    command = [sys.executable, "-m", "coordinator", "torture", *options, "--", sys.executable, str(APP)]
    done = subprocess.run([*command, *bug.split()], cwd=directory, capture_output=True, text=True, timeout=200)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["schedules"]
    assert done.returncode == bool(row["verdict"]["failures"])
    return row["verdict"]


def kinds(verdict: Any) -> list[str]:
    return [each["kind"] for each in verdict["failures"]]


@pytest.mark.parametrize(
    ("step", "restarts"),
    [
        (Step("crash_at", copy=1, at="Records", ms=300), {0}),
        (Step("crash_at", copy=1, at="Markers", ms=300), {0}),
        (KILLED_WHEN_DECIDED, {0}),
        (Step("kill_copy_at", copy=1, at="Offsets", ms=300), {0}),
        (Step("fence_at", copy=1, at="Offsets"), {1}),
        (Step("expire_at", copy=1, at="Records"), {0, 1}),  # the producer may raise its epoch and go on
        (Step("pause_copy_at", copy=1, at="Offsets", ms=4500), {0, 1}),
    ],
    ids=lambda each: f"{each.do}-{each.at}" if isinstance(each, Step) else None,
)
def test_a_right_application_processes_each_record_once(tmp_path: Path, step: Step, restarts: set[int]) -> None:
    verdict = verdict_on(tmp_path, "", step)
    assert verdict["failures"] == []
    assert (verdict["processed_twice"], verdict["missed_faults"]) == (0, 0)
    assert verdict["restarts"] in restarts, "a producer that is fenced ends"


def test_offsets_that_are_not_part_of_the_transaction_are_found(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, "commits-outside", KILLED_WHEN_DECIDED)
    assert kinds(verdict) == ["twice"]
    assert "records are in torture-output more than once, the first is torture-input-" in str(verdict["failures"])


def test_an_application_that_reads_uncommitted_records_is_found(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, "reads-uncommitted", Step("rebalance"))
    assert kinds(verdict) == ["uncommitted"]
    assert verdict["failures"][0]["sentence"] == "12 records of an aborted transaction were processed"


def test_a_transaction_that_stays_open_holds_readers_back() -> None:
    world = TransactionWorld()
    producer = world.init("shop-1")
    assert isinstance(producer, tuple)
    assert list(held_back(world.core)) == []
    world.add(producer, transactional_id="shop-1")
    (failure,) = held_back(world.core)
    assert failure.sentence == "the transaction of shop-1 stays Ongoing, and readers of its partitions wait"
    world.end(producer, commit=True, transactional_id="shop-1")
    assert list(held_back(world.core)) == []


def test_a_fault_at_a_stage_that_is_not_reached_is_told(tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, "", Step("crash_at", copy=1, at="PrepareAbort", ms=300))
    assert (verdict["failures"], verdict["missed_faults"]) == ([], 1)

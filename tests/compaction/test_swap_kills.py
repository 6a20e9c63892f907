"""SIGKILL at every named step of a compaction, and again during the recovery, never changes the state in the log.

Real processes, real files. The steps are recorded in an undisturbed run, so none can be forgotten. After the kills one
more run goes to its end; then the directory must be, byte for byte, the one that the undisturbed run left, and a start
must load from it what it loaded before the compaction.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from coordinator.compaction import jobs, planning
from coordinator.compaction.swap_protocol import STEPS
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.swap import SwapStep
from tests.compaction.swap_protocol_world import build, files_of, state_of
from tests.support.profile import DEEP

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SECOND_KILLS = (0, 2, 5)  # steps of the life that follows: in the redo, the sweeping, the next plan
RUNNERS = 2
FS = RealFileSystem()


class Runner:
    """A process of `kill_runner`."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.compaction.kill_runner"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def lives(self, data_dir: Path, *kill_at: int | None, mutant: str | None = None) -> list[dict[str, Any]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"data_dir": str(data_dir), "lives": kill_at, "mutant": mutant}) + "\n")
        self.process.stdin.flush()
        answer: list[dict[str, Any]] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a directory in memory: these tests depend on kills, not on syncs."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def runners() -> Iterator[list[Runner]]:
    started = [Runner() for _ in range(RUNNERS)]
    yield started
    for runner in started:
        runner.close()


class Trial:
    """A directory before its compaction, and its expected state afterwards."""

    def __init__(self, place: Path, runner: Runner) -> None:
        self.place = place
        self.template = place / "template"
        build(FS, self.template)
        self.before = state_of(FS, self.template)
        unkilled = place / "unkilled"
        shutil.copytree(self.template, unkilled)
        (life,) = runner.lives(unkilled, None)
        self.steps: list[str] = life["steps"]
        self.expected = files_of(FS, unkilled)
        assert "compacted 2 partitions" in life["said"][-1]
        assert state_of(FS, unkilled) == self.before
        assert self.expected != files_of(FS, self.template)
        self.seen = set(self.steps)
        self.kills = 0

    def broken(self, runner: Runner, case: tuple[int, ...], mutant: str | None = None) -> str | None:
        """Run and kill at these steps, then run to the end; return the first violation, if any."""
        data_dir = self.place / f"case-{id(runner)}"
        shutil.copytree(self.template, data_dir)
        try:
            for number, kill_at in enumerate(case):
                (life,) = runner.lives(data_dir, kill_at, mutant=mutant)
                if not life["killed"] and (not number or "error" in life):
                    return f"{case}: not killed at {kill_at}: {life}"
                self.kills += life["killed"]
                if state_of_a_start(data_dir) != self.before:
                    return f"{case}: the log says something else after the kill at {kill_at}"
            (life,) = runner.lives(data_dir, None, mutant=mutant)
            if "error" in life:
                return f"{case}: {life['error']}"
            self.seen.update(life["steps"])
            if state_of(FS, data_dir) != self.before:
                return f"{case}: the log says something else in the end"
            if files_of(FS, data_dir) != self.expected:
                return f"{case}: the directory is not as if nothing had happened"
            return None
        finally:
            shutil.rmtree(data_dir)

    def cases(self) -> list[tuple[int, ...]]:
        """Return the kills: every step once, then pairs with the first and last step of each name (deep run: all)."""
        first = {step: number for number, step in reversed(list(enumerate(self.steps)))}
        last = {step: number for number, step in enumerate(self.steps)}
        count = len(self.steps)
        twice = range(count) if DEEP else sorted({*first.values(), *last.values()})
        return [*((number,) for number in range(count)), *((one, two) for one in twice for two in SECOND_KILLS)]


@pytest.fixture(scope="module")
def trial(place: Path, runners: list[Runner]) -> Trial:
    return Trial(place, runners[0])


def test_kills_at_any_step_and_again_during_recovery_do_not_change_the_end_state(
    trial: Trial, runners: list[Runner]
) -> None:
    cases = trial.cases()
    assert len(cases) > 200

    def examine(number: int) -> list[str]:
        found = [trial.broken(runners[number], case) for case in cases[number::RUNNERS]]
        return [one for one in found if one]

    with ThreadPoolExecutor(RUNNERS) as pool:
        broken = [one for share in pool.map(examine, range(RUNNERS)) for one in share]
    assert broken == []
    assert trial.kills > len(cases)
    unseen = set(STEPS) - trial.seen
    assert unseen == {jobs.JobStep.EVIDENCE}, "a step that no life took has not been tested"
    print(f"{len(trial.steps)} steps, {len(cases)} cases, {trial.kills} kills")


def test_a_swap_without_its_commit_point_is_caught(trial: Trial, runners: list[Runner]) -> None:
    during = [
        number for number, step in enumerate(trial.steps) if step in (SwapStep.APPLY_RENAME, SwapStep.APPLY_REMOVE)
    ]
    caught = [number for number in during if trial.broken(runners[0], (number - 2,), "no commit point")]
    assert len(caught) > len(during) // 3
    print(f"caught in {len(caught)} of {len(during)} kills")


def state_of_a_start(data_dir: Path) -> Any:
    """Return the state that a start would load right after the kill, from a copy, because reading may repair files."""
    from coordinator.storage.log import redo

    copy = data_dir.with_name(data_dir.name + "-look")
    shutil.copytree(data_dir, copy)
    try:
        for directory in copy.glob("__consumer_offsets-*"):
            redo.recover(FS, directory)
        return state_of(FS, copy)
    finally:
        shutil.rmtree(copy)


def test_every_step_has_a_name_of_its_own() -> None:
    assert len(set(STEPS)) == len(STEPS)
    assert {*planning.PlanningStep, *SwapStep, *jobs.JobStep} <= set(STEPS)

"""The simulation: what it promises of itself, and a few worlds in which nothing may be violated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.simulation import shared_faults
from coordinator.simulation.faults import TAKE, schedule
from coordinator.simulation.run import DISKS, SHARED, SHARED_TRANSACTIONS, TRANSACTIONS, Simulation, simulate
from coordinator.torture.schedule import STEPS, Schedule, Step
from tests.simulation.mutants import FOUND, MUTANTS, NAMED, ROOT, STEPS_A_SEED, Mutant

SHARED_MUTANTS = {name: mutant for name, mutant in MUTANTS.items() if mutant.store == SHARED}
QUICK_MUTANTS = [  # each is found within a second or two
    "commit-is-answered-early",
    "commit-is-not-applied",
    "replay-takes-the-older-record",
    "generation-does-not-advance",
    "join-deadline-is-forgotten",
    "old-assignment-is-handed-out-again",
    "answers-without-a-lease-check",
    "given-up-partition-is-not-unloaded",
    "load-of-a-former-claim-is-installed",
]


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_promise_is_broken(seed: int) -> None:
    outcome = simulate(seed, 2_000)
    assert not outcome.violation, "\n".join(outcome.lines)
    assert outcome.steps >= 2_000
    assert outcome.acknowledged > 50
    assert outcome.checks > 500


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_promise_is_broken_by_nodes_that_share_a_store(seed: int) -> None:
    outcome = simulate(seed, 2_000, store=SHARED)
    assert not outcome.violation, "\n".join(outcome.lines)
    assert outcome.steps >= 2_000
    assert outcome.acknowledged > 50
    assert outcome.checks > 500


@pytest.mark.parametrize(
    ("store", "seed"),
    [*((TRANSACTIONS, seed) for seed in range(1, 6)), *((SHARED_TRANSACTIONS, seed) for seed in range(1, 4))],
)
def test_no_promise_is_broken_to_transactional_producers(store: str, seed: int) -> None:
    outcome = simulate(seed, 2_000, store=store)
    assert not outcome.violation, "\n".join(outcome.lines)
    assert outcome.steps >= 2_000


@pytest.mark.parametrize("store", [DISKS, SHARED, TRANSACTIONS, SHARED_TRANSACTIONS])
def test_one_seed_gives_one_run_whatever_the_order_of_sets(store: str) -> None:
    runs = f"[simulate(seed, 1500, store={store!r}).digest for seed in (5, 8)]"
    code = f"from coordinator.simulation.run import simulate; print({runs})"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in (1, 2)
    }
    assert len(digests) == 1


def test_another_seed_gives_another_run() -> None:
    assert simulate(5, 500).digest != simulate(6, 500).digest


def test_a_given_schedule_replaces_that_of_the_seed() -> None:
    given = Schedule((Step("kill_node", node=1, ms=200), Step("lose_power", after_ms=2_000, node=1, ms=200)), 3)
    outcome = simulate(3, 1_500, given)
    assert not outcome.violation
    assert outcome.schedule is given
    assert outcome.starts >= 3


def test_each_kind_of_fault_is_generated_and_has_words() -> None:
    generated = {step.do for seed in range(20) for step in schedule(seed, nodes=3, copies=4, count=50).steps}
    generated |= {
        step.do
        for seed in range(20)
        for step in schedule(seed, nodes=3, copies=4, count=50, themes=shared_faults.THEMES).steps
    }
    assert generated == {*TAKE, *shared_faults.TAKE}
    assert generated <= set(STEPS)
    assert all(step.text() for step in schedule(1, nodes=3, copies=4, count=50).steps)


def test_all_shapes_of_worlds_come_up() -> None:
    worlds = [Simulation(seed, steps=1) for seed in range(1, 40)]
    assert {len(world.nodes) for world in worlds} == {1, 2, 3}
    kinds = {member.kind for world in worlds for member in world._members}
    assert len(kinds) >= 9


@pytest.mark.plain("a mutant is a change of the source, which the compiled build lacks")
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_each_mutant_changes_the_source(mutant: Mutant) -> None:
    for change in mutant.changes:
        compile(change.source(), change.path, "exec")
        assert change.source() != (ROOT / change.path).read_text("utf-8")


@pytest.mark.plain("a mutant is a change of the source, which the compiled build lacks")
@pytest.mark.integration
@pytest.mark.parametrize("name", QUICK_MUTANTS)
def test_the_simulation_finds_a_defect(name: str) -> None:
    command = [sys.executable, "-m", "tests.simulation.mutants", "--one", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == FOUND, f"{name} was not found: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("mutant", SHARED_MUTANTS.values(), ids=SHARED_MUTANTS)
def test_the_product_stands_where_a_mutant_of_a_shared_store_is_found(mutant: Mutant) -> None:
    outcome = simulate(mutant.seed, STEPS_A_SEED, kinds=mutant.faults, store=SHARED)
    assert not outcome.violation, "\n".join(outcome.lines)


@pytest.mark.plain("a mutant is a change of the source, which the compiled build lacks")
@pytest.mark.integration
@pytest.mark.parametrize("issue", NAMED)
def test_a_defect_that_kafka_had_shows_in_its_named_seed_and_ours_stands(issue: str) -> None:
    mutant = MUTANTS[NAMED[issue]]
    command = [sys.executable, "-m", "tests.simulation.mutants", "--one", NAMED[issue]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"seed {mutant.seed},"), f"{issue} does not show: choose another seed by `{command}`"
    assert not simulate(mutant.seed, STEPS_A_SEED, kinds=mutant.faults).violation


def test_the_schedule_of_a_simulation_can_be_saved_and_read(tmp_path: Path) -> None:
    from coordinator.torture.schedule import read_schedule, write_schedule

    made = schedule(7, nodes=3, copies=4, count=30)
    assert read_schedule(write_schedule(made)) == made

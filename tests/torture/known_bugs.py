"""Known bugs of client libraries: torture finds each in the faulty release, and is silent about the fixed one.

`python -m tests.torture.known_bugs [--client NAME] [--quick] [--page FILE]`. Exit code 1 if one is not as said.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinator.config.sources import load
from coordinator.torture.play import TorturePlan
from coordinator.torture.run import Listener, PlayedSchedule, run
from coordinator.torture.schedule import FIRST, Schedule, Step, schedules
from coordinator.torture.verdict import FailureKind, ScheduleVerdict
from tests.torture import bugs_go, bugs_node, bugs_python, clients, go_clients, node_clients
from tests.torture.bug import Bug
from tests.torture.bugs_page import Row, page

BUILD: Final = Path(__file__).parent / "build"
SEED: Final = 1
COPIES: Final = 2
PARALLEL: Final = 6
PATIENCE_S: Final = 12.0
SEARCHED: Final = 200  # schedules of the series in which that of a bug is looked for

Prepare = Callable[[str, Path], tuple[str, ...]]


PREPARE: Final[dict[str, Prepare]] = {**clients.PREPARE, **go_clients.PREPARE, **node_clients.PREPARE}
NEWEST: Final[dict[str, str]] = {**clients.NEWEST, **go_clients.NEWEST, **node_clients.NEWEST}
BUGS: Final[tuple[Bug, ...]] = (*bugs_python.BUGS, *bugs_go.BUGS, *bugs_node.BUGS)


@dataclass(slots=True)
class Proof:
    """The outcome for one bug."""

    bug: Bug
    number: int  # of its schedule in the series
    shortest: Schedule
    faulty: ScheduleVerdict
    fixed: ScheduleVerdict | None  # None: no release has a fix
    searched_s: float  # from the first schedule of the series to the shortest one
    complaint: str = ""  # what is not as said; empty: nothing


def plan_for(
    client: str, version: str, arguments: Sequence[str] = (), *, patience_s: float = PATIENCE_S
) -> TorturePlan:
    """Return the plan to torture the program of a client with one of its releases, which is brought first."""
    config = load(flags={"listeners": "127.0.0.1:0", "http.listen": "off"}, profile="test")
    command = (*PREPARE[client](version, BUILD), *arguments)
    return TorturePlan(command, config, Path(), copies=COPIES, startup_s=60.0, patience_s=patience_s)


def play(
    plan: TorturePlan, chosen: Iterable[Schedule], *, parallel: int = PARALLEL, shrinks: int = 0
) -> list[PlayedSchedule]:
    """Play schedules, in the order of their numbers."""
    return run(plan, list(chosen), parallel=parallel, shrinks=shrinks, listener=Listener()).results


def generated(bug: Bug) -> Schedule:
    """Return the first schedule of the series that contains the steps of a bug."""
    for schedule in itertools.islice(schedules(SEED, copies=COPIES), SEARCHED):
        steps = iter(schedule.steps)
        if all(step in steps for step in bug.steps):
            return schedule
    raise LookupError(f"none of the first {SEARCHED} schedules has the steps of {bug.link}")


def prove(bug: Bug, *, is_quick: bool = False, parallel: int = PARALLEL, patience_s: float = PATIENCE_S) -> Proof:
    """Play the series against the faulty release up to the schedule that shows the bug, and have that one shortened.

    The shortest schedule is then played with the fixed release, if there is one. `is_quick`: of the series, only the
    one schedule is played.
    """
    started_s, its_schedule = time.monotonic(), generated(bug)
    plan = plan_for(bug.client, bug.faulty, bug.arguments, patience_s=patience_s)
    if its_schedule.number and not is_quick:
        series = itertools.islice(schedules(SEED, copies=COPIES), its_schedule.number)
        play(plan, series, parallel=parallel)
    (result,) = play(plan, [its_schedule], parallel=parallel, shrinks=1)
    shortest = result.shortest or its_schedule
    faulty = result.shortest_verdict or result.verdict
    searched_s = time.monotonic() - started_s
    fixed = None
    if bug.fixed:
        plan = plan_for(bug.client, bug.fixed, bug.arguments, patience_s=patience_s)
        fixed = play(plan, [shortest], parallel=parallel)[0].verdict
    proof = Proof(bug, its_schedule.number, shortest, faulty, fixed, searched_s)
    if bug.kind not in findings(faulty):
        proof.complaint = f"{bug.faulty} is not {bug.kind.value}, but {faulty.text()}"
    elif shortest.steps != bug.steps:
        proof.complaint = f"the shortest schedule is another one: {in_words(shortest.steps)}"
    elif fixed is not None and not fixed.is_good:
        proof.complaint = f"{bug.fixed} fails, too: {fixed.text()}"
    return proof


def findings(verdict: ScheduleVerdict) -> list[FailureKind]:
    """Return the ways in which a schedule failed."""
    return [each.kind for each in verdict.failures]


def cells(client: str, *, parallel: int = PARALLEL) -> list[str]:
    """Return a word for each fault alone: the outcome for the newest release of a client.

    A schedule that fails is played once more, and "(1 of 2)" behind its finding says that it did not fail again.
    """
    plan = plan_for(client, NEWEST[client])
    chosen = list(itertools.islice(schedules(SEED, copies=COPIES), len(FIRST)))
    words = []
    for schedule, result in zip(chosen, play(plan, chosen, parallel=parallel), strict=True):
        word = "ok" if result.verdict.is_good else result.verdict.failures[0].kind.value
        if word != "ok":
            (again,) = play(plan, [schedule], parallel=1)
            word = word if again.verdict.has_like(result.verdict) else f"{word} (1 of 2)"
        words.append(word.replace("_", " "))
    return words


def line(proof: Proof) -> str:
    """Say the outcome for a bug in one line."""
    bug = proof.bug
    if proof.complaint:
        return f"NOT SHOWN  {bug.client} {bug.faulty} ({bug.link}): {proof.complaint}"
    fixed = f"{bug.fixed} ok in {proof.fixed.took_s:.1f} s" if proof.fixed is not None else "no release has a fix"
    return (
        f"shown      {bug.client} {bug.faulty} {bug.kind.value.upper()} in {proof.faulty.took_s:.1f} s, "
        f"{fixed}; schedule {proof.number}, found in {proof.searched_s:.0f} s: "
        f"{in_words(proof.shortest.steps)}"
    )


def row(proof: Proof) -> Row:
    """Return what the page says of a bug."""
    return Row(
        proof.bug, proof.shortest.steps, proof.number, proof.faulty.took_s, proof.fixed.took_s if proof.fixed else 0.0
    )


def in_words(steps: Sequence[Step]) -> str:
    """Say steps in one line."""
    return "; ".join(f"{each.after_ms} ms later, {each.text()}" if each.after_ms else each.text() for each in steps)


def main(words: Sequence[str] | None = None) -> int:
    """Prove the known bugs, and write the page if one is asked for."""
    parser = argparse.ArgumentParser(description="Have torture find known bugs of client libraries.")
    parser.add_argument("--client", metavar="NAME", choices=sorted(PREPARE), help="only the bugs of this client")
    parser.add_argument("--quick", action="store_true", help="play only the schedule of each bug, not those before it")
    parser.add_argument("--parallel", metavar="N", type=int, default=PARALLEL, help="schedules at a time; default: 6")
    parser.add_argument("--page", metavar="FILE", type=Path, help="write the page of documentation")
    arguments = parser.parse_args(words)
    proofs = []
    for bug in BUGS:
        if arguments.client in (None, bug.client):
            proofs.append(prove(bug, is_quick=arguments.quick, parallel=arguments.parallel))
            print(line(proofs[-1]), flush=True)
    if arguments.page is not None:
        shown = [proof for proof in proofs if not proof.complaint]
        chosen = [client for client in NEWEST if arguments.client in (None, client)]
        columns = {f"{client} {NEWEST[client]}": cells(client, parallel=arguments.parallel) for client in chosen}
        arguments.page.write_text(page([row(proof) for proof in shown], columns), encoding="utf-8")
    return int(any(proof.complaint for proof in proofs))


if __name__ == "__main__":
    sys.exit(main())

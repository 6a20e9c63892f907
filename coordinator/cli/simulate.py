"""`coordinator simulate`: whole nodes and clients in virtual time, with faults of disk, network, clock and power.

Each seed is a world of its own, which the same seed makes again, event by event. A violated promise is told with the
shortest schedule of faults that still shows it, and with the last events before it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator.cli.errors import CliError
from coordinator.cli.screen import need_extra
from coordinator.simulation import faults, shared_faults
from coordinator.simulation.run import DISKS, SHARED, SHARED_TRANSACTIONS, TRANSACTIONS, simulate
from coordinator.torture.schedule import Schedule, read_schedule, write_schedule
from coordinator.torture.shrink import shrink

if TYPE_CHECKING:
    from coordinator.simulation.run import Outcome

DESCRIPTION: Final = "Run nodes and clients in virtual time, make things go wrong, and check every promise."

EPILOG: Final = """\
examples:
  coordinator simulate                              a hundred seeds of 5,000 steps
  coordinator simulate --seed 7341 --steps 20000    one world; the same seed gives the same run
  coordinator simulate --store shared               nodes that share a store, in place of their disks
  coordinator simulate --replay simulation-7.json   the faults of a saved schedule, in the world of its seed

exit code: 0 if no promise was broken, 1 if one was"""

BROKEN: Final = 1
LINES_SHOWN: Final = 30
TOLD_EVERY_S: Final = 5.0
_FACTS: Final = re.compile(r"[0-9a-f-]{36}|\d+")  # member ids and numbers differ between two runs that fail alike


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", metavar="N|A-B", type=_seeds, default=range(1, 101), help="the seeds; default: 1-100")
    add("--steps", metavar="N", type=int, default=5000, help="steps of each, at least; default: 5000")
    add(
        "--store",
        choices=(DISKS, SHARED, TRANSACTIONS, SHARED_TRANSACTIONS),
        default=DISKS,
        help="where nodes keep the logs of the coordinator; transactions: disks, with transactional producers",
    )
    add("--parallel", metavar="N", type=int, default=os.cpu_count() or 1, help="processes; default: the processors")
    add("--replay", metavar="FILE", type=Path, help="take the faults of this file, in the world of its seed")
    add("--save", metavar="DIR", type=Path, default=Path(), help="where schedules that break a promise are saved")
    add("--json", action="store_true", help="print the outcomes as JSON")


def run(arguments: argparse.Namespace) -> int:
    need_extra()
    if arguments.replay is not None:
        schedule = _replayed(arguments.replay, arguments.store)
        outcomes = [simulate(schedule.seed, arguments.steps, schedule, store=arguments.store)]
        _tell(outcomes, 0.0, as_json=arguments.json)
        return BROKEN if outcomes[0].violation else 0
    started_s = told_s = time.monotonic()
    outcomes = []
    with ProcessPoolExecutor(max(arguments.parallel, 1), mp_context=get_context("spawn")) as pool:
        running = [pool.submit(simulate, seed, arguments.steps, store=arguments.store) for seed in arguments.seed]
        for future in as_completed(running):
            outcomes.append(future.result())
            now_s = time.monotonic()
            if now_s - told_s > TOLD_EVERY_S and not arguments.json:
                told_s = now_s
                print(f"{len(outcomes)} of {len(running)} seeds, {sum(each.steps for each in outcomes):,} steps")
        outcomes.sort(key=lambda each: each.seed)
        broken = [each for each in outcomes if each.violation]
        shortest = [_shortest(each, arguments, pool) for each in broken[:1]]
    for outcome in shortest:
        path = arguments.save / f"simulation-{outcome.seed}.json"
        arguments.save.mkdir(parents=True, exist_ok=True)
        path.write_text(write_schedule(outcome.schedule), encoding="utf-8")
    _tell(outcomes, time.monotonic() - started_s, as_json=arguments.json, shortest=shortest)
    return BROKEN if shortest else 0


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a seed nor a range of seeds, such as 7 or 1-100")
    return range(int(first), int(last or first) + 1)


def _replayed(path: Path, store: str) -> Schedule:
    known = shared_faults.TAKE if store in (SHARED, SHARED_TRANSACTIONS) else faults.TAKE
    try:
        schedule = read_schedule(path.read_text(encoding="utf-8"))
        if strange := [step.do for step in schedule.steps if step.do not in known]:
            if strange[0] in {*faults.TAKE, *shared_faults.TAKE}:
                raise CliError(f"--replay {path}: {strange[0]} is no step with --store {store}; give the other --store")
            raise CliError(f"--replay {path}: {strange[0]} is a step of torture; use `coordinator torture --replay`")
        return schedule
    except OSError as error:
        raise CliError(f"--replay {path} cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError as error:
        raise CliError(f"--replay {path} is no schedule: {error}") from None


def _shortest(outcome: Outcome, arguments: argparse.Namespace, pool: ProcessPoolExecutor) -> Outcome:
    kind = _FACTS.sub("#", outcome.violation)

    def attempt(some: Sequence[Schedule]) -> tuple[Schedule, Outcome] | None:
        playing = [pool.submit(simulate, outcome.seed, arguments.steps, each, store=arguments.store) for each in some]
        found = [future.result() for future in playing]
        return next(((each.schedule, each) for each in found if _FACTS.sub("#", each.violation) == kind), None)

    def tell(steps: int) -> None:
        if not arguments.json:
            print(f"seed {outcome.seed} breaks a promise; {steps} faults are left")

    return shrink(outcome.schedule, outcome, attempt, at_once=max(arguments.parallel, 1), tell=tell)[1]


def _tell(outcomes: Sequence[Outcome], took_s: float, *, as_json: bool, shortest: Sequence[Outcome] = ()) -> None:
    if as_json:
        facts = [
            {
                "seed": each.seed,
                "steps": each.steps,
                "virtual_s": round(each.virtual_s, 3),
                "starts": each.starts,
                "acknowledged": each.acknowledged,
                "checks": each.checks,
                "digest": each.digest,
                "violation": each.violation or None,
            }
            for each in outcomes
        ]
        print(json.dumps(facts, indent=2))
        return
    for each in shortest or [each for each in outcomes if each.violation]:
        print(f"seed {each.seed}: {each.violation}")
        print(f"faults ({len(each.schedule.steps)}):\n{each.schedule.text()}")
        print("the last events:\n" + "\n".join(each.lines[-LINES_SHOWN:]))
    broken = sum(bool(each.violation) for each in outcomes)
    print(
        f"{len(outcomes)} seeds, {sum(each.steps for each in outcomes):,} steps, "
        f"{sum(each.virtual_s for each in outcomes) / 3600:.1f} hours of virtual time, "
        f"{sum(each.starts for each in outcomes):,} starts of nodes, "
        f"{sum(each.acknowledged for each in outcomes):,} acknowledged commits and batches; "
        f"{broken} with a broken promise" + (f" ({took_s:.0f} s)" if took_s else "")
    )

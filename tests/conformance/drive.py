"""`make conformance SEED=… STEPS=…`: generated scripts against a real Kafka and against us, at the same time.

Runs scripts of 15 to 50 steps until STEPS steps are done, several at once, each with groups of its own. A difference
counts when it shows again in a second run of the same script; it is then made as short as it gets and printed. The
last line is `steps: N  differences: D`; the exit code is 1 when D > 0, and when there is no Kafka to compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.conformance import measured
from tests.conformance.kafka import KafkaMissingError, release
from tests.conformance.lockstep import Difference, Outcome
from tests.conformance.script import Script, words
from tests.conformance.servers import Pair, pair, secured_pair
from tests.conformance.shrink import shrink, signature

STEPS_OF_A_SCRIPT: Final = (15, 25, 25, 50)  # one of them, by the seed
AT_ONCE: Final = 6


@dataclass(slots=True)
class Totals:
    """The sums over all scripts of a run."""

    steps: int = 0
    scripts: int = 0
    inconclusive: int = 0
    free_choices: int = 0
    unstable: int = 0
    known: Counter[str] = field(default_factory=Counter)
    apis: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[str, Script, Difference]] = field(default_factory=list)


async def drive(servers: Pair, seed: str, steps: int, *, shorten: bool = True, at_once: int = AT_ONCE) -> Totals:
    """Run scripts until `steps` steps are done."""
    totals = Totals()
    numbers = iter(range(10**9))
    seen: set[tuple[Any, ...]] = set()

    async def work() -> None:
        while totals.steps < steps:
            name = f"{seed}/{next(numbers)}"
            outcome, script = await _one(servers, name)
            totals.scripts += 1
            totals.steps += outcome.steps
            totals.known += outcome.known
            totals.inconclusive += outcome.inconclusive
            totals.free_choices += outcome.free_choice
            totals.apis.update(f"{each['api']} v{each['v']}" for each in script if each["op"] == "send")
            if outcome.difference is None:
                continue
            again = await servers.replay(script)
            if again.difference is None:
                totals.unstable += 1
                print(f"seed {name}: seen once, not again: {outcome.difference}", flush=True)
                continue
            short, difference = script, again.difference
            if signature(difference) not in seen and shorten:
                seen.add(signature(difference))
                short, difference = await shrink(script, difference, servers.replay)
            totals.differences.append((name, short, difference))
            _print(name, short, difference)

    await asyncio.gather(*(work() for _ in range(at_once)))
    return totals


async def _one(servers: Pair, name: str) -> tuple[Outcome, Script]:
    for _ in range(3):
        run = servers.lockstep()
        length = random.Random(name).choice(STEPS_OF_A_SCRIPT)
        outcome = await run.run(servers.generator(name, length).next_step)
        if not outcome.inconclusive:
            break
    return outcome, run.script


def _print(name: str, script: Script, difference: Difference) -> None:
    print(f"\nseed {name}: {difference}")
    for number, step in enumerate(script):
        print(f"  {number:2} {words(step)}")
    print(f"  script: {json.dumps(script)}", flush=True)


def summary(totals: Totals) -> str:
    lines = [f"{totals.scripts} scripts, {len(totals.apis)} APIs and versions"]
    if totals.known:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(totals.known.items()))
        lines.append(f"listed in docs/differences.md: {listed}")
    lines.append(
        f"ended where Kafka chooses freely: {totals.free_choices}; too slow a machine: {totals.inconclusive}; "
        f"seen once, not again: {totals.unstable}"
    )
    lines.append(f"{totals.steps} steps, {len(totals.differences)} differences")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default=os.environ.get("SEED") or "1", help="one seed, or a range like 1-20")
    parser.add_argument("--steps", type=int, default=int(os.environ.get("STEPS") or 500), help="steps per seed")
    parser.add_argument("--script", type=Path, help="replay this script (JSON) instead")
    parser.add_argument("--acl", action="store_true", help="with users and access rules, one script at a time")
    parser.add_argument("--consumer", action="store_true", help="scripts of KIP-848 groups alone")
    parser.add_argument("--classic", action="store_true", help="scripts of groups of the classic protocol alone")
    parser.add_argument("--mixed", action="store_true", help="members of both protocols in one group, too")
    parser.add_argument("--short-sessions", action="store_true", help="of KIP-848 groups: members fall silent")
    parser.add_argument("--coverage", action="store_true", help="of coordinator/core/group by the scripts")
    parser.add_argument("--no-shrink", action="store_true")
    arguments = parser.parse_args()
    try:
        version = release()
    except KafkaMissingError as error:
        print(f"conformance needs a real Kafka and does not pass without one: {error}")
        return 1
    first, _, last = arguments.seed.partition("-")
    seeds = [str(each) for each in range(int(first), int(last) + 1)] if last else [first]
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        environment = measured.environment(folder / "coverage") if arguments.coverage else None
        with _servers(folder, environment, arguments) as servers:
            print(f"Apache Kafka {version} at {servers.kafka_port}, ours at {servers.our_port}", flush=True)
            if arguments.script is not None:
                outcome = asyncio.run(servers.replay(json.loads(arguments.script.read_text())))
                print(outcome.difference or "no difference", dict(outcome.known) or "")
                return int(outcome.difference is not None)
            closing, failed = _run_seeds(servers, seeds, arguments)
        if arguments.coverage:
            print(measured.report(folder / "coverage"))
    print(closing, flush=True)
    return int(failed > 0)


@contextmanager
def _servers(folder: Path, environment: Mapping[str, str] | None, arguments: argparse.Namespace) -> Iterator[Pair]:
    """Start the servers for the kind of scripts that is asked for."""
    if arguments.acl:
        with secured_pair(folder, environment=environment) as secured:
            yield secured
        return
    is_short = arguments.short_sessions
    with pair(folder, environment=environment, has_short_sessions=is_short) as started:
        only = arguments.consumer or arguments.mixed or is_short
        share = 1.0 if only else 0.0 if arguments.classic else started.share
        yield replace(started, share=share, mixed=arguments.mixed)


def _run_seeds(servers: Pair, seeds: list[str], arguments: argparse.Namespace) -> tuple[str, int]:
    """The last line, and how many differences there were."""
    steps = differences = 0
    for seed in seeds:
        started = time.monotonic()
        at_once = 1 if arguments.acl else AT_ONCE
        totals = asyncio.run(drive(servers, seed, arguments.steps, shorten=not arguments.no_shrink, at_once=at_once))
        print(f"--- seed {seed}, {time.monotonic() - started:.0f} s\n{summary(totals)}", flush=True)
        steps += totals.steps
        differences += len(totals.differences)
    return f"steps: {steps}  differences: {differences}", differences


if __name__ == "__main__":
    sys.exit(main())

"""The recorded corpus: scripts, and what a real Kafka answered to each of their steps, as data.

`make corpus` records it, with `ARGS=--consumer` that of KIP-848 groups, with `ARGS=--mixed` that of groups with members
of both protocols: scripts on which Kafka and we agreed at every
step, so that a test can hold us to Kafka without a JVM. A line of a corpus file is one script: its steps, and after
each of them the answers that had come by then and the groups that had changed. A replay waits for exactly that after
each step; what comes too early, too late or differently is a failure that names the script and the step.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.conformance.consumer_generator import ConsumerGenerator
from tests.conformance.consumer_side import ConsumerSide
from tests.conformance.generator import Generator
from tests.conformance.kafka import KafkaMissingError, release
from tests.conformance.lockstep import (
    AGREE_S,
    INITIAL_DELAY_MS,
    MARGIN_S,
    QUIET_S,
    SHORT_MS,
    InconclusiveError,
    InitialDelays,
)
from tests.conformance.mixed_generator import MixedGenerator
from tests.conformance.regex_clock import RegexClock, may_resolve
from tests.conformance.script import CAN_PARK, Script, Step, groups_of, words
from tests.conformance.servers import pair
from tests.conformance.shrink import paths

FOLDER: Final = Path(__file__).parent / "corpus"
RECORDED: Final = FOLDER / "scripts.jsonl"
RECORDED_CONSUMER: Final = FOLDER / "consumer_scripts.jsonl"
RECORDED_MIXED: Final = FOLDER / "mixed_scripts.jsonl"
AT_ONCE: Final = 6
SCRIPTS: Final = 360
CONSUMER_SCRIPTS: Final = 150
MIXED_SCRIPTS: Final = 100
SHORT_AMONG: Final = 160  # scripts that wait for timers are recorded among so many first ones only


_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Recording:
    """One script with Kafka's answers."""

    name: str
    script: Script
    seen: list[dict[str, Any]]


def recordings(file: Path = RECORDED) -> list[Recording]:
    with file.open(encoding="utf-8") as lines:
        next(lines)  # what recorded it
        return [Recording(**json.loads(line)) for line in lines]


class Replay:
    """One recording against one server."""

    def __init__(self, port: int, recording: Recording) -> None:
        self._side = ConsumerSide("ours", port, f"r{os.getpid()}.{next(_runs)}.")
        self._recording = recording
        self._answers: dict[int, Any] = {}
        self._groups: dict[str, Any] = {}
        self._armed_at: float | None = None
        self._short = False
        self._delays = InitialDelays()
        self._compared: set[int] = set()
        self._regexes = RegexClock()

    async def run(self) -> str:
        """Run a recorded script and return the first difference, or None."""
        try:
            for index, step in enumerate(self._recording.script):
                problem = await self._step(index, step)
                if problem:
                    return f"script {self._recording.name}, step {index} ({words(step)}): {problem}"
        finally:
            await self._side.close()
        return ""

    async def _step(self, index: int, step: Step) -> str:
        for group in groups_of([step]):
            self._groups.setdefault(group, None)
        self._watch_time(step)
        if step.get("api") == "ListGroups":
            await self._all_listed()
        problem = ""
        if step["op"] == "wait":
            await self._wait()
        elif step["op"] == "topics":
            problem = await self._side.change_topics(step, list(self._groups))
        elif step["op"] == "converge":
            problem = await self._side.settle_members(step["g"])
        elif step["op"] != "settle":
            await self._side.execute(index, step)
        seen = self._recording.seen[index]
        self._answers.update({int(each): answer for each, answer in seen["answers"].items()})
        now = asyncio.get_running_loop().time()
        if self._delays.longest_s(step, self._groups, seen["groups"], now) > 0.8 * INITIAL_DELAY_MS / 1000:
            raise InconclusiveError
        self._groups.update(seen["groups"])
        await self._converge(index, step)
        if may_resolve(step, self._side):
            problem = problem or await self._side.await_regexes()
            await self._converge(index, step)
        return f"it does not get to know {problem}" if problem else self._problem()

    def _watch_time(self, step: Step) -> None:
        """Keep the recorded pace: no step may come near the deadline of a short timer."""
        self._regexes.watch(step)
        now = asyncio.get_running_loop().time()
        if self._armed_at is not None and now - self._armed_at > 0.75 * SHORT_MS / 1000:
            raise InconclusiveError
        if SHORT_MS in (step.get("body", {}).get(f"{name}_timeout_ms") for name in ("session", "rebalance")):
            self._short = True
        if step["op"] == "wait":
            self._armed_at = None
        elif self._short and self._armed_at is None:
            self._armed_at = now

    async def _all_listed(self) -> None:
        known = [each for each in self._groups.values() if each is not None]
        wanted = sum(1 for each in known if each["group_state"] != "Dead" or "consumer" in each)
        for _ in range(400):
            if len(await self._side.listed()) == wanted:
                return
            await asyncio.sleep(0.01)

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(8):
            await self._side.look(list(self._groups))
            before = (self._side.view, set(self._side.answers))
            started = loop.time()
            while loop.time() - started < SHORT_MS / 1000 + MARGIN_S:
                await asyncio.sleep(0.1)
                await self._side.look(list(self._groups))
                if (self._side.view, set(self._side.answers)) != before:
                    break
            else:
                return

    async def _converge(self, index: int, step: Step) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        may_park = step.get("api") in CAN_PARK and index not in self._answers
        while loop.time() - started < AGREE_S + 6:
            await self._side.look(list(self._groups))
            agrees = set(self._side.answers) == set(self._answers)
            agrees = agrees and self._side.outlines(list(self._groups)) == self._groups
            if agrees and (not may_park or loop.time() - started > QUIET_S):
                return
            await asyncio.sleep(0.005)

    def _problem(self) -> str:
        ours, kafka = self._side.answers, self._answers
        script = self._recording.script
        for each in sorted(set(ours) ^ set(kafka)):
            answered = "we answered, Kafka did not" if each in ours else "Kafka answered, we did not"
            return f"request {each} ({words(script[each])}): {answered}"
        for each in sorted(set(kafka) - self._compared):
            self._compared.add(each)
            expected = kafka[each]
            answer = self._side.comparable(each, script[each])
            if answer != expected:
                where = f"request {each} ({words(script[each])}): {paths(expected, answer)}"
                return f"{where}\nKafka {expected}\nours  {answer}"
        outlines = self._side.outlines(list(self._groups))
        return "" if outlines == self._groups else f"groups: Kafka {self._groups}, ours {outlines}"


async def replay_all(port: int, recorded: list[Recording]) -> list[str]:
    """Every problem. What was too slow for its timers, or differs, runs again with fewer at once.

    A difference is believed when the script shows it alone: on a busy machine a timer of one server can end before a
    request is sent that Kafka had in time when the script was recorded.
    """
    problems: list[str] = []
    left = recorded
    for at_once in (20, 10, 4, 2, 1):
        queue, left = list(reversed(left)), []

        async def work(queue: list[Recording], again: list[Recording], alone: bool = at_once == 1) -> None:
            while queue:
                recording = queue.pop()
                try:
                    problem = await Replay(port, recording).run()
                except InconclusiveError:
                    again.append(recording)
                    continue
                if problem and alone:
                    problems.append(problem)
                elif problem:
                    again.append(recording)

        await asyncio.gather(*(work(queue, left) for _ in range(at_once)))
    return problems + [f"script {each.name}: this machine is too slow for its timers" for each in left]


async def record(count: int, steps: int, make: type[Generator] = Generator) -> list[dict[str, Any]]:
    """Scripts on which both agree at every step, nothing left to choice; by name, so that a diff stays small."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="corpus-") as name, pair(Path(name)) as servers:
        names = (f"corpus/{number}" for number in itertools.count())

        async def work() -> None:
            while len(found) < count:
                seed = next(names)
                run = servers.lockstep()
                length = random.Random(seed).choice((steps // 2, steps, steps * 2))
                generator = make(seed, length, servers.versions)
                if generator.kind == "short" and int(seed.partition("/")[2]) > SHORT_AMONG:
                    continue  # they take seconds in every replay: some will do
                outcome = await run.run(generator.next_step)
                clean = not (outcome.difference or outcome.inconclusive or outcome.known)
                clean = clean and outcome.longest_delay_s < 0.4 * INITIAL_DELAY_MS / 1000  # a replay has time to spare
                script = run.script[: len(outcome.seen)]
                clean = clean and {"op": "pass"} not in script
                if clean and len(script) >= 6:
                    found[seed] = {"name": seed, "script": script, "seen": outcome.seen}

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return sorted(found.values(), key=lambda each: int(each["name"].partition("/")[2]))[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, help=f"by default {SCRIPTS}, {CONSUMER_SCRIPTS} or {MIXED_SCRIPTS}")
    parser.add_argument("--steps", type=int, default=14)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--consumer", action="store_true", help="scripts of KIP-848 groups")
    kind.add_argument("--mixed", action="store_true", help="scripts of groups with members of both protocols")
    arguments = parser.parse_args()
    make: type[Generator]
    make, file, count = Generator, RECORDED, SCRIPTS
    if arguments.consumer:
        make, file, count = ConsumerGenerator, RECORDED_CONSUMER, CONSUMER_SCRIPTS
    elif arguments.mixed:
        make, file, count = MixedGenerator, RECORDED_MIXED, MIXED_SCRIPTS
    try:
        version = release()
    except KafkaMissingError as error:
        print(error, file=sys.stderr)
        return 1
    recorded = asyncio.run(record(arguments.scripts or count, arguments.steps, make))
    FOLDER.mkdir(exist_ok=True)
    with file.open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({"recorded with": f"Apache Kafka {version}", "scripts": len(recorded)}) + "\n")
        for each in recorded:
            lines.write(json.dumps(each, separators=(",", ":"), ensure_ascii=True) + "\n")
    steps = sum(len(each["script"]) for each in recorded)
    print(f"{len(recorded)} scripts, {steps} steps, {file.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

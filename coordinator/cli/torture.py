"""`coordinator torture -- COMMAND`: play generated schedules of faults against an application, in any language.

Each schedule gets a server of its own, with numbered records in a topic, and copies of the application that are told by
variables where to consume. It ends with a verdict; a failing schedule is shortened, told in words, and saved.
"""

from __future__ import annotations

import argparse
import itertools
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Final

import msgspec

from coordinator.cli.errors import CliError
from coordinator.config.sources import load
from coordinator.torture.copies import VARIABLES
from coordinator.torture.play import COPY_STEPS, AppError, TorturePlan
from coordinator.torture.run import Listener, PlayedSchedule, TortureReport
from coordinator.torture.run import run as run_schedules
from coordinator.torture.schedule import Schedule, read_schedule, schedules, write_schedule
from coordinator.torture.take import SERVER_STEPS

DESCRIPTION: Final = "Make things go wrong on purpose for an application, and say what became of the records."

EPILOG: Final = f"""\
The command is started in several copies, and told by variables, or by {{name}} in its words:
  {", ".join(VARIABLES.values())}
It consumes KAFKA_TOPIC as a member of KAFKA_GROUP_ID from the beginning, and commits what it has processed. With
--output it also writes the value of each record to KAFKA_OUTPUT_TOPIC before it commits: then it is counted what was
processed twice, and seen what was committed without being processed.

With --exactly-once it writes the value of each record to KAFKA_OUTPUT_TOPIC and sends the offsets in a transaction, as
KAFKA_TRANSACTIONAL_ID or an id that begins with it, with KAFKA_TRANSACTION_TIMEOUT_MS. Faults at each stage of a
transaction come first. A copy that ends is started again, and each record has to be in the output once.

examples:
  coordinator torture -- ./my-app
  coordinator torture --schedules 100 --seed 7 --junit torture.xml -- ./my-app --brokers {{bootstrap_servers}}
  coordinator torture --replay torture-17.json -- ./my-app

exit code: 0 if no schedule failed, 1 if one did, 2 if the application does not start or consume"""

FAILED: Final = 1
MOST_COPIES: Final = 9  # so that the client id of none begins with that of another one
LONGEST_LINE: Final = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--schedules", metavar="N", type=positive, default=50, help="how many schedules; default: 50")
    add("--seed", metavar="N", type=int, default=1, help="from which they are generated; default: 1")
    add("--replay", metavar="FILE", type=Path, help="play the schedule of this file, and no other")
    add("--copies", metavar="N", type=copies, default=2, help=f"of the application, at most {MOST_COPIES}; default: 2")
    add("--partitions", metavar="N", type=positive, default=4, help="of the topic; default: 4")
    add(
        "--parallel",
        metavar="N",
        type=positive,
        default=0,
        help="schedules at a time; default: 3 for each processor",
    )
    add("--patience", metavar="S", type=float, default=12.0, help="seconds without a commit after which it is stuck")
    add("--startup", metavar="S", type=float, default=30.0, help="seconds that it may take to begin; default: 30")
    add("--shrink", metavar="N", type=int, default=3, help="how many failures to shorten; default: 3")
    add("--save", metavar="DIR", type=Path, default=Path(), help="where failing schedules are saved; default: here")
    add("--output", action="store_true", help="it writes the value of each record that it has processed to the output")
    add(
        "--exactly-once",
        action="store_true",
        help="it consumes, transforms and produces in transactions: each record has to be in the output once",
    )
    add("--json", action="store_true", help="print the report as JSON")
    add("--junit", metavar="FILE", type=Path, help="write the report as JUnit XML, too")
    add("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the application, behind --")


def run(arguments: argparse.Namespace) -> int:
    command = tuple(arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command)
    if not command:
        raise CliError("give the application behind --, for example: coordinator torture -- ./my-app")
    plan = TorturePlan(
        command,
        load(flags={"listeners": "127.0.0.1:0", "http.listen": "off"}, profile="test"),
        Path(),
        copies=arguments.copies,
        partitions=arguments.partitions,
        patience_s=arguments.patience,
        startup_s=arguments.startup,
        has_output=arguments.output or arguments.exactly_once,
        exactly_once=arguments.exactly_once,
    )
    parallel = arguments.parallel or 3 * (os.cpu_count() or 1)
    chosen = (
        [_replayed(arguments.replay)]
        if arguments.replay
        else list(
            itertools.islice(
                schedules(arguments.seed, copies=arguments.copies, exactly_once=arguments.exactly_once),
                arguments.schedules,
            )
        )
    )
    listener = Listener() if arguments.json else Lines(arguments)
    try:
        report = run_schedules(plan, chosen, parallel=parallel, shrinks=arguments.shrink, listener=listener)
    except AppError as error:
        raise CliError(str(error), 2) from None
    for result in report.failures:
        if not arguments.replay:
            _save(arguments.save, result)
    if arguments.json:
        print(as_json(report))
    else:
        print(summary(report))
    if arguments.junit is not None:
        arguments.junit.write_text(as_junit(report, " ".join(command)), encoding="utf-8")
    return FAILED if report.failures else 0


def positive(text: str) -> int:
    if not text.isdecimal() or (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 upwards")
    return number


def copies(text: str) -> int:
    number = positive(text)
    if number > MOST_COPIES:
        raise argparse.ArgumentTypeError(f"{MOST_COPIES} copies at most, not {number}")
    return number


def _replayed(path: Path) -> Schedule:
    try:
        schedule = read_schedule(path.read_text(encoding="utf-8"))
        if strange := [step.do for step in schedule.steps if step.do not in SERVER_STEPS | COPY_STEPS]:
            raise CliError(
                f"--replay {path}: {strange[0]} is a step of a simulation; use `coordinator simulate --replay`"
            )
        return schedule
    except OSError as error:
        raise CliError(f"--replay {path} cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError as error:
        raise CliError(f"--replay {path} is no schedule: {error}") from None


def _save(directory: Path, result: PlayedSchedule) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"torture-{result.schedule.number}.json"
    path.write_text(write_schedule(result.shortest or result.schedule), encoding="utf-8")
    return path


class Lines(Listener):
    """Tells a run in lines as it goes on."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments

    def started(self, count: int) -> None:
        print(f"{count} schedules, {self._arguments.copies} copies, seed {self._arguments.seed}", flush=True)

    def played(self, result: PlayedSchedule, done: int, count: int) -> None:
        verdict = result.verdict
        word = "ok" if verdict.is_good else verdict.failures[0].kind.value.upper()
        steps = "; ".join(step.text() for step in result.schedule.steps)
        line = f"{done:4}/{count}  {word:10} {verdict.took_s:5.1f} s  {result.schedule.number}: {steps}"
        print(line[:LONGEST_LINE], flush=True)

    def shrinking(self, result: PlayedSchedule, steps: int) -> None:
        print(f"shortening {result.schedule.number}, which has {steps} steps", flush=True)

    def shrunk(self, result: PlayedSchedule) -> None:
        schedule, verdict = result.shortest or result.schedule, result.shortest_verdict or result.verdict
        print(f"\n{schedule.text()}\n=> {verdict.text()}")
        for client, lines in verdict.last_lines.items():
            print(f"last lines of {client}:\n{lines}")
        path = _save(self._arguments.save, result)
        command = " ".join(self._arguments.command).removeprefix("-- ")
        kind = "--exactly-once " if self._arguments.exactly_once else "--output " if self._arguments.output else ""
        print(f"saved as {path}; again: coordinator torture {kind}--replay {path} -- {command}\n", flush=True)


def summary(report: TortureReport) -> str:
    """Say the outcome of a run in one line."""
    count, failures = len(report.results), len(report.failures)
    return f"{failures or 'no'} schedule{'s' * (failures > 1)} of {count} failed, in {report.took_s:.0f} s"


def as_json(report: TortureReport) -> str:
    """Return a report for programs."""
    rows = [
        {
            "number": each.schedule.number,
            "steps": [step.text() for step in each.schedule.steps],
            "verdict": each.verdict,
            "shortest": None if each.shortest is None else [step.text() for step in each.shortest.steps],
        }
        for each in report.results
    ]
    return msgspec.json.encode({"schedules": rows, "failures": len(report.failures), "took_s": report.took_s}).decode()


def as_junit(report: TortureReport, name: str) -> str:
    """Return a report as JUnit XML: a test case for each schedule."""
    suite = ElementTree.Element(
        "testsuite",
        name=f"coordinator torture {name}",
        tests=str(len(report.results)),
        failures=str(len(report.failures)),
        time=f"{report.took_s:.3f}",
    )
    for each in report.results:
        steps = "; ".join(step.text() for step in each.schedule.steps)
        case = ElementTree.SubElement(
            suite, "testcase", name=f"{each.schedule.number}: {steps}", time=f"{each.verdict.took_s:.3f}"
        )
        for failure in each.verdict.failures:
            found = ElementTree.SubElement(case, "failure", type=failure.kind.value, message=failure.sentence)
            found.text = (each.shortest or each.schedule).text()
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)

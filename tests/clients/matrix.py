"""Clients of every language against the daemon: `make clients`, or `python -m tests.clients.matrix [--only NAME ...]`.

A script, not a pytest test: it builds programs in four languages and takes minutes. Every client goes through the same
scenarios (matrix_scenarios.py), all of them together form one mixed group, and Kafka's own command-line tools get steps
of their own (matrix_tools.py). A run of everything writes docs/clients.md. The exit code is 1 if any cell failed or a
client could not run at all: where a language is missing, this never passes silently.

With --kafka the clients run against a real Apache Kafka instead: what fails there too is not ours.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.matrix_members import Program
from tests.clients.matrix_programs import PROGRAMS, Missing
from tests.clients.matrix_scenarios import SCENARIOS, Stage, mixed
from tests.clients.matrix_tools import TOOLS, run_tools
from tests.conformance.kafka import Kafka
from tests.support.daemon import REPOSITORY, Daemon

PAGE = REPOSITORY / "docs" / "clients.md"
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
MIXED = "mixed group"
Server = Callable[[Path], Daemon | Kafka]
TOOLS_ROW = "kafka-tools"


@dataclass(slots=True)
class Results:
    """What came out. A cell is "ok", "-" with a reason (not applicable), or "FAILED" with a reason."""

    versions: dict[str, str] = field(default_factory=dict)
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)  # step of a tool -> "" or what went wrong

    def put(self, row: str, column: str, cell: str, reason: str = "") -> None:
        self.cells[row, column] = cell
        if reason:
            self.reasons[row, column] = " ".join(reason.split())

    def failed(self) -> bool:
        return any(cell == "FAILED" for cell in self.cells.values()) or any(self.tools.values())


def our_daemon(directory: Path) -> Daemon:
    return Daemon(directory, overrides=[f"{key}={value}" for key, value in SETTINGS.items()])


def real_kafka(directory: Path) -> Kafka:
    return Kafka(directory, settings=SETTINGS)


def run_program(program: Program, columns: list[str], directory: Path, server: Server, results: Results) -> None:
    """All scenarios of one client on a server of its own."""
    with server(directory / program.name) as daemon, (directory / f"{program.name}.log").open("w") as log:
        for column in columns:
            if column in program.without:
                results.put(program.name, column, "-", program.without[column])
                continue
            log.write(f"=== {column}\n")
            started = time.monotonic()
            stage = Stage(daemon, log)
            try:
                SCENARIOS[column](stage, program)
                results.put(program.name, column, "ok")
            except AssertionError as failure:
                results.put(program.name, column, "FAILED", str(failure))
            finally:
                stage.end()
            cell, reason = results.cells[program.name, column], results.reasons.get((program.name, column), "")
            print(f"{program.name:26} {column:12} {time.monotonic() - started:6.1f} s  {cell} {reason}", flush=True)


def run_mixed(programs: list[Program], directory: Path, server: Server, results: Results) -> None:
    """One group of all clients that can be together, and one for those that cannot be with Java, with the others."""
    together = [each for each in programs if not each.apart]
    apart = [each for each in programs if each.apart]
    if len(together) > 1:
        for name, reason in mixed_group("mixed", together, together, directory, server).items():
            results.put(name, MIXED, "FAILED" if reason else "ok", reason)
    others = [each for each in programs if not each.is_java]
    if apart and len(others) > 1:
        for name, reason in mixed_group("mixed-without-java", others, apart, directory, server).items():
            results.put(
                name, MIXED, "FAILED" if reason else "ok", reason or next(p for p in apart if p.name == name).apart
            )


def mixed_group(
    name: str, members: list[Program], departing: list[Program], directory: Path, server: Server
) -> dict[str, str]:
    started = time.monotonic()
    with server(directory / name) as daemon, (directory / f"{name}.log").open("w") as log:
        stage = Stage(daemon, log, partitions=2 * len(members))
        try:
            outcome = mixed(stage, members, departing)
        except AssertionError as failure:
            outcome = dict.fromkeys((each.name for each in departing), str(failure))
        finally:
            stage.end()
    for row, reason in outcome.items():
        print(f"{row:26} {name:18} {'FAILED ' + reason if reason else 'ok'}")
    print(f"{name} took {time.monotonic() - started:.1f} s", flush=True)
    return outcome


def cells_of(results: Results, row: str, columns: list[str], notes: list[str]) -> list[str]:
    cells = []
    for column in columns:
        cell = results.cells.get((row, column), "not run")
        reason = results.reasons.get((row, column))
        if reason:
            if reason not in notes:
                notes.append(reason)
            cell += f" [{notes.index(reason) + 1}]"
        cells.append(cell)
    return cells


def table(results: Results, columns: list[str]) -> str:
    """The result as Markdown."""
    lines = [f"| client | version | {' | '.join(columns)} |", f"|{'---|' * (2 + len(columns))}"]
    notes: list[str] = []
    for row, version in results.versions.items():
        lines.append(f"| {row} | {version} | {' | '.join(cells_of(results, row, columns, notes))} |")
    lines += ["", *(f"[{number}] {note}  " for number, note in enumerate(notes, 1))]
    return "\n".join(lines).rstrip() + "\n"


def tools_table(results: Results) -> str:
    lines = ["| tool | result |", "|---|---|"]
    lines += [
        f"| {TOOLS[step][0]} | {'FAILED: ' + reason if reason else 'ok'} |" for step, reason in results.tools.items()
    ]
    return "\n".join(lines) + "\n"


def scenario_list() -> str:
    texts = {name: " ".join((scenario.__doc__ or "").split()) for name, scenario in SCENARIOS.items()}
    texts[MIXED] = (
        "All clients with range in one group, two partitions each: all read and commit; then each in turn leaves, "
        "comes back, is killed and comes back, while the others take over, and reads nothing again."
    )
    return "\n".join(f"- **{name}**: {text}" for name, text in texts.items()) + "\n"


def page(results: Results, columns: list[str]) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return f"""# Clients

Generated by `make clients` on {today}. Do not edit: run it again.

Each client is the real one, unmodified, with a small program around it (`tests/clients/`). Every scenario is judged by
what the client says and by what the coordinator shows (DescribeGroups, OffsetFetch).

{table(results, columns)}
## The scenarios

{scenario_list()}
## Kafka's command-line tools

{tools_table(results)}"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make clients", description=(__doc__ or "").splitlines()[0])
    rows = [*PROGRAMS, TOOLS_ROW]
    parser.add_argument("--only", nargs="+", choices=rows, help="these clients only; docs/clients.md stays as it is")
    parser.add_argument("--scenario", nargs="+", choices=[*SCENARIOS, MIXED], help="these columns only; likewise")
    parser.add_argument("--offered", action="store_true", help="leave out, and say so, what this machine cannot run")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the logs of clients and daemons here")
    parser.add_argument("--kafka", action="store_true", help="against a real Apache Kafka; likewise")
    arguments = parser.parse_args()
    server = real_kafka if arguments.kafka else our_daemon
    columns = arguments.scenario or [*SCENARIOS, MIXED]
    results = Results()
    with tempfile.TemporaryDirectory(prefix="client-matrix-") as scratch:
        directory = Path(scratch)
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            directory = Path(tempfile.mkdtemp(prefix="run-", dir=arguments.keep.resolve()))
        programs = []
        for name in arguments.only or PROGRAMS:
            if name == TOOLS_ROW:
                continue
            try:
                program = PROGRAMS[name]()
            except Missing as missing:
                results.versions[name] = "not run"
                for column in columns:
                    results.put(name, column, "-" if arguments.offered else "FAILED", f"not run: {missing}")
                print(f"{name:26} not run: {missing}", flush=True)
                continue
            results.versions[name] = f"{program.version} ({program.note})" if program.note else program.version
            programs.append(program)
            run_program(program, [each for each in columns if each != MIXED], directory, server, results)
        if MIXED in columns and len(programs) > 1:
            run_mixed(programs, directory, server, results)
        if not arguments.scenario and not arguments.kafka and TOOLS_ROW in (arguments.only or rows):
            results.tools = run_tools(directory, offered=arguments.offered)
    print()
    print(table(results, columns))
    print(tools_table(results))
    if not (arguments.only or arguments.scenario or arguments.kafka or arguments.offered):
        PAGE.write_text(re.sub(r"[ \t]+\n", "\n", page(results, columns)))
        print(f"written: {PAGE.relative_to(REPOSITORY)}")
    return 1 if results.failed() else 0


if __name__ == "__main__":
    sys.exit(main())

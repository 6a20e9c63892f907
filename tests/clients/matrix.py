"""Clients of every language against the daemon: `make clients`, or `python -m tests.clients.matrix [--only NAME ...]`.

A script, not a pytest test: it builds programs in four languages and takes minutes. Every client goes through the same
scenarios (matrix_scenarios.py), all of them together form one mixed group, and Kafka's own command-line tools get steps
of their own (matrix_tools.py). Beside them run the members of the consumer protocol, in a table of their own
(matrix_consumer_protocol.py). A run of everything writes docs/clients.md. The exit code is 1 if any cell failed or a
client could not run at all: where a language is missing, this never passes silently.

CI runs it with --offered --retry. Then a client whose language the machine lacks is named and forgiven, and a red cell
is tried once more, which the end of the output tells: real clients on a busy machine are late now and then, but not
twice. With --kafka the clients run against a real Apache Kafka instead: what fails there too is not ours.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.matrix_consumer_programs import CONSUMER_PROGRAMS
from tests.clients.matrix_consumer_protocol import CONSUMER_SCENARIOS, SHORT_SESSION, ConsumerStage
from tests.clients.matrix_members import Program
from tests.clients.matrix_programs import PROGRAMS, BrokenError, Missing
from tests.clients.matrix_scenarios import SCENARIOS, Stage, mixed
from tests.clients.matrix_tools import TOOLS, tool_steps
from tests.conformance.kafka import Kafka, release
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.wire import ConnectionEnded

PAGE = REPOSITORY / "docs" / "clients.md"
SETTINGS = {"group.initial.rebalance.delay.ms": "0", **SHORT_SESSION}
MIXED = "mixed group"
Server = Callable[[Path], Daemon | Kafka]
ROWS = {"classic": PROGRAMS, "consumer": CONSUMER_PROGRAMS}  # by the protocol of the members
STAGES = {"classic": (Stage, SCENARIOS), "consumer": (ConsumerStage, CONSUMER_SCENARIOS)}
TOOLS_ROW = "kafka-tools"
WENT_WRONG = (AssertionError, OSError, ConnectionEnded, subprocess.SubprocessError)


@dataclass(slots=True)
class Results:
    """The results. A cell is "ok", "-" with a reason (not applicable), or "FAILED" with a reason."""

    versions: dict[str, str] = field(default_factory=dict)
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)  # step of a tool -> "" or what went wrong
    again: list[str] = field(default_factory=list)  # what was red once, and then tried again
    not_offered: list[str] = field(default_factory=list)

    def red(self, row: str) -> list[str]:
        return [column for (name, column), cell in self.cells.items() if name == row and cell == "FAILED"]

    def try_again(self, row: str) -> list[str]:
        """The red cells of a row, noted and printed as such."""
        red = self.red(row)
        for column in red:
            self.again.append(f"{row}, {column}: {self.reasons.pop((row, column))}")
            print(f"{row:26} {column:12} is tried once more", flush=True)
        return red

    def put(self, row: str, column: str, cell: str, reason: str = "") -> None:
        self.cells[row, column] = cell
        if reason:
            self.reasons[row, column] = " ".join(reason.split())


def our_daemon(directory: Path) -> Daemon:
    return Daemon(directory, overrides=[f"{key}={value}" for key, value in SETTINGS.items()])


def real_kafka(directory: Path) -> Kafka:
    return Kafka(directory, settings=SETTINGS)


def run_program(program: Program, columns: list[str], directory: Path, server: Server, results: Results) -> None:
    """All scenarios of one client on a server of its own."""
    directory.mkdir(exist_ok=True)
    make_stage, scenarios = STAGES[program.protocol]
    with server(directory / program.name) as daemon, (directory / f"{program.name}.log").open("w") as log:
        for column in columns:
            if column in program.without:
                results.put(program.name, column, "-", program.without[column])
                continue
            log.write(f"=== {column}\n")
            started = time.monotonic()
            stage = make_stage(daemon, log)
            try:
                scenarios[column](stage, program)
                results.put(program.name, column, "ok")
            except WENT_WRONG as failure:
                results.put(program.name, column, "FAILED", f"{failure}")
            finally:
                stage.end()
            cell, reason = results.cells[program.name, column], results.reasons.get((program.name, column), "")
            print(f"{program.name:26} {column:12} {time.monotonic() - started:6.1f} s  {cell} {reason}", flush=True)


def run_mixed(programs: list[Program], directory: Path, server: Server, results: Results, *, retry: bool) -> None:
    """One group of all clients that can be together, and one for each that cannot, with those it can be with."""
    together = [each for each in programs if not each.apart]
    groups = [(f"mixed-{programs[0].protocol}", together, together)]
    for alone in programs:
        if alone.mixes_with is not None:
            among = [each for each in programs if each is alone or each.name in alone.mixes_with]
            groups.append((f"mixed-{alone.name}", among, [alone]))
    for name, members, departing in groups:
        if len(members) < 2:
            continue
        mixed_group(name, members, departing, directory, server, results)
        red = [each for each in departing if results.red(each.name) == [MIXED]] if retry else []
        if red:
            for each in red:
                results.try_again(each.name)
            mixed_group(f"{name}-again", members, red, directory, server, results)


def mixed_group(
    name: str, members: list[Program], departing: list[Program], directory: Path, server: Server, results: Results
) -> None:
    started = time.monotonic()
    with server(directory / name) as daemon, (directory / f"{name}.log").open("w") as log:
        make_stage, _ = STAGES[members[0].protocol]
        stage = make_stage(daemon, log, partitions=2 * len(members))
        try:
            outcome = mixed(stage, members, departing)
        except WENT_WRONG as failure:
            outcome = dict.fromkeys((each.name for each in departing), str(failure) or repr(failure))
        finally:
            stage.end()
    for each in departing:
        reason = outcome[each.name]
        results.put(each.name, MIXED, "FAILED" if reason else "ok", reason or each.apart)
        print(f"{each.name:26} {name:18} {'FAILED ' + reason if reason else 'ok'}")
    print(f"{name} took {time.monotonic() - started:.1f} s", flush=True)


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


def table(results: Results, protocol: str, columns: list[str]) -> str:
    """The result for the members of a protocol as Markdown."""
    lines = [f"| client | version | {' | '.join(columns)} |", f"|{'---|' * (2 + len(columns))}"]
    notes: list[str] = []
    lines += [
        f"| {row} | {results.versions[row]} | {' | '.join(cells_of(results, row, columns, notes))} |"
        for row in ROWS[protocol]
        if row in results.versions
    ]
    lines += ["", *(f"[{number}] {note}  " for number, note in enumerate(notes, 1))]
    return "\n".join(lines).rstrip() + "\n"


def tools_table(results: Results) -> str:
    lines = ["| tool | result |", "|---|---|"]
    lines += [
        f"| {TOOLS[step][0]} | {'FAILED: ' + reason if reason else 'ok'} |" for step, reason in results.tools.items()
    ]
    return "\n".join(lines) + "\n"


def scenario_list() -> str:
    texts = {name: text_of(scenario) for name, scenario in SCENARIOS.items()}
    texts[MIXED] = (
        "All clients with range in one group, two partitions each: all read and commit; then each in turn leaves, "
        "comes back, is killed and comes back, while the others take over, and reads nothing again."
    )
    for name, scenario in CONSUMER_SCENARIOS.items():
        if scenario is not SCENARIOS[name]:
            texts[f"{name}, consumer protocol"] = text_of(scenario)
    return "\n".join(f"- **{name}**: {text}" for name, text in texts.items()) + "\n"


def text_of(scenario: Callable[[Stage, Program], None]) -> str:
    return " ".join((scenario.__doc__ or "").split())


def page(results: Results, columns: list[str]) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    tools = release("tools")
    return f"""# Clients

Generated by `make clients` on {today}. Do not edit: run it again.

Each client is the real one, unmodified, with a small program around it (`tests/clients/`). Every scenario is judged by
what the client says and by what the coordinator shows (DescribeGroups, OffsetFetch). Where a footnote compares with
Apache Kafka, the same programs ran against the broker that it names. The verifiable consumer and the command-line tools
are of {tools}, because Maven does not have the tools of later releases.

{table(results, "classic", columns)}
## Members of the consumer protocol

Members with `group.protocol=consumer` (KIP-848; in franz-go `ServerSideBalancer`). The server assigns, `range` in most
scenarios and `uniform` in that called cooperative: every member gives up only what moves. Session and heartbeats are
the defaults of the server; where a session must be short, it is a setting of the group.

{table(results, "consumer", columns)}
## The scenarios

{scenario_list()}
## Kafka's command-line tools

{tools_table(results)}"""


def find_programs(names: Iterable[str], columns: list[str], results: Results, *, offered: bool) -> list[Program]:
    """Return the programs that can run here; for the others the results name the reason."""
    programs = []
    for name in names:
        try:
            program = (PROGRAMS | CONSUMER_PROGRAMS)[name]()
        except (Missing, BrokenError) as reason:
            forgiven = offered and isinstance(reason, Missing)
            results.versions[name] = "not run"
            for column in columns:
                results.put(name, column, "-" if forgiven else "FAILED", f"not run: {reason}")
            if forgiven:
                results.not_offered.append(f"{name}: {reason}")
            print(f"{name:26} not run: {reason}", flush=True)
            continue
        results.versions[name] = f"{program.version} ({program.note})" if program.note else program.version
        programs.append(program)
    return programs


def run(arguments: argparse.Namespace, columns: list[str], directory: Path) -> Results:
    results = Results()
    server = real_kafka if arguments.kafka else our_daemon
    rows = arguments.only or [*PROGRAMS, *CONSUMER_PROGRAMS, TOOLS_ROW]

    def run_row(program: Program) -> None:
        run_program(program, [each for each in columns if each != MIXED], directory, server, results)
        if arguments.retry and (red := results.try_again(program.name)):
            run_program(program, red, directory / "again", server, results)

    def run_protocol(names: list[str], *, tools: bool) -> None:
        programs = find_programs(names, columns, results, offered=arguments.offered)
        with ThreadPoolExecutor(arguments.parallel) as pool:  # a row has a server and a log of its own
            running = [pool.submit(run_row, program) for program in programs]
            if tools:
                more = pool.submit(run_tools, directory, results, offered=arguments.offered, retry=arguments.retry)
                running.append(more)
            for each in running:
                each.result()
        if MIXED in columns and len(programs) > 1:
            run_mixed(programs, directory, server, results, retry=arguments.retry)

    with ThreadPoolExecutor(len(ROWS)) as protocols:  # clients wait much of their time
        for done in [
            protocols.submit(
                run_protocol,
                [each for each in programs if each in rows],
                tools=protocol == "classic" and TOOLS_ROW in rows and not arguments.scenario and not arguments.kafka,
            )
            for protocol, programs in ROWS.items()
        ]:
            done.result()
    return results


def run_tools(directory: Path, results: Results, *, offered: bool, retry: bool) -> None:
    try:
        results.tools = tool_steps(directory / "kafka-tools")
        red = {step: reason for step, reason in results.tools.items() if reason}
        if red and retry:  # a step leans on what those before it left, so all of them are taken again
            results.again += [f"{TOOLS[step][0]}: {reason}" for step, reason in red.items()]
            print("all steps of the tools are tried once more", flush=True)
            results.tools = tool_steps(directory / "kafka-tools-again")
    except (Missing, BrokenError) as reason:
        print(f"{TOOLS_ROW:26} not run: {reason}", flush=True)
        if offered and isinstance(reason, Missing):
            results.not_offered.append(f"{TOOLS_ROW}: {reason}")
        else:
            results.tools = dict.fromkeys(TOOLS, f"not run: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make clients", description=(__doc__ or "").splitlines()[0])
    rows = [*PROGRAMS, *CONSUMER_PROGRAMS, TOOLS_ROW]
    parser.add_argument("--only", nargs="+", choices=rows, help="these clients only; docs/clients.md stays as it is")
    parser.add_argument("--scenario", nargs="+", choices=[*SCENARIOS, MIXED], help="these columns only; likewise")
    parser.add_argument(
        "--offered", action="store_true", help="leave out, and say so, what this machine has no tool for"
    )
    parser.add_argument("--retry", action="store_true", help="try red cells once more, and say so; likewise")
    parser.add_argument("--parallel", metavar="N", type=int, default=2, help="rows at the same time (default: 2)")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the logs of clients and daemons here")
    parser.add_argument("--kafka", action="store_true", help="against a real Apache Kafka; likewise")
    arguments = parser.parse_args()
    columns = arguments.scenario or [*SCENARIOS, MIXED]
    with tempfile.TemporaryDirectory(prefix="client-matrix-") as scratch:
        directory = Path(scratch)
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            directory = Path(tempfile.mkdtemp(prefix="run-", dir=arguments.keep.resolve()))
        results = run(arguments, columns, directory)
    print()
    print(table(results, "classic", columns))
    print(table(results, "consumer", columns))
    print(tools_table(results))
    for line in results.not_offered:
        print(f"not offered by this machine: {line}")
    for line in results.again:
        print(f"red once, tried again: {line}")
    partial = (arguments.only, arguments.scenario, arguments.kafka, arguments.offered, arguments.retry)
    if not any(partial):
        PAGE.write_text(re.sub(r"[ \t]+\n", "\n", page(results, columns)))
        print(f"written: {PAGE.relative_to(REPOSITORY)}")
    red = sum(cell == "FAILED" for cell in results.cells.values()) + sum(map(bool, results.tools.values()))
    green = (
        sum(cell == "ok" for cell in results.cells.values())
        + len(results.tools)
        - sum(map(bool, results.tools.values()))
    )
    print(
        f"cells: {green} ok  {red} red  {len(results.again)} tried twice  {len(results.not_offered)} rows not offered"
    )
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())

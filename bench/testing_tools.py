"""`make bench-testing`: servers for tests side by side, from their start to the first assignment of real clients.

Ours in the process of the test and as a process, librdkafka's mock, kfake and Apache Kafka take turns. One table is of
the servers: start, what passes between two tests, a whole small test. One is of the first assignment with three Python
libraries. A third is of ours as a process with clients of other languages, whose programs are warm: each has been a
member once before a server is started anew at the same address. Median and 95th percentile of all repetitions; the
first of each, which loads what the later ones find loaded, is not counted. Import times are of fresh interpreters.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.rebalance_speed import words
from bench.report import markdown_table
from bench.startup import keep_bytecode
from bench.testing_clients import LIBRARIES, first_assignment, whole_test
from bench.testing_servers import SERVERS, InProcess, TestServer
from bench.warm_programs import PROGRAMS, WarmProgram

REPETITIONS: Final = 20
RARE: Final = 4  # repetitions of a server that starts in seconds
TARGET_MS: Final = 150.0
BARE: Final = "an interpreter that does nothing"
IMPORT_OF_OURS: Final = "`from coordinator.testing import Coordinator`"
IMPORTS: Final = {
    BARE: "pass",
    "`import asyncio`": "import asyncio",
    "`import coordinator.testing`": "import coordinator.testing",
    IMPORT_OF_OURS: "from coordinator.testing import Coordinator",
    "`from coordinator.testing import CoordinatorProcess`": "from coordinator.testing import CoordinatorProcess",
}

Samples = dict[str, list[float]]  # what -> ms


def p95(samples: Sequence[float]) -> float:
    """Return the 95th percentile: the lowest sample that is not below 95 % of them."""
    return sorted(samples)[-(-len(samples) * 95 // 100) - 1]


def shown(samples: Sequence[float]) -> str:
    return f"{statistics.median(samples):,.0f} / {p95(samples):,.0f}" if samples else "-"


def took_ms(do: Callable[[], None]) -> float:
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


# -- servers, and clients in Python ----------------------------------------------------------------------------------


def from_a_start(server: TestServer, library: str, number: int) -> Samples:
    """Start a server, have a consumer join, and pass to the next test."""
    topic = f"{library}-{number}"
    server.prepare()
    try:
        start = took_ms(lambda: server.start(topic))
        assignment = first_assignment(library, server, topic)
        reset = took_ms(lambda: server.reset(f"{topic}-next", topic))
    finally:
        server.stop()
    return {"start": [start], library: [assignment], f"start, {library}": [start + assignment], "reset": [reset]}


def between_tests(server: TestServer, repetitions: int) -> Samples:
    """Pass between tests and run whole tests on a server that stays."""
    found: Samples = defaultdict(list)
    server.prepare()
    try:
        server.start("first")
        topic = "first"
        for number in range(repetitions + 1):
            old, topic = topic, f"next-{number}"
            found["reset"].append(took_ms(partial(server.reset, topic, old)))
            found["test"].append(whole_test(server, f"test-{number}"))
    finally:
        server.stop()
    return {what: samples[1:] for what, samples in found.items()}


def measure_servers(findings: Findings, args: argparse.Namespace) -> dict[str, Samples]:
    """Measure all servers, one after the other in each round."""
    found: dict[str, Samples] = {key: defaultdict(list) for key in args.servers}
    impossible: set[tuple[str, str]] = set()  # a client that cannot use a server is asked once
    for number in range(args.repetitions + 1):
        for key in args.servers:
            rare = SERVERS[key].starts_rarely
            if rare and number > min(RARE, args.repetitions):
                continue
            for library in LIBRARIES:

                def once(key: str = key, library: str = library, number: int = number, rare: bool = rare) -> None:
                    for what, samples in from_a_start(SERVERS[key](), library, number).items():
                        if number and not (rare and what == "reset"):
                            found[key][what] += samples

                if (key, library) in impossible:
                    continue
                if not findings.attempt(f"{SERVERS[key].name}: {library}, round {number}", once) and not number:
                    impossible.add((key, library))
            if not rare:

                def test(key: str = key, number: int = number) -> None:
                    ms = whole_test(SERVERS[key](), f"test-{number}")
                    if number:
                        found[key]["test"].append(ms)

                findings.attempt(f"{SERVERS[key].name}: a whole test, round {number}", test)
    for key in args.servers:
        if SERVERS[key].starts_rarely:

            def stay(key: str = key) -> None:
                for what, samples in between_tests(SERVERS[key](), args.repetitions).items():
                    found[key][what] += samples

            findings.attempt(f"{SERVERS[key].name}: tests on one that stays", stay)
    return found


def server_tables(findings: Findings, found: dict[str, Samples]) -> None:
    rows = []
    for key, samples in found.items():
        server = SERVERS[key]
        cells = [shown(samples.get(what, ())) for what in ("start", "reset", "test")]
        counts = "; ".join(str(len(samples.get(what, ()))) for what in ("start", "reset", "test"))
        rows.append([server.name, *cells, server.reset_is, counts])
    headings = ["server", "start", "between two tests", "a whole test", "between two tests is", "samples of each"]
    findings.table("Servers, median / p95 in ms", markdown_table(headings, rows))
    rows = []
    for key, samples in found.items():
        cells = [shown(samples.get(what, ())) for library in LIBRARIES for what in (library, f"start, {library}")]
        rows.append([SERVERS[key].name, *cells, str(len(samples.get(next(iter(LIBRARIES)), ())))])
    headings = ["server", *(f"{what}{library}" for library in LIBRARIES for what in ("", "start + ")), "samples"]
    findings.table("First assignment of a consumer in Python, median / p95 in ms", markdown_table(headings, rows))
    for library in LIBRARIES:
        together = found.get("in-process", {}).get(f"start, {library}", [])
        median = statistics.median(together) if together else None
        what = f"{InProcess.name}: start + first assignment, {library}"
        findings.verdicts.append(Verdict(what, TARGET_MS, "ms", median))


# -- clients of other languages ---------------------------------------------------------------------------------------


def measure_programs(findings: Findings, args: argparse.Namespace) -> dict[str, Samples]:
    """Measure warm programs, one after the other, each with a server that is started anew for each repetition."""
    found: dict[str, Samples] = {name: defaultdict(list) for name in args.clients}
    logs = args.work_dir / "testing-logs"
    for name in args.clients:

        def run(name: str = name) -> None:
            with WarmProgram(name, logs) as program:
                findings.raw.setdefault("versions", {})[name] = program.version
                for number in range(args.repetitions + 1):
                    for what, ms in program.once().items():
                        if number:
                            found[name][what].append(ms)

        findings.attempt(f"ours, a process: {name}", run)
    return found


def program_table(findings: Findings, found: dict[str, Samples]) -> None:
    rows = []
    for name, samples in found.items():
        cells = [shown(samples.get(what, ())) for what in ("start", "assignment", "both")]
        rows.append([name, PROGRAMS[name].language, *cells, str(len(samples.get("both", ())))])
        median = statistics.median(samples["both"]) if samples.get("both") else None
        findings.verdicts.append(Verdict(f"a process: start + first assignment, {name}", TARGET_MS, "ms", median))
    headings = ["client", "language", "start of the process", "first assignment", "start + first assignment", "samples"]
    findings.table("Ours as a process, with warm programs, median / p95 in ms", markdown_table(headings, rows))


# -- imports ---------------------------------------------------------------------------------------------------------


def measure_imports(findings: Findings, args: argparse.Namespace) -> None:
    """Measure how long a fresh interpreter takes for each import, its own start included."""
    found: Samples = defaultdict(list)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        for number in range(args.repetitions + 1):
            for name, code in IMPORTS.items():
                begun = time.perf_counter()
                subprocess.run([args.python, "-c", code], check=True, cwd=directory, env=environment)
                if number:
                    found[name].append((time.perf_counter() - begun) * 1000)
    rows = [[name, shown(samples), str(len(samples))] for name, samples in found.items()]
    findings.raw["imports_ms"] = found
    findings.table("Fresh interpreters, median / p95 in ms", markdown_table(["what it does", "ms", "samples"], rows))
    median = {name: statistics.median(samples) for name, samples in found.items()}
    ours = median[IMPORT_OF_OURS]
    for before in (BARE, "`import asyncio`"):
        findings.verdicts.append(Verdict(f"{IMPORT_OF_OURS} beyond {before}", TARGET_MS, "ms", ours - median[before]))


def arguments() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--repetitions", type=int, help=f"of everything that does not take seconds ({REPETITIONS})")
    made.add_argument("--servers", type=words, default=list(SERVERS), help=f"of {','.join(SERVERS)} (default: all)")
    made.add_argument("--clients", type=words, default=list(PROGRAMS), help=f"of {','.join(PROGRAMS)} (default: all)")
    args = made.parse_args()
    args.repetitions = args.repetitions or (2 if args.quick else REPETITIONS)
    for given, known in ((args.servers, SERVERS), (args.clients, PROGRAMS)):
        if unknown := [each for each in given if each not in known]:
            made.error(f"there is no {', '.join(unknown)}; choose of {', '.join(known)}")
    return args


def main() -> int:
    args = arguments()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    findings = Findings("testing", "Servers for tests")
    keep_bytecode()
    findings.attempt("imports", lambda: measure_imports(findings, args))
    servers = measure_servers(findings, args)
    server_tables(findings, servers)
    programs = measure_programs(findings, args)
    program_table(findings, programs)
    findings.raw["servers_ms"] = servers
    findings.raw["programs_ms"] = programs
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

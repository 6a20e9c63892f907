"""`make bench-shared_store`: commits of one daemon with its files, with PostgreSQL, and with Kafka as the store.

Four daemons in one run: files, PostgreSQL alone, PostgreSQL with a synchronous standby, Kafka with three brokers. They
stay up and take turns under each load of `load.c`, in every round in another order: one client with one commit in
flight, which shows latency, and 100 connections with ten in flight each. A ratio or a difference is that of two
measurements of the same round; tables show medians over the rounds.

All daemons are pinned to the same core. The load and the engines share the other cores, so commits per second are also
limited by these; the figure that holds elsewhere is commits per CPU second of the daemon with its child processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.measure import BUILD, BenchError, all_cores, build_program, cores, fdatasync_us, wait_for_quiet
from bench.probe import Probe
from bench.report import markdown_table, median_of, spread_of
from bench.scenarios import REBALANCE_DELAY
from bench.servers import Running, coordinator
from bench.shared_engines import BenchEngine, BenchKafka, BenchPostgres, running
from protocol.messages.find_coordinator import FindCoordinatorRequest

FILES: Final = "files"
LABELS: Final = {
    FILES: "files",
    "postgres": "PostgreSQL alone",
    "standby": "PostgreSQL, synchronous standby",
    "kafka": "Kafka, three brokers",
}
SETTINGS: Final = ("cluster.id=bench", "offsets.commit.topic.check=false", REBALANCE_DELAY)
OWNED_S: Final = 30.0
SOME_GROUPS: Final = [f"group-{number}" for number in range(100)]  # of every partition
MOST_MORE_MS: Final = 1.0
LEAST_RATIO: Final = 0.9


@dataclass(frozen=True, slots=True)
class Load:
    """A load of load.c: commits of one partition each, in a closed loop."""

    key: str
    title: str
    connections: int
    in_flight: int


ONE: Final = Load("one", "One client, one commit in flight", 1, 1)
MANY: Final = Load("many", "100 connections, ten commits in flight on each", 100, 10)
Runs = dict[str, dict[str, list[dict[str, Any]]]]  # by load and server, one a round


def engine_of(key: str, directory: Path) -> BenchEngine:
    return BenchKafka(directory) if key == "kafka" else BenchPostgres(directory, standby=key == "standby")


def start(stack: ExitStack, key: str, directory: Path, args: argparse.Namespace) -> Running:
    """Start a daemon, and its engine before it, until `stack` ends; return the daemon when it owns every partition."""
    directory.mkdir()
    overrides = [*SETTINGS]
    if key != FILES:
        engine = stack.enter_context(running(engine_of(key, directory)))
        overrides += engine.overrides(engine.targets, [])
    server = stack.enter_context(
        coordinator(directory, args.core, name=LABELS[key], python=args.python, overrides=overrides)
    )
    deadline = time.monotonic() + OWNED_S
    with Probe(server.port) as probe:
        while any(
            each.error_code for each in probe.ask(FindCoordinatorRequest(coordinator_keys=SOME_GROUPS), 4).coordinators
        ):
            if time.monotonic() > deadline:
                raise BenchError(f"{server.name} did not own every partition within {OWNED_S:g} s")
            time.sleep(0.05)
    return server


def measured(server: Running, load: Load, seconds: float, warmup: float) -> dict[str, Any]:
    """One run of load.c: what it printed. BenchError on any wrong answer."""
    command = [str(BUILD / "load"), "--port", str(server.port), "--mode", "commit", "--sleep", "1"]
    command += ["--connections", str(load.connections), "--in-flight", str(load.in_flight)]
    command += ["--seconds", str(seconds), "--warmup", str(warmup)]
    for pid in server.processes():
        command += ["--cpu-of", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + warmup + 60)
    if done.returncode != 0:
        raise BenchError((done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}")[-400:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def warm_up(server: Running, seconds: float) -> None:
    for load in (ONE, MANY):
        measured(server, load, 0.1, seconds)


def one_round(findings: Findings, up: dict[str, Running], number: int, runs: Runs, args: argparse.Namespace) -> None:
    """Measure every server under every load. BenchError: one has failed; it takes no part in later rounds."""
    if not wait_for_quiet(args.quiet_within):
        findings.progress(f"round {number + 1} begins on a busy machine")
    findings.raw.setdefault("fdatasync_us", []).append(statistics.median(fdatasync_us(args.work_dir, 40)))
    turn = number % len(up)
    keys = [*up][turn:] + [*up][:turn]
    for load in (ONE, MANY):
        found = {}
        for key in keys:
            try:
                found[key] = measured(up[key], load, args.seconds, args.warmup)
            except (BenchError, subprocess.SubprocessError) as problem:
                del up[key]
                for each in runs.values():
                    each.pop(key, None)
                raise BenchError(f"{LABELS[key]}: {problem}") from None
        for key, run in found.items():
            runs[load.key].setdefault(key, []).append(run)
        told = (f"{LABELS[key]} {run['requests_per_second']:,.0f}/s" for key, run in found.items())
        findings.progress(f"round {number + 1}: {load.title}: {', '.join(told)}")


def beside_files(runs: dict[str, list[dict[str, Any]]], key: str, what: str, *, ratio: bool) -> list[float]:
    """Compare each run with that of the files in the same round: their ratio, or else their difference."""
    pairs = zip(runs[key], runs[FILES], strict=True)
    return [run[what] / files[what] if ratio else run[what] - files[what] for run, files in pairs]


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


def ms(runs: list[dict[str, Any]], what: str) -> str:
    return spread([run[what] / 1000 for run in runs])


def per_second(runs: list[dict[str, Any]], what: str) -> str:
    return f"{median_of(runs, what):,.0f} ({spread_of(runs, what, 0)})"


def report(findings: Findings, runs: Runs) -> None:
    one, many = runs[ONE.key], runs[MANY.key]
    rows = []
    for key, found in one.items():
        more_ms = [us / 1000 for us in beside_files(one, key, "p50_us", ratio=False)]
        rows.append([LABELS[key], ms(found, "p50_us"), ms(found, "p99_us"), spread(more_ms)])
        if key != FILES:
            what = f"p50 of a commit with {LABELS[key]}, beyond that with files"
            findings.verdicts.append(Verdict(what, MOST_MORE_MS, "ms", statistics.median(more_ms)))
    headings = ["store", "p50, ms", "p99, ms", "p50 beyond that of files, ms"]
    findings.table(f"{ONE.title}: median (lowest..highest of the rounds)", markdown_table(headings, rows))

    rows = []
    for key, found in many.items():
        rate = beside_files(many, key, "requests_per_second", ratio=True)
        cpu = beside_files(many, key, "requests_per_server_cpu_second", ratio=True)
        share = median_of(found, "server_cpu_share")
        rows.append([LABELS[key], per_second(found, "requests_per_second"), spread(rate)])
        rows[-1] += [per_second(found, "requests_per_server_cpu_second"), spread(cpu), f"{share:.0%}"]
        rows[-1] += [ms(found, "p50_us"), ms(found, "p99_us")]
        if key != FILES:
            what = f"commits per CPU second of the daemon with {LABELS[key]}, beside files"
            findings.verdicts.append(Verdict(what, LEAST_RATIO, "times", statistics.median(cpu), "at least"))
    headings = ["store", "commits/s", "beside files", "commits per CPU second", "beside files", "daemon's core used"]
    findings.table(f"{MANY.title}: the same", markdown_table([*headings, "p50, ms", "p99, ms"], rows))
    disk_us = findings.raw["fdatasync_us"]
    findings.lines += ["", f"An fdatasync of 4 kB took {statistics.median(disk_us):,.0f} µs (median of the rounds)."]


def measure_all(findings: Findings, args: argparse.Namespace) -> None:
    runs: Runs = {ONE.key: {}, MANY.key: {}}
    findings.raw |= {"seconds": args.seconds, "runs": runs}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir)))
        up: dict[str, Running] = {}

        def begin(key: str) -> None:
            with ExitStack() as mine:
                up[key] = start(mine, key, directory / key, args)
                stack.push(mine.pop_all())

        for key in args.stores:
            kind = "Apache " if key == "kafka" else "ours: "  # Kafka may be left out where there is no Java
            if findings.attempt(f"{kind}{LABELS[key]}: start", lambda key=key: begin(key)):
                server = up[key]
                told = f"ours: {LABELS[key]}: {args.first_warmup:g} s of each load before anything counts"
                if not findings.attempt(told, lambda server=server: warm_up(server, args.first_warmup)):
                    del up[key]
        for number in range(args.rounds):
            if FILES in up:
                findings.attempt(
                    f"ours: round {number + 1}", lambda number=number: one_round(findings, up, number, runs, args)
                )
        if FILES in up and runs[MANY.key]:
            report(findings, runs)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, help="how often each store meets each load (default 7; --quick 2)")
    arguments.add_argument("--seconds", type=float, help="measured each time (default 4; --quick 0.7)")
    arguments.add_argument("--stores", default=",".join(LABELS), help="some of the stores, files among them")
    arguments.add_argument("--quiet-within", type=float, default=10.0, help="seconds a round waits for a quiet machine")
    args = arguments.parse_args()
    args.rounds = args.rounds or (2 if args.quick else 7)
    args.seconds = args.seconds or (0.7 if args.quick else 4)
    args.warmup, args.first_warmup = (0.2, 1) if args.quick else (1, 15)
    args.stores = args.stores.split(",")
    if FILES not in args.stores or not set(args.stores) <= set(LABELS):
        arguments.error(f"--stores takes {', '.join(LABELS)}, and needs {FILES}")
    if args.quick:
        args.quiet_within = 0.0
    args.work_dir.mkdir(parents=True, exist_ok=True)
    build_program("load")
    every_core, (args.core, _) = all_cores(), cores()
    os.sched_setaffinity(0, every_core - args.core or args.core)  # the load and the engines inherit it
    findings = Findings("shared_store", "Commits with a shared store")
    measure_all(findings, args)
    os.sched_setaffinity(0, every_core)  # the report tells how many there are
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

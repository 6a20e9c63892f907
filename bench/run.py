"""`make bench`: what the coordinator costs per request, beside servers that do nothing, in one run.

Each scenario starts a fresh server on one core and the load generator (`load.c`) on another, waits until real groups
have formed over the wire, and measures a few seconds in a closed loop. Coordinator, uvloop echo and C echo take turns
within every round, and the table shows medians over the rounds, so that a noisy minute hits them all alike. The figure
to trust is CPU time of the server's processes per request; a ratio to the echo at the same number of connections and
the same request size says how much of it is ours. Durable commits stand beside the disk's own fdatasync.

Exit code 1 means wrong answers or a server that did not start; a slow figure is printed, never an error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.measure import BUILD, BenchError, build_program, cores, fdatasync_us, machine, wait_for_quiet
from bench.report import median_of, spread_of, write_json
from bench.servers import Running, c_echo, coordinator, uvloop_echo


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to measure: which server, which requests, how many at once."""

    name: str
    server: str  # "coordinator", "uvloop echo" or "C echo"
    mode: str  # what load.c sends
    connections: int
    in_flight: int
    overrides: tuple[str, ...] = ()


HEARTBEAT, COMMIT, UVLOOP, C_ECHO = "heartbeat", "durable commit", "uvloop echo", "C echo"
SYNC, INTERVAL = ("log.flush.policy=sync",), ("log.flush.policy=interval",)
SCENARIOS = (
    Scenario(HEARTBEAT, "coordinator", "heartbeat", 1000, 1),
    Scenario(UVLOOP, UVLOOP, "echo", 1000, 1),
    Scenario(C_ECHO, C_ECHO, "echo", 1000, 1),
    Scenario(COMMIT, "coordinator", "commit", 1000, 1, SYNC),
    Scenario(HEARTBEAT, "coordinator", "heartbeat", 100, 10),
    Scenario(UVLOOP, UVLOOP, "echo", 100, 10),
    Scenario(C_ECHO, C_ECHO, "echo", 100, 10),
    Scenario(COMMIT, "coordinator", "commit", 100, 10, SYNC),
    Scenario("commit, flushed later", "coordinator", "commit", 100, 10, INTERVAL),
)
GROUP_SIZE = 10

# What issue 2 asks for: (scenario, connections, in flight) -> a sentence and how to read the figure.
HEARTBEAT_RATIO_TARGET = 0.6
DURABLE_COMMITS_TARGET = 25_000


def server(scenario: Scenario, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
    if scenario.server == C_ECHO:
        return c_echo(directory, core)
    if scenario.server == UVLOOP:
        return uvloop_echo(directory, core)
    overrides = ("group.initial.rebalance.delay.ms=300", *scenario.overrides)
    return coordinator(directory, core, topics=[f"bench:{GROUP_SIZE}"], overrides=overrides)


def measure(scenario: Scenario, args: argparse.Namespace, frame_bytes: int) -> dict[str, Any]:
    """One run of one scenario: what load.c printed, as a dict. Raises BenchError on any wrong answer."""
    server_core, load_core = cores()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        directory = Path(name)
        disk = fdatasync_us(directory) if scenario.mode == "commit" else []
        with server(scenario, directory, server_core) as running:
            command = [str(BUILD / "load"), "--mode", scenario.mode, "--port", str(running.port)]
            command += ["--connections", str(scenario.connections), "--in-flight", str(scenario.in_flight)]
            command += ["--seconds", str(args.seconds), "--warmup", str(args.warmup), "--group-size", str(GROUP_SIZE)]
            command += ["--frame-bytes", str(frame_bytes)]
            for member_of_tree in running.processes():
                command += ["--cpu-of", str(member_of_tree)]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=180,
                preexec_fn=lambda: os.sched_setaffinity(0, load_core),
            )
            if done.returncode != 0:
                raise BenchError(f"{label(scenario)}: {done.stderr}{done.stdout}\nserver's log: {running.log_tail()}")
    result: dict[str, Any] = json.loads(done.stdout)
    if disk:
        result["fdatasync_us"] = statistics.median(disk)
    return result


def label(scenario: Scenario) -> str:
    return f"{scenario.name}, {scenario.connections:,} connections, {scenario.in_flight} in flight"


def table(results: dict[Scenario, list[dict[str, Any]]]) -> list[str]:
    """The report as Markdown rows: CPU per request, requests per CPU second, and the ratio to the uvloop echo."""
    rows = [
        "| what | connections x in flight | CPU µs per request (spread) | requests per CPU second "
        "| of the uvloop echo's rate | of the C echo's | requests/s | p50 / p99 ms | busy: server, load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for scenario, runs in results.items():
        rate = median_of(runs, "requests_per_server_cpu_second")
        ratios = []
        for echo in (UVLOOP, C_ECHO):
            rival = next(
                (r for s, r in results.items() if s.name == echo and s.connections == scenario.connections), None
            )
            ratios.append(f"{rate / median_of(rival, 'requests_per_server_cpu_second'):.2f}" if rival else "-")
        bound = " (load is the limit)" if any(run["generator_is_the_bottleneck"] for run in runs) else ""
        rows.append(
            f"| {scenario.name} | {scenario.connections:,} x {scenario.in_flight} "
            f"| {median_of(runs, 'server_cpu_us_per_request'):.2f} ({spread_of(runs, 'server_cpu_us_per_request')}) "
            f"| {rate:,.0f} | {ratios[0]} | {ratios[1]} | {median_of(runs, 'requests_per_second'):,.0f} "
            f"| {median_of(runs, 'p50_us') / 1000:.1f} / {median_of(runs, 'p99_us') / 1000:.1f} "
            f"| {median_of(runs, 'server_cpu_share'):.0%}, {median_of(runs, 'generator_busy_share'):.0%}{bound} |"
        )
    return rows


def verdicts(results: dict[Scenario, list[dict[str, Any]]]) -> list[str]:
    """The two figures that issue 2 names, each beside what it should reach."""

    def rate(name: str, connections: int) -> float | None:
        for scenario, runs in results.items():
            if scenario.name == name and scenario.connections == connections:
                return median_of(runs, "requests_per_server_cpu_second")
        return None

    lines = []
    heartbeat, echo, commits = rate(HEARTBEAT, 1000), rate(UVLOOP, 1000), rate(COMMIT, 100)
    if heartbeat and echo:
        verdict = "reached" if heartbeat / echo >= HEARTBEAT_RATIO_TARGET else "MISSED"
        lines.append(
            f"heartbeats, 1,000 connections, one in flight: {heartbeat / echo:.2f} of the uvloop echo's rate per CPU "
            f"second (wanted: at least {HEARTBEAT_RATIO_TARGET}): {verdict}"
        )
    if commits:
        verdict = "reached" if commits >= DURABLE_COMMITS_TARGET else "MISSED"
        lines.append(
            f"durable commits, 100 connections, ten in flight: {commits:,.0f} per CPU second "
            f"(wanted: at least {DURABLE_COMMITS_TARGET:,}): {verdict}"
        )
    return lines


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often every scenario runs (default 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="measured seconds per run (default 2)")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds before the measuring begins (default 1)")
    parser.add_argument(
        "--quiet-within", type=float, default=3.0, help="seconds to wait for a quiet machine (default 3)"
    )
    parser.add_argument("--only", default="", help="only scenarios whose name contains this")
    parser.add_argument("--json", type=Path, default=BUILD / "results.json", help="where the raw figures go")
    parser.add_argument("--work-dir", type=Path, default=BUILD, help="where data directories go: the disk measured")
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    build_program("load")
    facts = machine()
    print(f"bench: {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, Linux {facts['kernel']}")
    if facts["cores"] < 2:
        print("bench: one core only, server and load share it: rates mean little, CPU per request still does")
    chosen = [scenario for scenario in SCENARIOS if args.only in scenario.name]
    if not chosen:
        sys.exit(f"bench: no scenario's name contains {args.only!r}")
    results: dict[Scenario, list[dict[str, Any]]] = {scenario: [] for scenario in chosen}
    disturbed = 0
    frame_bytes = 110  # the size of load.c's heartbeats; corrected as soon as one has run
    try:
        for number in range(1, args.rounds + 1):
            for scenario in chosen:
                disturbed += not wait_for_quiet(args.quiet_within)
                run = measure(scenario, args, frame_bytes)
                results[scenario].append(run)
                if scenario.mode == "heartbeat":
                    frame_bytes = run["request_bytes"]
                print(
                    f"  round {number}: {label(scenario)}: {run['server_cpu_us_per_request']:.2f} CPU µs, "
                    f"{run['requests_per_second']:,.0f}/s",
                    flush=True,
                )
    except (BenchError, subprocess.TimeoutExpired) as problem:
        print(f"bench: FAILED: {problem}", file=sys.stderr)
        return 1
    print()
    print("\n".join(table(results)))
    disk = [run["fdatasync_us"] for runs in results.values() for run in runs if "fdatasync_us" in run]
    if disk:
        print(f"\nthis disk's own fdatasync of 4 kB: median {statistics.median(disk) / 1000:.2f} ms")
    if disturbed:
        print(f"{disturbed} of {args.rounds * len(chosen)} runs began on a busy machine: costs read too high")
    print("\n".join(verdicts(results)))
    report = [
        {"name": s.name, "connections": s.connections, "in_flight": s.in_flight, "runs": r} for s, r in results.items()
    ]
    write_json(args.json, {"machine": facts, "scenarios": report})
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-growth`: what a heartbeat and a commit cost as the rest grows; it should not matter.

Three curves of CPU time per request, on one core, drawn as `growth-*.svg`:
  members      10 to 100,000, made over few connections (`crowd.py`); beside them 1,000 real ones with `load.c` beat or
               commit, and all of the crowd beat in turn over a hundred connections
  offsets      1 to a million live ones in the log that the server started with (ten million with `--full`)
  connections  1 to 5,000 with one request in flight on each; what the kernel and the event loop take for that is not
               the same at every number of connections, so the uvloop echo stands beside
Each point is the lowest of some runs, because noise only adds. A curve is called flat when its highest point is at most
1.3 times its lowest; that of connections, when the ratio to the echo is from a hundred connections on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.crowd import Crowd, raise_file_limit
from bench.findings import Findings, Verdict, parser, pinned, plot_lines
from bench.live_offsets import RETENTION, cached, copy_of
from bench.measure import BUILD, BenchError, build_program, cores
from bench.report import markdown_table
from bench.servers import Running, coordinator, uvloop_echo

FLAT: Final = 1.3
TOPIC: Final = "bench:10"
OVERRIDES: Final = ("group.initial.rebalance.delay.ms=100", "max.groups=1000000", RETENTION)
BEATS: Final = 30_000


def load(server: Running, mode: str, connections: int, in_flight: int, args: argparse.Namespace) -> float:
    """CPU µs per request of one run of load.c; the lowest of `--runs`."""
    _, load_core = cores()
    command = [str(build_program("load")), "--mode", mode, "--port", str(server.port)]
    command += ["--connections", str(connections), "--in-flight", str(in_flight), "--group-size", "10"]
    command += ["--seconds", str(args.seconds), "--warmup", str(args.seconds / 2), "--frame-bytes", "110"]
    for pid in server.processes():
        command += ["--cpu-of", str(pid)]
    costs = []
    for _ in range(args.runs):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=pinned(load_core))
        if done.returncode != 0:
            raise BenchError(f"{mode}, {connections:,} connections: {done.stderr.strip() or done.stdout.strip()}")
        costs.append(float(json.loads(done.stdout)["server_cpu_us_per_request"]))
    return min(costs)


def beats(server: Running, crowd: Crowd, args: argparse.Namespace) -> float:
    """CPU µs per heartbeat of the crowd, all members in turn."""
    count = max(BEATS, crowd.size)
    costs = []
    for _ in range(args.runs):
        before = server.cpu_ns()
        crowd.beat(count)
        costs.append((server.cpu_ns() - before) / count / 1e3)
    return min(costs)


def members(findings: Findings, args: argparse.Namespace) -> None:
    points: list[dict[str, Any]] = findings.raw.setdefault("members", [])
    server_core, _ = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name,
        coordinator(Path(name), server_core, python=args.python, topics=[TOPIC], overrides=OVERRIDES) as server,
        Crowd(server.port) as crowd,
    ):
        for size in (10, 100, 1000, 10_000) if args.quick else (10, 100, 1000, 10_000, 100_000):
            before, had = server.cpu_ns(), crowd.size
            for _ in crowd.join(size):
                pass
            joined_us = (server.cpu_ns() - before) / max(1, crowd.size - had) / 1e3
            point = {
                "x": size,
                "heartbeat of the crowd": beats(server, crowd, args),
                "heartbeat": load(server, "heartbeat", 1000, 1, args),
                "commit": load(server, "commit", 100, 10, args),
                "join": joined_us,
            }
            crowd.leave_connections()
            points.append(point)
            told = ", ".join(f"{key} {value:.1f}" for key, value in point.items() if key != "x")
            findings.progress(f"{size:,} members: {told} µs")


def offsets(findings: Findings, args: argparse.Namespace) -> None:
    points: list[dict[str, Any]] = findings.raw.setdefault("offsets", [])
    server_core, _ = cores()
    sizes = [100, 10_000, 100_000] if args.quick else [100, 10_000, 1_000_000] + ([10_000_000] if args.full else [])
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
            directory = Path(name)
            data_dir = copy_of(cached(size, 100), directory / "data")
            with coordinator(
                directory,
                server_core,
                python=args.python,
                topics=[TOPIC],
                overrides=OVERRIDES,
                data_dir=data_dir,
                within_s=300,
            ) as server:
                point = {"x": size} | {
                    mode: load(server, mode, 100, 10, args) for mode in ("heartbeat", "commit", "fetch")
                }
        points.append(point)
        findings.progress(f"{size:,} offsets: commit {point['commit']:.1f}, fetch {point['fetch']:.1f} µs")


def connections(findings: Findings, args: argparse.Namespace) -> None:
    points: list[dict[str, Any]] = findings.raw.setdefault("connections", [])
    server_core, _ = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name,
        coordinator(
            Path(name) / "ours", server_core, python=args.python, topics=[TOPIC], overrides=OVERRIDES
        ) as server,
        uvloop_echo(Path(name) / "echo", server_core) as echo,
    ):
        for count in (1, 10, 100, 1000) if args.quick else (1, 10, 100, 1000, 5000):
            point = {
                "x": count,
                "heartbeat": load(server, "heartbeat", count, 1, args),
                "commit": load(server, "commit", count, 1, args),
                "uvloop echo": load(echo, "echo", count, 1, args),
            }
            point["heartbeat by echo"] = point["heartbeat"] / point["uvloop echo"]
            points.append(point)
            findings.progress(
                f"{count:,} connections: heartbeat {point['heartbeat']:.1f}, commit {point['commit']:.1f}, "
                f"echo {point['uvloop echo']:.1f} µs"
            )


def report(findings: Findings, plots: Path) -> None:
    for axis in ("members", "offsets", "connections"):
        points = findings.raw.get(axis) or []
        if not points:
            continue
        names = [name for name in points[0] if name != "x"]
        rows = [[f"{point['x']:,}", *(f"{point[name]:.2f}" for name in names)] for point in points]
        findings.table(f"CPU µs per request by {axis}", markdown_table([axis, *names], rows))
        drawn = [name for name in names if name not in ("join", "heartbeat by echo")]
        curves = {name: [(point["x"], point[name]) for point in points] for name in drawn}
        path = plots / f"growth-{axis}.svg"
        if plot_lines(path, f"CPU per request by {axis}", axis, "CPU µs per request", curves):
            findings.drawn.append(path)
        judged = ["heartbeat by echo"] if axis == "connections" else drawn
        for name in judged:
            values = [point[name] for point in points if axis != "connections" or point["x"] >= 100]
            if len(values) > 1:
                what = f"{name} by {axis}, highest point beside the lowest"
                findings.verdicts.append(Verdict(what, FLAT, "times", max(values) / min(values)))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--full", action="store_true", help="ten million offsets too (2 GB of disk, minutes)")
    arguments.add_argument("--plots", type=Path, default=BUILD, help="the directory for plots (SVG)")
    arguments.add_argument("--runs", type=int, default=5, help="of each point; the lowest counts (default 5)")
    arguments.add_argument("--seconds", type=float, default=0.6, help="measured per run (default 0.6)")
    arguments.add_argument("--only", default="", help="members, offsets or connections")
    args = arguments.parse_args()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    if args.quick:
        args.runs, args.seconds = 1, 0.5
    findings = Findings("growth", "Growth")
    for name, measure in (("members", members), ("offsets", offsets), ("connections", connections)):
        if args.only in name:
            findings.attempt(f"ours: by {name}", lambda measure=measure: measure(findings, args))
    report(findings, args.plots)
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

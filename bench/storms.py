"""`make bench-storms`: rebalance storms, beside Apache Kafka and kfake on one core each, taking turns.

One group of 1,000 members; 1,000 groups of 10; a rolling restart of the 100 members of one group. `storm.c` is the
members; what it measures is said there. The figure of a storm is the time from the last JoinGroup sent to the last
SyncGroup answered, of storms into a stable group (every member rejoins at once), so that no server's initial delay is
in it; medians over the rounds of all runs. CPU time is the server's whole process tree, per member and storm. A JVM
gets storms that are not counted first, because it compiles what it runs often.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.findings import Findings, Verdict, parser, pinned
from bench.measure import BenchError, build_program, cores
from bench.report import markdown_table
from bench.servers import Running, coordinator

OURS: Final = "ours"
DELAY: Final = {"group.initial.rebalance.delay.ms": "300"}
RUN_S: Final = 180


@dataclass(frozen=True, slots=True)
class Storm:
    """One shape of groups, and which of the phases of `storm.c` counts."""

    name: str
    groups: int
    size: int
    rounds: int
    restarts: int = 0

    @property
    def counted(self) -> str:
        return "restart" if self.restarts else "rejoin"


STORMS: Final = (
    Storm("1 group x 1,000 members", 1, 1000, 5),
    Storm("1,000 groups x 10 members", 1000, 10, 3),
    Storm("rolling restart of 100 members", 1, 100, 0, 100),
)
QUICK: Final = (
    Storm("1 group x 1,000 members", 1, 1000, 2),
    Storm("100 groups x 10 members", 100, 10, 2),
    Storm("rolling restart, 10 of 100 members", 1, 100, 0, 10),
)


def servers(core: set[int], python: str) -> dict[str, Callable[[Path], AbstractContextManager[Running]]]:
    """Return, by name, functions that start each server in a directory."""
    overrides = [f"{key}={value}" for key, value in DELAY.items()]
    ours = {OURS: lambda directory: coordinator(directory, core, python=python, overrides=overrides)}
    return ours | peers_at_hand.for_storms(core, DELAY)


def run_once(make: Callable[[Path], AbstractContextManager[Running]], storm: Storm, work_dir: Path, warm: int) -> Any:
    """One server, one storm program: what it printed. BenchError on any wrong answer."""
    _, load_core = cores()
    program = build_program("storm")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=work_dir) as name, make(Path(name)) as server:
        command = [str(program), "--port", str(server.port), "--groups", str(storm.groups), "--size", str(storm.size)]
        command += ["--rounds", str(storm.rounds + warm), "--restarts", str(storm.restarts)]
        for pid in server.processes():
            command += ["--cpu-of", str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, preexec_fn=pinned(load_core))
        if done.returncode != 0:
            last = server.log_tail().strip().splitlines()[-1:] or [""]
            raise BenchError(f"{done.stderr.strip()} (server's log ends: {last[0][:300]})")
        rss = server.memory().rss_bytes
    found = json.loads(done.stdout)
    counted = [each for each in found["storms"] if each["storm"] == storm.counted]
    return {"cold": found["storms"][0], "counted": counted[warm if storm.rounds else 0 :], "rss_bytes": rss}


def summary(runs: list[dict[str, Any]]) -> dict[str, float]:
    rounds = [each for run in runs for each in run["counted"]]

    def median(key: str) -> float:
        return statistics.median(each[key] for each in rounds)

    last = sorted(each["last_join_to_last_sync_ms"] for each in rounds)
    return {
        "last_ms": statistics.median(last),
        "best_ms": last[0],
        "worst_ms": last[-1],
        "first_ms": median("first_join_to_last_sync_ms"),
        "cpu_us": median("server_cpu_us_per_member"),
        "generator_busy": median("generator_busy_share"),
        "cold_ms": statistics.median(run["cold"]["first_join_to_last_sync_ms"] for run in runs),
        "rss_mb": max(run["rss_bytes"] for run in runs) / 1e6,
    }


def one_storm(findings: Findings, args: argparse.Namespace, storm: Storm) -> dict[str, dict[str, float]]:
    server_core, _ = cores()
    runs: dict[str, list[Any]] = {}
    makers = servers(server_core, args.python)
    for number in range(args.runs):
        for name, make in tuple(makers.items()):
            warm = 0 if name.startswith(OURS) else (1 if args.quick else 5 if storm.groups == 1 else 2)

            def run(name: str = name, make: Any = make, warm: int = warm) -> None:
                runs.setdefault(name, []).append(run_once(make, storm, args.work_dir, warm))

            if not findings.attempt(f"{name}: {storm.name}, run {number + 1}", run):
                del makers[name]
                continue
            found = summary(runs[name][-1:])
            findings.progress(f"{name}: {found['last_ms']:.0f} ms, {found['cpu_us']:.0f} CPU µs per member")
    found = {name: summary(each) for name, each in runs.items()}
    rows = [
        [
            name,
            f"{each['last_ms']:,.0f} ({each['best_ms']:,.0f}..{each['worst_ms']:,.0f})",
            f"{each['first_ms']:,.0f}",
            f"{each['cpu_us']:,.0f}",
            f"{each['cold_ms']:,.0f}",
            f"{each['rss_mb']:,.0f}",
            f"{each['generator_busy']:.0%}",
        ]
        for name, each in found.items()
    ]
    headings = ["server", "last join -> last sync, ms", "first join -> last sync, ms", "CPU µs per member"]
    headings += ["cold, with the delay of 300 ms", "RSS after, MB", "load busy"]
    findings.table(storm.name, markdown_table(headings, rows))
    findings.raw[storm.name] = {"summary": found, "runs": runs}
    return found


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=2, help="servers started for each storm (default 2)")
    arguments.add_argument("--no-peers", action="store_true", help="ours alone")
    arguments.add_argument("--only", default="", help="only storms whose name contains this")
    arguments.add_argument("--compiled", action="store_true", help="ours is compiled: hold it to that target")
    args = arguments.parse_args()
    peers_at_hand.enabled = not args.no_peers
    args.work_dir.mkdir(parents=True, exist_ok=True)
    findings = Findings("storms", "Rebalance storms")
    for storm in QUICK if args.quick else STORMS:
        if args.only not in storm.name:
            continue
        found = one_storm(findings, args, storm)
        ours = found.get(OURS, {})
        if storm.size == 1000:
            findings.verdicts.append(
                Verdict(
                    "1,000 members, last join -> last sync", 80 if args.compiled else 150, "ms", ours.get("last_ms")
                )
            )
        if ours and peers_at_hand.KAFKA in found:
            kafka = found[peers_at_hand.KAFKA]
            findings.verdicts.append(
                Verdict(f"{storm.name}, beside Apache Kafka's", kafka["last_ms"], "ms", ours["last_ms"])
            )
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-idle`: the cost of 100,000 idle members: memory, CPU time, stalls of the event loop.

The members come over 500 connections, wave after wave (`crowd.py`: groups of ten, real JoinGroup and SyncGroup),
and the connections are closed again, so that only members, groups and their timers are left. Memory is the resident set
of the server's processes beyond what it had when it was ready; and, because a first thousand members also bring code
and buffers to life, the slope between half of the members and all of them. Then the members are silent for some
seconds: the server's CPU time per second, and the longest answer to one probe that asks every millisecond.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.crowd import GROUP_SIZE, OVERRIDES, SESSION_MS, Crowd, raise_file_limit
from bench.findings import Findings, Verdict, parser
from bench.measure import BenchError, cores
from bench.probe import free_ports, own_stall_ms, scrape
from bench.report import markdown_table
from bench.servers import Running, coordinator
from bench.watch import Watcher

SETTLE_S: Final = 3.0
KFAKE_SESSION_MS: Final = 300_000  # its longest


def crowd_on(
    findings: Findings, running: Running, members: int, limit_s: float, session_ms: int = SESSION_MS
) -> dict[str, Any]:
    """Make the members and leave their connections; memory on the way."""
    ready = running.memory()
    half = ready
    cpu_ns = running.cpu_ns()
    begun = told = time.monotonic()
    with Crowd(running.port, session_ms=session_ms) as crowd:
        for count in crowd.join(members):
            now = time.monotonic()
            if half is ready and count >= members // 2:
                half, half_count = running.memory(), count
            if now - told > 10:
                findings.progress(f"{running.name}: {count:,} members")
                told = now
            if now - begun > limit_s:
                raise BenchError(f"{running.name}: only {count:,} of {members:,} members joined within {limit_s:g} s")
    cpu_ns = running.cpu_ns() - cpu_ns
    time.sleep(SETTLE_S)  # connections close, buffers go
    full = running.memory()
    per = 100_000 / members
    return {
        "members": members,
        "ready_mb": ready.rss_bytes / 1e6,
        "rss_mb": full.rss_bytes / 1e6,
        "mb_per_100k": (full.rss_bytes - ready.rss_bytes) * per / 1e6,
        "slope_mb_per_100k": (full.rss_bytes - half.rss_bytes) * 100_000 / (members - half_count) / 1e6,
        "join_cpu_us": cpu_ns / members / 1e3,
    }


def idle_cpu_ms(running: Running, seconds: float) -> float:
    """Return the CPU time in ms per second while all members are silent."""
    begun, cpu_ns = time.monotonic(), running.cpu_ns()
    time.sleep(seconds)
    return (running.cpu_ns() - cpu_ns) / 1e6 / (time.monotonic() - begun)


def ours(findings: Findings, args: argparse.Namespace, members: int, seconds: float) -> None:
    server_core, load_core = cores()
    (http_port,) = free_ports(1)
    overrides = [*OVERRIDES, "max.groups=1000000"]
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        directory = Path(name)
        with coordinator(
            directory, server_core, python=args.python, http_port=http_port, overrides=overrides
        ) as running:
            empty_cpu_ms = idle_cpu_ms(running, seconds / 2)
            found = crowd_on(findings, running, members, 240)
            found["idle_cpu_ms"] = idle_cpu_ms(running, seconds)
            found["empty_cpu_ms"] = empty_cpu_ms
            with Watcher(running.port, load_core, running.pid) as watcher:
                watcher.enter("idle")
                time.sleep(seconds)
                phases = watcher.finish()
            found["longest_ms"] = phases["idle"]["longest_with_a_core_ms"]
            metrics = scrape(http_port)
    found["own_stall_ms"] = own_stall_ms(metrics)
    findings.raw["ours"] = found


def peer(
    findings: Findings,
    args: argparse.Namespace,
    name: str,
    make: Callable[[Path], AbstractContextManager[Running]],
    members: int,
    seconds: float,
) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as directory, make(Path(directory)) as running:
        session_ms = KFAKE_SESSION_MS if name == peers_at_hand.KFAKE else SESSION_MS
        found = crowd_on(findings, running, members, 240, session_ms)
        found["idle_cpu_ms"] = idle_cpu_ms(running, seconds)
    findings.raw[name] = found


def report(findings: Findings, members: int) -> None:
    rows = [
        [
            name,
            f"{each['members']:,}",
            f"{each['ready_mb']:,.0f}",
            f"{each['rss_mb']:,.0f}",
            f"{each['mb_per_100k']:,.0f}",
            f"{each['slope_mb_per_100k']:,.0f}",
            f"{each['idle_cpu_ms']:.1f}",
            f"{each['join_cpu_us']:.0f}",
        ]
        for name, each in findings.raw.items()
    ]
    headings = [
        "server",
        "members",
        "RSS when ready, MB",
        "RSS with them, MB",
        "MB per 100,000",
        "the same, second half",
    ]
    headings += ["idle: CPU ms per second", "CPU µs per member joined"]
    findings.table(f"{members:,} members without connections, groups of {GROUP_SIZE}", markdown_table(headings, rows))
    found = findings.raw.get("ours")
    memory = found["mb_per_100k"] if found else None
    findings.verdicts.append(Verdict("memory per 100,000 members without connections", 60, "MB", memory))
    if found:
        findings.lines += [
            "",
            f"Ours, empty: {found['empty_cpu_ms']:.1f} CPU ms per second. Longest answer to a probe while idle with "
            f"these members: {found['longest_ms']:.1f} ms; longest stall since the start, by the daemon's own measure: "
            + ("not exported." if found["own_stall_ms"] is None else f"{found['own_stall_ms']:.1f} ms."),
        ]
        findings.verdicts.append(Verdict("longest stall while idle, from outside", 20, "ms", found["longest_ms"]))
    kafka = findings.raw.get(peers_at_hand.KAFKA)
    if found and kafka:
        share = found["rss_mb"] / kafka["rss_mb"]
        findings.verdicts.append(Verdict("memory beside Apache Kafka's with as many members", 0.1, "of it", share))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--no-peers", action="store_true", help="ours alone")
    args = arguments.parse_args()
    peers_at_hand.enabled = not args.no_peers
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    members, seconds = (10_000, 4.0) if args.quick else (100_000, 10.0)
    findings = Findings("idle", "Idle members")
    findings.attempt(f"ours: {members:,} members", lambda: ours(findings, args, members, seconds))
    settings = dict(each.split("=") for each in OVERRIDES)
    for name, make in peers_at_hand.for_storms(cores()[0], settings).items():
        findings.attempt(
            f"{name}: {members:,} members",
            lambda name=name, make=make: peer(findings, args, name, make, members, seconds),
        )
    report(findings, members)
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

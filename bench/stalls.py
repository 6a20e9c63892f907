"""`make bench-stalls`: the longest time the event loop keeps a client waiting, with a million objects in memory.

A daemon serves a million live offsets of 100,000 groups. A probe in a process of its own asks ApiVersions every
millisecond (`watch.py`), while one thing after another happens that could stop the loop; in a second daemon all the
offsets expire at once. Each phase is told with the longest answer that the probe saw, also less the time in which the
loop had no core to run on. In rebalances the probe waits behind a thousand requests that came before it: that is load.

The longest event of every kind is measured in process besides (`loop_events.py`), in processor time of the thread and
on the wall. Each kind runs REPEATED times, and the run with the shortest such event is told, because other load on the
machine only makes an event longer. `--events` measures these alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.crowd import Crowd, raise_file_limit
from bench.findings import Findings, Verdict, parser, pinned
from bench.live_offsets import RETENTION, cached, copy_of, group_name
from bench.loop_events import SCENARIOS
from bench.measure import HERE, BenchError, build_program, cores
from bench.probe import Probe, fetched_offset, free_ports, is_ready, own_stall_ms, scrape
from bench.report import markdown_table
from bench.servers import Running, coordinator
from bench.watch import Watcher
from protocol.messages.list_groups import ListGroupsRequest

TARGET_MS: Final = 20.0
REPEATED: Final = 2
EVENTS_S: Final = 300.0
NOT_OF_A_DAEMON: Final = "full_collection_of_1m_offsets"  # which the policy for the collector prevents
PER_GROUP: Final = 10
SCAN_MS: Final = 4000
PHASE_S: Final = 120.0
COMPACTION_S: Final = 300.0
STALLED: Final = re.compile(r"event loop stalled (for_ms=(\d+).*)")
WARN_MS: Final = "loop.stall.warn.ms=15"
Phase = tuple[str, Callable[[], None]]


class Session:
    """One daemon with its watcher; phases one after another."""

    def __init__(
        self, findings: Findings, running: Running, watcher: Watcher, http_port: int, args: argparse.Namespace
    ) -> None:
        self.findings = findings
        self.running = running
        self.watcher = watcher
        self.http_port = http_port
        self.args = args
        self.own: dict[str, float | None] = {}
        self.told: dict[str, str] = {}  # by phase: the daemon's own line about the longest stall in it
        self._log_read = 0

    def run(self, phases: list[Phase]) -> None:
        """A phase that cannot run is reported, and the others go on."""
        for name, act in phases:
            if self.args.only not in name and "loading" not in name:
                continue
            self.watcher.enter(name)
            self.findings.attempt(f"ours: {name}", act)
            self.watcher.enter("between")
            self.listen(name)
            with contextlib.suppress(BenchError):
                self.own[name] = own_stall_ms(scrape(self.http_port))
            time.sleep(0.5)

    def listen(self, phase: str) -> None:
        """Collect the daemon's log lines about stalls. It writes one in ten seconds and counts the others."""
        with (self.running.directory / "server.log").open(errors="replace") as log:
            log.seek(self._log_read)
            lines = STALLED.findall(log.read())
            self._log_read = log.tell()
        if lines:
            longest = max(lines, key=lambda each: int(each[1]))
            self.told[phase] = longest[0]

    # -- what may stop the loop ----------------------------------------------------------------------------------

    def quiet(self) -> None:
        time.sleep(3)

    def load(self) -> None:
        deadline = time.monotonic() + PHASE_S
        while not is_ready(self.http_port):
            if time.monotonic() > deadline:
                raise BenchError(f"not ready within {PHASE_S:g} s: {self.running.log_tail(300)}")
            time.sleep(0.05)

    def join(self) -> None:
        with Crowd(self.running.port) as crowd:
            for _ in crowd.join(1000 if self.args.quick else 10_000):
                pass
            crowd.beat(len(crowd.heartbeats) * 5)

    def scan(self) -> None:
        """Wait for two rounds of the scan for expired offsets; no offset has expired."""
        time.sleep(2.5 * SCAN_MS / 1000)

    def storm(self, groups: int, size: int) -> None:
        _, load_core = cores()
        command = [str(build_program("storm")), "--port", str(self.running.port)]
        command += ["--groups", str(groups), "--size", str(size), "--rounds", "3"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PHASE_S, preexec_fn=pinned(load_core), check=False
        )
        if done.returncode:
            raise BenchError(done.stderr.strip())

    def list_groups(self) -> None:
        with Probe(self.running.port) as probe:
            for _ in range(3):
                answer = probe.ask(ListGroupsRequest(), 4)
                if answer.error_code or len(answer.groups) < self.args.groups:
                    raise BenchError(f"ListGroups: error {answer.error_code}, {len(answer.groups):,} groups")
                time.sleep(0.2)

    def scrape(self) -> None:
        for _ in range(5):
            scrape(self.http_port)
            time.sleep(0.2)

    def compact(self) -> None:
        _, load_core = cores()
        command = [self.args.python, "-m", "coordinator", "compact", "--roll", "--mode", "single"]
        command += ["--min-cleanable-dirty-ratio", "0", "--data-dir", str(self.running.directory / "data")]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMPACTION_S,
            preexec_fn=pinned(load_core),
            cwd=self.running.directory,
            check=False,
        )
        if done.returncode:
            raise BenchError(f"compact: {(done.stderr or done.stdout).strip()[-400:]}")

    def expire(self) -> None:
        """Wait until sampled groups have no offset left: the retention is a minute, and the records are older."""
        deadline = time.monotonic() + PHASE_S
        asked = [group_name(number) for number in range(0, self.args.groups, max(1, self.args.groups // 50))]
        with Probe(self.running.port) as probe:
            while left := [group for group in asked if fetched_offset(probe, group, "topic-0", 0) != (0, -1)]:
                if time.monotonic() > deadline:
                    raise BenchError(f"{len(left)} of {len(asked)} groups have their offsets after {PHASE_S:g} s")
                time.sleep(0.5)


def serve(
    findings: Findings,
    args: argparse.Namespace,
    overrides: list[str],
    phases: Callable[[Session], list[Phase]],
) -> None:
    """One daemon on the offsets, from its first moment; its phases go to the findings."""
    server_core, load_core = cores()
    port, http_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name:
        directory = Path(name)
        copy_of(cached(args.offsets, 100, PER_GROUP), directory / "data")
        with contextlib.ExitStack() as stack:
            running = stack.enter_context(
                coordinator(
                    directory,
                    server_core,
                    python=args.python,
                    port=port,
                    http_port=http_port,
                    is_ready=lambda: port if accepts(port) else None,
                    overrides=[
                        "max.groups=1000000",
                        "group.initial.rebalance.delay.ms=100",
                        f"offsets.retention.check.interval.ms={SCAN_MS}",
                        WARN_MS,
                        *overrides,
                    ],
                )
            )
            watcher = stack.enter_context(Watcher(port, load_core, running.pid))
            session = Session(findings, running, watcher, http_port, args)
            session.run(phases(session))
            found = watcher.finish()
    for phase, each in found.items():
        if phase not in ("before", "between"):
            findings.raw.setdefault("phases", {})[phase] = {
                **each,
                "own_so_far_ms": session.own.get(phase),
                "told": session.told.get(phase),
            }


def accepts(port: int) -> bool:
    try:
        Probe(port, within_s=5).close()
    except OSError:
        return False
    return True


def events(findings: Findings, args: argparse.Namespace) -> None:
    """The longest event of every kind, each kind in a process of its own."""
    rows = []
    for name in SCENARIOS:
        if args.only not in name or name == NOT_OF_A_DAEMON:
            continue
        runs: list[dict[str, Any]] = []

        def run(name: str = name, runs: list[dict[str, Any]] = runs) -> None:
            command = [args.python, "-m", "bench.loop_events", "--json", "--scale", str(args.offsets / 1e6), name]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=EVENTS_S, cwd=HERE.parent, check=False
            )
            if done.returncode:
                raise BenchError(done.stderr.strip().splitlines()[-1])
            runs.append(json.loads(done.stdout))

        for _ in range(1 if args.quick else REPEATED):
            findings.attempt(f"ours: {name}", run)
        if not runs:
            continue
        best = min(runs, key=lambda each: float(each["longest_ms"]))
        what = name.replace("_", " ")
        rows.append([what, f"{best['longest_ms']:.1f}", f"{best['wall_ms']:.1f}", f"`{best['in']}`"])
        rows[-1] += [f"{best['events']:,}", f"{best['total_ms']:,}"]
        findings.raw.setdefault("events", {})[name] = runs
        findings.verdicts.append(Verdict(f"longest event, {what}", TARGET_MS, "ms", best["longest_ms"]))
    headings = ["what happens", "longest event, CPU ms", "the same on the wall", "in", "events", "CPU ms in all"]
    findings.table(f"The longest event of every kind, at {args.offsets:,} objects", markdown_table(headings, rows))


def report(findings: Findings, args: argparse.Namespace) -> None:
    phases: dict[str, dict[str, Any]] = findings.raw.get("phases", {})
    rows = []
    for name, each in phases.items():
        own = each["own_so_far_ms"]
        rows.append([name, f"{each['longest_ms']:.1f}", f"{each['longest_with_a_core_ms']:.1f}"])
        rows[-1] += [f"{each['p99_ms']:.2f}", f"{each['p50_ms']:.2f}"]
        rows[-1] += ["-" if own is None else f"{own:.1f}", f"{each['count']:,.0f}"]
        findings.verdicts.append(Verdict(f"longest stall, {name}", TARGET_MS, "ms", each["longest_with_a_core_ms"]))
    headings = [
        "what happens",
        "longest answer, ms",
        "the same, less the wait for a core",
        "p99",
        "p50",
        "daemon's own longest so far, ms",
        "probes",
    ]
    findings.table(f"A probe beside {args.offsets:,} offsets of {args.groups:,} groups", markdown_table(headings, rows))
    told = [f"- {name}: {each['told']}" for name, each in phases.items() if each["told"]]
    if told:
        findings.lines += ["", "What the daemon said of its longest stalls itself:", "", *told]


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--only", default="", help="only phases whose name contains this, and loading")
    arguments.add_argument("--events", action="store_true", help="only the events that are measured in process")
    arguments.add_argument("--offsets", type=int, help="how many live offsets (default 1,000,000)")
    args = arguments.parse_args()
    args.offsets = args.offsets or (100_000 if args.quick else 1_000_000)
    args.groups = args.offsets // PER_GROUP
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    findings = Findings("stalls", "Stalls of the event loop")

    def living(session: Session) -> list[Phase]:
        return [
            ("loading", session.load),
            ("nothing", session.quiet),
            ("10,000 members join, and 50,000 heartbeats", session.join),
            ("scans for expired offsets", session.scan),
            ("rebalances of 1 group x 1,000", lambda: session.storm(1, 1000)),
            ("rebalances of 100 groups x 10", lambda: session.storm(100, 10)),
            ("listing of all groups", session.list_groups),
            ("scrapes of /metrics", session.scrape),
            ("compaction, with its exchange", session.compact),
        ]

    def expiring(session: Session) -> list[Phase]:
        return [("loading, once more", session.load), ("expiry of all offsets at once", session.expire)]

    events(findings, args)
    if args.events:
        return findings.finish(args)
    findings.attempt("ours: a daemon with live offsets", lambda: serve(findings, args, [RETENTION], living))
    findings.attempt(
        "ours: a daemon whose offsets have expired",
        lambda: serve(findings, args, ["offsets.retention.minutes=1"], expiring),
    )
    report(findings, args)
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

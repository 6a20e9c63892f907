"""`make bench`: group coordinators side by side, in one run, under the same load.

All servers of a comparison are started first and stay; then they take turns under each load, in every round in another
order, so that a noisy minute hits them all alike, and the tables show medians over the rounds. The figure to trust is
CPU time of the server's process tree per request. Two comparisons: one pinned core for each server with the load on
another; all cores for each, which server and load then share. A JVM is warmed up first, with each kind of request for
some seconds, and is measured in a server that stays, so that its compiler has done its work.

A server that does not start, or ends, is named as not run, and the run goes on. The run ends within the time that it
says (--minutes). Exit code 1 means wrong answers from ours, or that ours did not start; a slow figure is printed, never
an error. `--render` makes tables and plots again from saved results.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import pages, plots, tables
from bench.measure import (
    BUILD,
    HERE,
    BenchError,
    all_cores,
    build_program,
    cores,
    fdatasync_us,
    machine,
    wait_for_quiet,
)
from bench.report import write_json
from bench.scenarios import ECHOES, SCENARIOS, Peer, Scenario, peers, versions
from bench.servers import Running
from bench.targets import verdicts

COMPILED: Final = HERE.parent / ".venv-compiled" / "bin" / "python"
DISTURBED_SHARE: Final = 0.1
GIVES_UP_AFTER: Final = 2  # failures in a row
SETUP_S: Final = 1.1  # of one measurement, as a first guess: joining, leaving, the process
START_S: Final = {"jvm": 5.0, "other": 0.4}  # likewise
WARM_UP_MODES: Final = (("heartbeat", 1), ("commit", 10), ("fetch", 1))


def parse_args(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="one short round of the most telling loads: about two minutes")
    add("--rounds", type=int, help="how often every server meets every load (default 3; --quick 1)")
    add("--seconds", type=float, help="measured seconds each time (default 1.2; --quick 0.7)")
    add("--warmup", type=float, help="seconds under load before that (default 0.4; --quick 0.2)")
    add("--jvm-warmup", type=float, help="seconds for each kind of request before a JVM counts (default 4; --quick 1)")
    add("--only", default="", metavar="WORD", help="only loads whose name or title contains this")
    add("--peers", default="", metavar="KEY,...", help="only these servers; --list shows the keys")
    add("--cores", choices=("one", "all", "both"), default="both", help="which comparison (default both)")
    add("--minutes", type=float, help="begin nothing new after this (default: half again what is expected)")
    add(
        "--compiled-python",
        metavar="PATH",
        default=str(COMPILED) if COMPILED.exists() else None,
        help="the interpreter of an environment with the compiled wheel (default: the one of make compiled-venv)",
    )
    add("--quiet-within", type=float, default=5.0, help="seconds a round waits for a quiet machine (default 5)")
    add("--work-dir", type=Path, default=BUILD, help="where data directories go: the disk measured")
    add("--json", type=Path, default=BUILD / "results.json", help="where the raw figures go")
    add("--markdown", type=Path, default=BUILD / "results.md", help="a page: all of it, or between its bench markers")
    add("--plots", type=Path, default=BUILD, help="the directory for plots (SVG)")
    add("--render", type=Path, metavar="FILE", help="measure nothing: show these results")
    add("--list", action="store_true", help="name the loads and servers, and end")
    args = parser.parse_args(words)
    if args.compiled_python:  # servers start elsewhere; not resolved, because a venv's interpreter is a link
        args.compiled_python = str(Path(args.compiled_python).absolute())
    for name, long, short in (("rounds", 3, 1), ("seconds", 1.2, 0.7), ("warmup", 0.4, 0.2), ("jvm_warmup", 4, 1)):
        if getattr(args, name) is None:
            setattr(args, name, short if args.quick else long)
    return args


class Progress:
    """One line for everything that is measured, with what is left."""

    def __init__(self, total: int, expected_s: float) -> None:
        self.begun = time.monotonic()
        self._total, self._expected_s = total, expected_s
        self._done = 0
        self._until = self.begun + expected_s

    def allow(self, seconds: float) -> None:
        """Set the time from now after which no new measurement begins; each comparison has its own share."""
        self._until = time.monotonic() + seconds

    @property
    def over(self) -> bool:
        return time.monotonic() > self._until

    def say(self, what: str) -> None:
        left_s = int(max(0.0, self._expected_s * (1 - self._done / max(1, self._total))))
        print(f"[{self._done:3d}/{self._total}, about {left_s // 60}:{left_s % 60:02d} left] {what}", flush=True)

    def step(self, cells: int = 1) -> None:
        self._done += cells
        gone = time.monotonic() - self.begun
        self._expected_s = gone / self._done * self._total if self._done > 10 else self._expected_s


class Bench:
    """The state of one run: who is up, who gave up, what was found."""

    def __init__(self, args: argparse.Namespace, chosen: list[Scenario], by_key: dict[str, Peer]) -> None:
        self.args = args
        self.chosen = chosen
        self.by_key = by_key
        self.not_run: dict[str, str] = {}
        self.ours_failed = False
        self.facts: dict[str, dict[str, Any]] = {key: {"label": peer.label} for key, peer in by_key.items()}
        self.runs: dict[str, dict[str, list[dict[str, Any]]]] = {s.key: {} for s in chosen}
        self.failures: dict[tuple[str, str], int] = {}
        self.frame_bytes = 110  # of a heartbeat; corrected as soon as one has run
        self.disk_us: list[float] = []
        expected_s = sum(self.expected_s(kind) for kind in self.kinds())
        limit_s = args.minutes * 60 if args.minutes else expected_s * 1.5 + 60
        self.stretch = limit_s / expected_s
        self.progress = Progress(sum(self.cells(kind) for kind in self.kinds()), expected_s)
        print(
            f"bench: {sum(map(self.cells, self.kinds()))} measurements, about {expected_s / 60:.1f} minutes on a "
            f"quiet machine; nothing new begins after {limit_s / 60:.1f} minutes",
            flush=True,
        )

    def cells(self, kind: str) -> int:
        rounds: int = self.args.rounds
        return sum(len(self.of(s)) for s in self.chosen if s.cores == kind) * rounds

    def expected_s(self, kind: str) -> float:
        each_s: float = self.args.seconds + self.args.warmup + SETUP_S
        jvms = sum(self.by_key[key].is_jvm for key in self.needed(kind))
        warming: float = START_S["jvm"] + len(WARM_UP_MODES) * (self.args.jvm_warmup + SETUP_S)
        starting = jvms * warming + (len(self.needed(kind)) - jvms) * START_S["other"]
        return starting + self.cells(kind) * each_s

    def of(self, scenario: Scenario) -> list[str]:
        return [key for key in scenario.peers if key in self.by_key and key not in self.not_run]

    def kinds(self) -> list[str]:
        return [kind for kind in ("one", "all") if any(s.cores == kind for s in self.chosen)]

    def needed(self, kind: str) -> list[str]:
        asked = {key for s in self.chosen if s.cores == kind for key in self.of(s)}
        return [key for key in self.by_key if key in asked]

    def load(self, server: Running, scenario: Scenario, seconds: float, warmup: float, *, echo: bool) -> dict[str, Any]:
        """One run of load.c: what it printed. BenchError on any wrong answer, or when it takes far too long."""
        command = [str(BUILD / "load"), "--port", str(server.port), "--mode", "echo" if echo else scenario.mode]
        for name in ("connections", "in_flight", "partitions", "rate"):
            command += [f"--{name.replace('_', '-')}", str(getattr(scenario, name))]
        command += ["--seconds", str(seconds), "--warmup", str(warmup), "--group-size", str(scenario.group_size)]
        command += ["--frame-bytes", str(self.frame_bytes), "--sleep", str(int(scenario.cores == "all"))]
        for pid in server.processes():
            command += ["--cpu-of", str(pid)]
        core = cores()[1] if scenario.cores == "one" else all_cores()
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=seconds + warmup + 25,
                preexec_fn=lambda: os.sched_setaffinity(0, core),
            )
        except subprocess.TimeoutExpired:
            raise BenchError("no end within 25 seconds more than planned") from None
        if done.returncode != 0:
            raise BenchError((done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}")[-400:])
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def measure(self, server: Running, scenario: Scenario, key: str) -> None:
        disk = fdatasync_us(server.directory, 40) if scenario.mode == "commit" else []
        foreign = Foreign(server)
        result = self.load(server, scenario, self.args.seconds, self.args.warmup, echo=key in ECHOES)
        result["foreign_share"] = foreign.share()
        result["disturbed"] = result["foreign_share"] > DISTURBED_SHARE
        if disk:
            result["fdatasync_us"] = statistics.median(disk)
            self.disk_us += disk
        if scenario.mode == "heartbeat" and self.by_key[key].ours:
            self.frame_bytes = result["request_bytes"]
        self.runs[scenario.key].setdefault(key, []).append(result)
        late = "; the load was late" if result["generator_is_the_bottleneck"] else ""
        self.progress.say(
            f"{scenario.title}: {self.by_key[key].label}: {result['server_cpu_us_per_request']:.2f} CPU µs, "
            f"{result['requests_per_second']:,.0f}/s, p99 {result['p99_us'] / 1000:.2f} ms{late}"
        )

    def compare(self, kind: str) -> None:
        """Make one comparison: start all servers, measure in turns, and stop them."""
        core = cores()[0] if kind == "one" else all_cores()
        mine = [scenario for scenario in self.chosen if scenario.cores == kind]
        self.progress.allow(self.expected_s(kind) * self.stretch)
        with ExitStack() as stack:
            up = {key: server for key in self.needed(kind) if (server := self.start(stack, key, kind, core))}
            time.sleep(1)
            before = {key: (server.cpu_ns(), time.monotonic()) for key, server in up.items()}
            time.sleep(1)
            for key, (used, at) in before.items():
                idle = (up[key].cpu_ns() - used) / 1e9 / (time.monotonic() - at)
                self.facts[key].setdefault(kind, {})["idle_cpu_share"] = idle
            for number in range(self.args.rounds):
                if not wait_for_quiet(self.args.quiet_within):
                    self.progress.say(f"round {number + 1} begins on a busy machine: costs may read too high")
                for scenario in mine:
                    here = [key for key in self.of(scenario) if key in up]
                    turn = number % max(1, len(here))
                    for key in here[turn:] + here[:turn]:
                        if not self.progress.over:
                            self.attempt(up, scenario, key)
            if self.progress.over:
                print("bench: the time for this comparison is up; what was measured so far is reported", flush=True)
            self.weigh(up, kind)

    def weigh(self, up: dict[str, Running], kind: str) -> None:
        for key, server in up.items():
            try:
                self.facts[key].setdefault(kind, {})["memory"] = asdict(server.memory())
            except OSError:
                continue

    def start(self, stack: ExitStack, key: str, kind: str, core: set[int]) -> Running | None:
        peer = self.by_key[key]
        directory = Path(tempfile.mkdtemp(prefix=f"bench-{key}-", dir=self.args.work_dir))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        begun = time.monotonic()
        try:
            server = stack.enter_context(peer.start(peer.label, directory, core))
            self.facts[key].setdefault(kind, {})["memory_at_start"] = asdict(server.memory())
            self.progress.say(f"{peer.label} is up after {time.monotonic() - begun:.1f} s")
            if peer.is_jvm:
                for mode, partitions in WARM_UP_MODES:
                    warm = Scenario("", "warm-up", mode, 100, (), in_flight=10, partitions=partitions, cores=kind)
                    self.load(server, warm, self.args.jvm_warmup, 0.1, echo=False)
                self.progress.say(f"{peer.label} is warmed up: {self.args.jvm_warmup:g} s of each kind of request")
            return server
        except (BenchError, OSError, subprocess.SubprocessError, AssertionError) as problem:
            self.give_up(key, str(problem))
            return None

    def give_up(self, key: str, why: str) -> None:
        print(f"bench: {self.by_key[key].label}: NOT RUN: {why}", flush=True)
        self.not_run.setdefault(key, why.strip().splitlines()[0][:300] if why.strip() else "no reason given")
        optional = key.startswith("compiled") and self.args.compiled_python is None
        self.ours_failed = self.ours_failed or (self.by_key[key].ours and not optional)

    def attempt(self, up: dict[str, Running], scenario: Scenario, key: str) -> None:
        at = (scenario.key, key)
        try:
            if self.failures.get(at, 0) < GIVES_UP_AFTER:
                self.measure(up[key], scenario, key)
        except (BenchError, OSError, ValueError) as problem:
            self.failures[at] = self.failures.get(at, 0) + 1
            told = self.facts[key].setdefault("failures", [])
            if (text := f"{scenario.title}: {problem}") not in told:
                told.append(text)
            self.progress.say(f"{scenario.title}: {self.by_key[key].label}: FAILED: {problem}")
            self.ours_failed = self.ours_failed or self.by_key[key].ours
            if not up[key].is_alive():
                self.give_up(key, f"it ended by itself: {up[key].log_tail()[-300:]}")
                del up[key]
        self.progress.step()

    def results(self, facts: dict[str, Any]) -> dict[str, Any]:
        listed = [{**asdict(s), "title": s.title, "runs": self.runs[s.key]} for s in self.chosen]
        settings = {name: getattr(self.args, name) for name in ("rounds", "seconds", "warmup", "jvm_warmup", "quick")}
        results = {
            "machine": facts,
            "settings": settings,
            "fdatasync_us": self.disk_us,
            "versions": versions(self.by_key, self.args.compiled_python),
            "peers": self.facts,
            "not_run": self.not_run,
            "scenarios": listed,
        }
        results["verdicts"] = verdicts(results)
        return results


class Foreign:
    """Share of the machine that other processes used during a measurement."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._before = self._now()

    def _now(self) -> tuple[float, float, float]:
        fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = self._server.cpu_ns() / 1e9 + children.ru_utime + children.ru_stime
        return (sum(fields) - fields[3] - fields[4]) / tick, sum(fields) / tick, ours

    def share(self) -> float:
        busy, total, ours = (after - before for after, before in zip(self._now(), self._before, strict=True))
        return max(0.0, (busy - ours) / max(0.01, total))


def show(results: dict[str, Any], args: argparse.Namespace) -> None:
    """Tables on the terminal, the Markdown page, the plots."""
    lines = tables.page(results)
    print("\n" + "\n".join(lines))
    drawn = plots.draw(results, args.plots)
    pages.put(args.markdown, "bench", lines, drawn)
    print(f"\nMarkdown: {args.markdown}; plots: {', '.join(path.name for path in drawn) or 'none'}")


@contextmanager
def many_files() -> Iterator[None]:
    """Servers inherit the limit: a thousand connections need more than the usual 1,024 files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def choose(args: argparse.Namespace) -> tuple[list[Scenario], dict[str, Peer]]:
    by_key = peers(args.compiled_python)
    wanted = [key.strip() for key in args.peers.split(",") if key.strip()] or list(by_key)
    if unknown := sorted(set(wanted) - set(by_key)):
        raise BenchError(f"no server is called {', '.join(unknown)}; there are {', '.join(by_key)}")
    if not args.peers and args.compiled_python is None:
        wanted = [key for key in wanted if not key.startswith("compiled")]
    picked = {key: peer for key, peer in by_key.items() if key in wanted}
    chosen = [
        scenario
        for scenario in SCENARIOS
        if args.only in f"{scenario.key} {scenario.title}"
        and args.cores in (scenario.cores, "both")
        and (scenario.quick or not args.quick or args.only)
        and any(key in picked for key in scenario.peers)
    ]
    if not chosen:
        raise BenchError(f"no load's name contains {args.only!r}; --list shows them")
    return chosen, picked


def main(words: Sequence[str] | None = None) -> int:
    args = parse_args(words)
    try:
        if args.render:
            results = json.loads(args.render.read_text())
            results["verdicts"] = verdicts(results)
            show(results, args)
            return 0
        chosen, by_key = choose(args)
        if args.list:
            for scenario in chosen:
                print(f"{scenario.key:20}{scenario.title}")
            for key, peer in by_key.items():
                print(f"{key:20}{peer.label}")
            return 0
        build_program("load")
    except (BenchError, OSError, ValueError, subprocess.SubprocessError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    facts = machine()
    print(f"bench: {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, Linux {facts['kernel']}")
    if facts["cores"] < 2:
        print("bench: one core only, server and load share it: rates mean little, CPU per request still does")
    told = versions(by_key, args.compiled_python).get("ours compiled", "(compiled")
    if "(compiled" not in told:
        print(f"bench: {args.compiled_python} has no compiled build: {told}")
    bench = Bench(args, chosen, by_key)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the servers must be stopped, also after a signal
    try:
        with many_files():
            for kind in bench.kinds():
                bench.compare(kind)
    except KeyboardInterrupt:
        print("\nbench: interrupted; what was measured so far is reported", flush=True)
        bench.ours_failed = True  # not a whole run: no script should take it for one
    facts["minutes"] = (time.monotonic() - bench.progress.begun) / 60
    results = bench.results(facts)
    write_json(args.json, results)
    show(results, args)
    print(f"raw figures: {args.json}")
    return 1 if bench.ours_failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""`make whatif-live`: predictions of `coordinator whatif` beside live runs with the changed setting.

Each scenario runs twice with real clients (librdkafka) at a real daemon: with the settings of the recording, whose
events are replayed with the changed ones, and with the changed ones. Compared are partition-seconds lost: what the
daemon recorded, and for how long members were silent, which this program knows because it stops and kills them. An
error below FLOOR_S partition-seconds counts as none.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.report import markdown_table
from coordinator.core.events.model import AnyEvent, ChangeKind, Rebalance
from coordinator.whatif.figures import of_rebalances
from coordinator.whatif.grid import run_alternative
from coordinator.whatif.recorded import recording_of
from coordinator.whatif.settings import parse_settings
from tests.support.daemon import Daemon
from tests.support.group_events import story

TOPIC: Final = "orders"
PARTITIONS: Final = 12
MEMBERS: Final = 3
SEEDS: Final = 40
WITHIN: Final = 0.15
FLOOR_S: Final = 1.0  # partition-seconds
SETTLED_S: Final = 4.0  # after all members own something, so that their heartbeats are parked
AT_ONCE: Final = 3  # scenarios; each has two runs of three clients
REMOVED: Final = frozenset({ChangeKind.EXPIRED, ChangeKind.DROPPED})
Settings = dict[str, str]  # of librdkafka, with `static`


class LiveMember:
    """A consumer process that may be closed, killed, stopped and started again."""

    def __init__(self, number: int, server: str, group: str, settings: Settings) -> None:
        config: dict[str, Any] = {key: value for key, value in settings.items() if key != "static"}
        config |= {"bootstrap.servers": server, "group.id": group, "client.id": f"{group}-{number}"}
        if settings.get("static") == "true":
            config["group.instance.id"] = f"{group}-{number}"
        self._command = [sys.executable, "-m", "bench.whatif_member", TOPIC, json.dumps(config)]
        self.is_static = "group.instance.id" in config
        self.client_id = config["client.id"]
        self.owned = 0
        self.silences: list[tuple[int, int, int]] = []  # from, until, partitions
        self._silent_from_ms = self._silent_owned = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if told["owned"] and self._silent_from_ms and process is self._process:
                self._back(told["at_ms"])  # the next run of a static member has its partitions
            self.owned = told["owned"]

    def say(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        if self.is_static:
            self._silent()
        self.say("close")
        self._process.wait(30)
        if not self.is_static:
            self.owned = 0

    def kill(self) -> None:
        self._silent()
        self._process.kill()
        self._process.wait()

    def pause(self, seconds: float) -> None:
        self._silent()
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)
        self._back(_now_ms())

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _silent(self) -> None:
        self._silent_from_ms, self._silent_owned = _now_ms(), self.owned

    def _back(self, at_ms: int) -> None:
        self.silences.append((self._silent_from_ms, at_ms, self._silent_owned))
        self._silent_from_ms = 0

    def lost_ms(self, removed_ms: list[int], until_ms: int) -> int:
        """Return the partition-milliseconds of its silences, each until it came back or was removed."""
        silences = self.silences[:]
        if self._silent_from_ms:
            silences.append((self._silent_from_ms, until_ms, self._silent_owned))
        return sum(
            owned * (min([end, *(at for at in removed_ms if begin < at)]) - begin) for begin, end, owned in silences
        )


Script = Callable[[list[LiveMember]], None]


@dataclass(frozen=True, slots=True)
class LiveScenario:
    """A script, the settings with which it is recorded, and what is changed for the second run."""

    name: str
    script: Script
    recorded: Settings
    changed: Settings
    parks: tuple[bool, bool] = (True, True)  # whether the daemon parks heartbeats, in each run
    others: Settings = field(default_factory=dict)  # of both runs


def crash(members: list[LiveMember]) -> None:
    members[1].kill()
    time.sleep(16)


def restart(away_s: float, rounds: int = 1, which: int = 1) -> Script:
    """Restart `which` members, one after another, so often."""

    def script(members: list[LiveMember]) -> None:
        for _ in range(rounds):
            for member in members[:which]:
                member.close()
                time.sleep(away_s)
                member.start()
                time.sleep(5)

    return script


def paused(seconds: float) -> Script:
    def script(members: list[LiveMember]) -> None:
        members[1].pause(seconds)
        time.sleep(6)

    return script


def slow(seconds: float) -> Script:
    def script(members: list[LiveMember]) -> None:
        members[1].say(f"sleep {seconds}")
        time.sleep(seconds + 6)

    return script


def bounce(away_s: float) -> Script:
    """Kill a member, and start it again after a time."""

    def script(members: list[LiveMember]) -> None:
        members[1].kill()
        time.sleep(away_s)
        members[1].start()
        time.sleep(8)

    return script


SESSION, INTERVAL, POLL = "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms"
STRATEGY: Final = "partition.assignment.strategy"
SCENARIOS: Final = (
    LiveScenario("crash, session 6 s to 10 s", crash, {SESSION: "6000"}, {SESSION: "10000"}),
    LiveScenario("crash, session 10 s to 6 s", crash, {SESSION: "10000"}, {SESSION: "6000"}),
    LiveScenario("restart of one, dynamic to static", restart(4.0), {}, {"static": "true"}),
    LiveScenario("deploy of all, dynamic to static", restart(3.0, which=3), {}, {"static": "true"}),
    LiveScenario(
        "stopped for 5 s, session 3 s to 10 s", paused(5), {SESSION: "3000", INTERVAL: "1000"}, {SESSION: "10000"}
    ),
    LiveScenario(
        "stopped for 8 s, session 3 s to 6 s", paused(8), {SESSION: "3000", INTERVAL: "1000"}, {SESSION: "6000"}
    ),
    LiveScenario(
        "static killed for 8 s, session 6 s to 15 s",
        bounce(8),
        {SESSION: "6000"},
        {SESSION: "15000"},
        others={"static": "true"},
    ),
    LiveScenario("killed for 3 s, dynamic to static", bounce(3), {SESSION: "8000"}, {"static": "true"}),
    LiveScenario(
        "poll of 9 s, max.poll.interval 6 s to 12 s", slow(9), {POLL: "6000"}, {POLL: "12000"}, others={SESSION: "6000"}
    ),
    LiveScenario(
        "deploys, heartbeat 3 s to 1 s, not parked",
        restart(4.0, 2, 3),
        {INTERVAL: "3000"},
        {INTERVAL: "1000"},
        (False, False),
    ),
    LiveScenario(
        "deploys, heartbeat 1 s to 3 s, not parked",
        restart(4.0, 2, 3),
        {INTERVAL: "1000"},
        {INTERVAL: "3000"},
        (False, False),
    ),
    LiveScenario(
        "deploys, parked to not parked", restart(4.0, 2, 3), {}, {"group.heartbeat.park.ms": "0"}, (True, False)
    ),
    LiveScenario(
        "deploys, range to cooperative, not parked",
        restart(4.0, 2, 3),
        {STRATEGY: "range"},
        {STRATEGY: "cooperative-sticky"},
        (False, False),
    ),
)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The events of a run since all members were stable, and the partition-seconds lost."""

    events: list[AnyEvent]
    lost_s: float


def live(scenario: LiveScenario, settings: Settings, daemon: Daemon, group: str) -> LiveRun:
    """Run a scenario with real clients."""
    client = {key: value for key, value in settings.items() if key != "group.heartbeat.park.ms"}
    members = [
        LiveMember(number, f"127.0.0.1:{daemon.port}", group, {SESSION: "45000", STRATEGY: "range", **client})
        for number in range(MEMBERS)
    ]
    try:
        _settle(members)
        begun_ms = _now_ms()
        scenario.script(members)
        _settle([member for member in members if member.owned], all_own=False)
        events = [event for event in story(daemon.port, group) if event.at_ms >= begun_ms]
        removed: dict[str, list[int]] = {}
        for event in (event for event in events if isinstance(event, Rebalance)):
            for change in event.changes:
                if change.kind in REMOVED:
                    removed.setdefault(change.member.client_id, []).append(event.at_ms + change.after_ms)
        silent_ms = sum(member.lost_ms(removed.get(member.client_id, []), _now_ms()) for member in members)
        found = of_rebalances(event for event in events if isinstance(event, Rebalance))
        return LiveRun(events, (found.lost_partition_ms + silent_ms) / 1_000)
    finally:
        for member in members:
            member.end()


def _settle(members: list[LiveMember], *, all_own: bool = True) -> None:
    ends = time.monotonic() + 60
    while all_own and sum(member.owned for member in members if member.owned) < PARTITIONS:
        if time.monotonic() > ends:
            raise TimeoutError("the members do not own all partitions")
        time.sleep(0.1)
    time.sleep(SETTLED_S)


def predicted(run: LiveRun, changed: Settings) -> float:
    """Return the median prediction from the events of a run, in partition-seconds."""
    recording = recording_of(run.events, {TOPIC: PARTITIONS})
    settings = parse_settings([f"{key}={value}" for key, value in changed.items()])
    cells = run_alternative(recording, settings, 0, range(SEEDS))
    return median(cell.figures.lost_partition_ms / 1_000 for cell in cells)


def play_both(scenario: LiveScenario, daemons: dict[bool, Daemon], number: int) -> dict[str, Any]:
    first = {**scenario.others, **scenario.recorded}
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(live, scenario, settings, daemons[parks], f"live-{number}-{which}")
            for which, settings, parks in zip("ab", (first, {**first, **scenario.changed}), scenario.parks, strict=True)
        ]
        before, after = (run.result() for run in runs)
    found = predicted(before, scenario.changed)
    error = abs(found - after.lost_s)
    is_within = error <= max(WITHIN * after.lost_s, FLOOR_S)
    return {
        "name": scenario.name,
        "recorded_s": before.lost_s,
        "unchanged_s": predicted(before, {}),
        "predicted_s": found,
        "live_s": after.lost_s,
        "error": error / after.lost_s if after.lost_s else 0.0,
        "is_within": is_within,
    }


def compare(findings: Findings, chosen: list[LiveScenario], directory: Path) -> None:
    rows = []
    overrides = ("group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=500")
    with (
        Daemon(directory / "parks", topics=[f"{TOPIC}:{PARTITIONS}"], overrides=overrides) as parks,
        Daemon(
            directory / "plain", topics=[f"{TOPIC}:{PARTITIONS}"], overrides=(*overrides, "group.heartbeat.park.ms=0")
        ) as plain,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        daemons = {True: parks, False: plain}
        tasks = [pool.submit(play_both, each, daemons, number) for number, each in enumerate(chosen)]
        for task in tasks:
            found = task.result()
            findings.raw.setdefault("scenarios", []).append(found)
            findings.progress(f"{found['name']}: predicted {found['predicted_s']:.1f}, live {found['live_s']:.1f}")
            figures = [f"{found[key]:.1f}" for key in ("recorded_s", "unchanged_s", "predicted_s", "live_s")]
            rows.append([found["name"], *figures, f"{found['error']:.0%}", "yes" if found["is_within"] else "no"])
    headings = ["scenario", "recorded", "replayed", "predicted", "live", "error", f"within {WITHIN:.0%}"]
    findings.table("Partition-seconds lost", markdown_table(headings, rows))
    good = sum(found["is_within"] for found in findings.raw["scenarios"])
    findings.verdicts.append(Verdict(f"scenarios within {WITHIN:.0%}, of {len(chosen)}", 10, "", good, "at least"))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--only", default="", metavar="TEXT", help="the scenarios with this text in their name")
    args = arguments.parse_args()
    findings = Findings("whatif_live", "Predictions of what-if runs beside live runs")
    chosen = [each for each in SCENARIOS if args.only in each.name][: 2 if args.quick else None]
    with tempfile.TemporaryDirectory(prefix="whatif-live-") as directory:
        findings.attempt("live runs", lambda: compare(findings, chosen, Path(directory)))
    return findings.finish(args)


def _now_ms() -> int:
    return round(time.time() * 1_000)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-whatif`: what a what-if run costs, and how long 1,000 groups x 50 settings x 10 seeds take with Spark.

The recordings are made by the player: groups of three to six members with about twenty rebalances within two weeks. One
process is measured first, then Spark with one core and with all of them. Without `--full` the job has fewer groups, and
the time of the full one is extrapolated from the time of a run.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec

from bench.findings import Findings, Verdict, parser
from bench.report import markdown_table
from coordinator.core.events.model import Rebalance, decode_event
from coordinator.spark.spark_session import SessionSettings, open_session
from coordinator.version import is_compiled
from coordinator.whatif.grid import run_alternative
from coordinator.whatif.player import play
from coordinator.whatif.recorded import recording_of
from coordinator.whatif.settings import Settings, parse_settings
from coordinator.whatif.spark_whatif import run_with_spark
from coordinator.whatif.spec import PlayedGroup, PlayedMember, Stimulus, StimulusAction

GROUPS: Final = 1_000
SETTINGS: Final = 50
SEEDS: Final = 10
TARGET_S: Final = 600
FROM_MS: Final = 1_700_000_000_000
HOUR_MS: Final = 3_600_000
STIMULI: Final = 10  # each of them causes one or two rebalances


def recorded_group(number: int) -> list[bytes]:
    """Return the events of a group as JSON: restarts, crashes and silences within two weeks."""
    chance = random.Random(number)
    members = [
        PlayedMember(f"m{each}", f"client-{each}", f"10.0.0.{each}", "apache-kafka-java 4.4.0")
        for each in range(chance.randint(3, 6))
    ]
    stimuli = [Stimulus(FROM_MS, StimulusAction.START, member.name) for member in members]
    for hour in sorted(chance.sample(range(2, 14 * 24), STIMULI)):
        at_ms, name = FROM_MS + hour * HOUR_MS, chance.choice(members).name
        action = chance.choice(
            (StimulusAction.RESTART, StimulusAction.RESTART, StimulusAction.CRASH, StimulusAction.PAUSE)
        )
        stimuli.append(Stimulus(at_ms, action, name, for_ms=60_000))
        if action is StimulusAction.CRASH:
            stimuli.append(Stimulus(at_ms + 120_000, StimulusAction.START, name))
    group = PlayedGroup(f"group-{number}", tuple(members), {"orders": chance.choice((6, 12, 24))})
    events = play(group, stimuli, number).events
    return [msgspec.json.encode(event) for event in events if event.at_ms >= FROM_MS + HOUR_MS]


def alternatives() -> list[Settings]:
    """Return SETTINGS alternatives, the recorded one among them."""
    found = [Settings()]
    for assignor in ("range", "cooperative-sticky"):
        for session_ms in (6_000, 10_000, 20_000, 30_000, 45_000, 60_000):
            for static in ("true", "false"):
                for interval_ms in (1_000, 3_000):
                    texts = [f"session.timeout.ms={session_ms}", f"static={static}"]
                    texts += [f"partition.assignment.strategy={assignor}", f"heartbeat.interval.ms={interval_ms}"]
                    found.append(parse_settings(texts))
    found.append(parse_settings(["group.initial.rebalance.delay.ms=0"]))
    return found[:SETTINGS]


def one_process(findings: Findings, groups: list[list[bytes]]) -> None:
    tried = alternatives()
    rebalances = mean(sum(isinstance(decode_event(text), Rebalance) for text in texts) for texts in groups)
    runs, took_s = 0, 0.0
    for texts in groups:
        recording = recording_of([decode_event(text) for text in texts])
        for number, settings in enumerate(tried):
            begun = time.process_time()
            runs += sum(1 for _ in run_alternative(recording, settings, number, (1, 2)))
            took_s += time.process_time() - begun
    run_ms = took_s / runs * 1_000
    findings.raw["run_ms"], findings.raw["rebalances"] = run_ms, rebalances
    findings.raw["is_compiled"] = is_compiled()
    build = "compiled" if is_compiled() else "plain"
    rows = [[build, f"{rebalances:.1f}", f"{run_ms:.2f}"]]
    findings.table("One process", markdown_table(["build", "rebalances recorded, mean", "CPU ms of a run"], rows))


def with_spark(findings: Findings, groups: list[list[bytes]]) -> None:
    recorded = {f"group-{number}": texts for number, texts in enumerate(groups)}
    tried = alternatives()
    rows, all_runs = [], GROUPS * SETTINGS * SEEDS
    cores = os.cpu_count() or 1
    full_s = 0.0
    for used in dict.fromkeys((1, cores)):
        spark = open_session(SessionSettings(master=f"local[{used}]", log=Path(os.devnull)))
        run_with_spark(spark, {"group-0": groups[0]}, tried[:used], 1)  # its Python processes start
        begun = time.monotonic()
        found = run_with_spark(spark, recorded, tried, SEEDS)
        took_s = time.monotonic() - begun
        spark.stop()
        runs = len(found.cells)
        full_s = took_s * all_runs / runs
        findings.raw[f"spark_{used}"] = {"runs": runs, "seconds": took_s}
        rows.append([str(used), f"{runs:,}", f"{took_s:.1f}", f"{runs / took_s:,.0f}", f"{full_s / 60:.1f}"])
        findings.progress(f"{used} cores: {runs / took_s:,.0f} runs a second")
    headings = ["cores", "runs", "seconds", "runs/s", f"minutes for {all_runs:,} runs"]
    findings.table("Spark", markdown_table(headings, rows))
    findings.verdicts.append(Verdict(f"{all_runs:,} runs with {cores} cores", TARGET_S, "s", full_s))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--full", action="store_true", help=f"all {GROUPS} groups (the default is a fiftieth)")
    args = arguments.parse_args()
    findings = Findings("whatif", "What-if runs")
    size = GROUPS if args.full else 4 if args.quick else GROUPS // 50
    groups = [recorded_group(number) for number in range(size)]
    findings.attempt("one process", lambda: one_process(findings, groups[: 2 if args.quick else 10]))
    findings.attempt("Spark", lambda: with_spark(findings, groups))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-neighbours`: how long 50 well-behaved groups wait beside one that misbehaves.

One daemon, with 50 groups of one member each on connections of their own. A process asks for them in turn: a
heartbeat, a commit of one partition and a fetch of it, one request at a time, so that each sees the server as it is at
some moment. It does so beside a process that only computes on the core of the load, and then beside each kind of
misbehaviour (`nuisance.py`, and `storm.c` with 5,000 members) in place of that process. A latency is told as the client
saw it, and less the time in which the server or the client was ready to run and had no core: the second is the server's
own queue, on a machine that others use as well. The ratio is that of its p99s.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.crowd import heartbeat_frame, join_frame, raise_file_limit, sync_frame
from bench.findings import Findings, Verdict, parser, pinned
from bench.measure import BenchError, build_program, cores
from bench.probe import Probe, free_ports, own_stall_ms, scrape
from bench.report import markdown_table
from bench.servers import Running, coordinator
from bench.watch import without_core_ns
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.support.wire import encode_frame

GROUPS: Final = 50
TARGET: Final = 2.0
PAUSE_S: Final = 0.0005
SETTLE_S: Final = 1.0
OVERRIDES: Final = (
    "group.initial.rebalance.delay.ms=0",
    "offsets.commit.topic.check=false",
    "group.max.session.timeout.ms=1800000",
    "loop.stall.warn.ms=10",
)
BUSY: Final = "while True: pass"  # takes the core of the load, and asks nothing of the server
ACTS: Final = ("heartbeat", "commit", "fetch")
KINDS: Final = {
    "joins": "10,000 joins a second on 100 connections",
    "pipelined": "10,000 joins a second on one connection",
    "metadata": "20 members that join with 1 MB each, again and again",
    "churn": "5,000 members that all rejoin, again and again",
    "offsets": "a flood of OffsetFetch, 100,000 offsets each",
    "describe": "a flood of DescribeGroups, 5,000 members each",
}


# -- the well-behaved groups, in a process of their own ----------------------------------------------------------------


class Neighbour:
    """One group of one member, on a connection of its own."""

    def __init__(self, port: int, number: int) -> None:
        self.probe = Probe(port)
        group = f"neighbour-{number}"
        self.probe.send(join_frame(group, 1_800_000))
        joined = self.probe.receive()
        name = int.from_bytes(
            joined[14:16], "big"
        )  # of the protocol, behind correlation id, throttle, error, generation
        at = 16 + name
        length = int.from_bytes(joined[at : at + 2], "big")
        member_id = joined[at + 2 : at + 2 + length].decode()
        self.probe.send(sync_frame(group, 1, member_id, [member_id]))
        self.probe.receive()
        one = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        commit = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=1,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name="neighbour", partitions=[one])],
        )
        wanted = [OffsetFetchRequestTopics(name="neighbour", partition_indexes=[0])]
        fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=wanted)])
        self.frames = {
            "heartbeat": heartbeat_frame(group, 1, member_id),
            "commit": encode_frame(commit, 8, 1),
            "fetch": encode_frame(fetch, 8, 1),
        }
        for act, frame in self.frames.items():
            answer, _ = self.probe.exchange(frame)
            if act == "heartbeat" and answer[9:11] != b"\0\0":
                raise BenchError(f"{group}: its heartbeat was answered with {answer.hex()}")


def neighbours(port: int, pid: int) -> None:
    """Ask in turn until stdin ends; a line there begins a phase."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)  # only root may
    gc.disable()
    groups = [Neighbour(port, number) for number in range(GROUPS)]
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    phase, own = "before", os.getpid()
    print("ready", flush=True)
    while True:
        for group in groups:
            if select.select([sys.stdin], [], [], 0)[0]:
                phase = sys.stdin.readline().strip()
                if not phase:
                    print(json.dumps(found))
                    return
            for act, frame in group.frames.items():
                waited_ns = without_core_ns(pid) + without_core_ns(own)
                _, ms = group.probe.exchange(frame)
                waited_ms = (without_core_ns(pid) + without_core_ns(own) - waited_ns) / 1e6
                if phase != "between":
                    samples = found.setdefault(phase, {}).setdefault(act, [])
                    samples.append((ms, max(0.0, ms - waited_ms)))
                time.sleep(PAUSE_S)


# -- the benchmark -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def child(command: list[str], core: set[int]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=pinned(core)
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def told(process: subprocess.Popen[str], phase: str) -> None:
    assert process.stdin is not None
    process.stdin.write(phase + "\n")
    process.stdin.flush()


def is_ready(process: subprocess.Popen[str], what: str) -> None:
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise BenchError(f"{what} could not start")


def beside(kind: str, running: Running, asking: subprocess.Popen[str], args: argparse.Namespace) -> None:
    """One phase beside one kind of misbehaviour."""
    _, load_core = cores()
    if kind == "churn":
        size = "500" if args.quick else "5000"
        command = [str(build_program("storm")), "--port", str(running.port), "--size", size]
        command += ["--rounds", "100000", "--limit", "600"]
    else:
        command = [sys.executable, str(Path(__file__).with_name("nuisance.py")), str(running.port), kind]
    with child(command, load_core) as nuisance:
        if kind == "churn":
            time.sleep(4 * SETTLE_S)  # the first round
        else:
            is_ready(nuisance, kind)
            time.sleep(SETTLE_S)
        told(asking, kind)
        began_ns, began = running.cpu_ns(), time.monotonic()
        time.sleep(args.seconds)
        share = (running.cpu_ns() - began_ns) / 1e9 / (time.monotonic() - began)
        told(asking, "between")
        if nuisance.poll() is not None:
            raise BenchError(f"{kind}: the misbehaving process ended")
        args.shares[kind] = share


def percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(int(len(samples) * share), len(samples) - 1)]


def report(findings: Findings, found: dict[str, Any], args: argparse.Namespace) -> None:
    alone = found["alone"]
    rows = []
    for kind in ("alone", *args.kinds):
        for act in ACTS:
            samples = found.get(kind, {}).get(act)
            if not samples:
                continue
            raw, own = [ms for ms, _ in samples], [ms for _, ms in samples]
            base = percentile([ms for _, ms in alone[act]], 0.99)
            ratio = percentile(own, 0.99) / base
            figures = [percentile(own, 0.5), percentile(own, 0.99), max(own), percentile(raw, 0.99), max(raw)]
            rows.append(
                [
                    KINDS.get(kind, "a process that only computes"),
                    act,
                    *(f"{each:.2f}" for each in figures),
                    f"{ratio:.2f}",
                    f"{args.shares[kind]:.0%}" if kind in args.shares else "-",
                    f"{len(samples):,}",
                ]
            )
            findings.raw.setdefault("figures", {}).setdefault(kind, {})[act] = [*figures, ratio]
            if kind != "alone":
                findings.verdicts.append(Verdict(f"p99 of a {act} beside {KINDS[kind]}", TARGET, "times", ratio))
    headings = [
        "beside",
        "request",
        "p50, ms",
        "p99",
        "longest",
        "p99 as the client saw it",
        "longest",
        "p99 by that alone",
    ]
    findings.table("Requests of 50 well-behaved groups", markdown_table([*headings, "server's core", "requests"], rows))


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "--ask":
        neighbours(int(sys.argv[2]), int(sys.argv[3]))
        return 0
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, help="of each phase (default 10)")
    arguments.add_argument("--only", nargs="*", choices=tuple(KINDS), help="only these kinds")
    args = arguments.parse_args()
    args.seconds = args.seconds or (2 if args.quick else 10)
    args.kinds = args.only or list(KINDS)
    args.shares = {}
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    findings = Findings("neighbours", "Noisy neighbours")
    server_core, load_core = cores()
    found: dict[str, Any] = {"alone": {}}
    for kind in args.kinds:  # each with a daemon of its own: what one leaves behind is not charged to the next

        def run(kind: str = kind) -> None:
            (http_port,) = free_ports(1)
            with (
                tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name,
                contextlib.ExitStack() as stack,
            ):
                running = stack.enter_context(
                    coordinator(Path(name), server_core, python=args.python, overrides=OVERRIDES, http_port=http_port)
                )
                command = [sys.executable, str(Path(__file__).resolve()), "--ask", str(running.port), str(running.pid)]
                asking = stack.enter_context(child(command, load_core))
                is_ready(asking, "the well-behaved groups")
                time.sleep(SETTLE_S)
                with child([sys.executable, "-c", BUSY], load_core):
                    told(asking, "alone")
                    time.sleep(args.seconds)
                    told(asking, "between")
                beside(kind, running, asking, args)
                stalls = re.findall(r"event loop stalled (for_ms=.*)", (Path(name) / "server.log").read_text())
                findings.raw.setdefault("told", {})[kind] = stalls[-3:]
                findings.raw.setdefault("own_stall_ms", {})[kind] = own_stall_ms(scrape(http_port))
                printed, _ = asking.communicate("\n", timeout=60)
                for phase, acts in json.loads(printed).items():
                    for act, samples in acts.items():
                        found.setdefault(phase, {}).setdefault(act, []).extend(samples)

        findings.attempt(f"ours: {KINDS[kind]}", run)
    if found["alone"]:
        report(findings, found, args)
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

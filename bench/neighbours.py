"""`make bench-neighbours`: how long 50 well-behaved groups wait beside one that misbehaves, with ours and with Kafka.

One server, with 50 groups of one member each on connections of their own. A process asks for them in turn: a
heartbeat, a commit of one partition and a fetch of it, one request at a time, so that each sees the server as it is at
some moment. It does so beside a process that only computes on the core of the load, and then beside each kind of
misbehaviour (`nuisance.py`, and `storm.c` with 5,000 members) in place of that process. A latency is told as the client
saw it, and less the time in which the server or the client was ready to run and had no core: the second is the server's
own queue, on a machine that others use as well. The ratio is that of its p99s. The same is done with Apache Kafka on
the same core, which flushes each message, as ours does, once its JVM has been asked for some seconds; the latencies
that the clients saw are held against its.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers_at_hand
from bench.crowd import heartbeat_frame, join_frame, raise_file_limit, sync_frame
from bench.findings import Findings, Verdict, parser, pinned
from bench.measure import BenchError, build_program, cores
from bench.peers.kafka import FLUSH_EVERY_MESSAGE
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
WARM_UP_S: Final = 15.0  # of a JVM, before each phase that counts
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0", "group.max.session.timeout.ms": "1800000"}
BACKLOG: Final = {"socket.listen.backlog.size": "4096"}  # 50 by default, with which 5,000 members connect for minutes
KAFKA_SETTINGS: Final = FLUSH_EVERY_MESSAGE | BACKLOG
OUR_SETTINGS: Final = {"offsets.commit.topic.check": "false", "loop.stall.warn.ms": "10"}
OURS: Final = "ours"
OURS_ALONE: Final = ("offsets",)  # Kafka would need the 100,000 partitions themselves
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
        time.sleep(settle_s(running, args))
        told(asking, kind)
        began_ns, began = running.cpu_ns(), time.monotonic()
        time.sleep(args.seconds)
        share = (running.cpu_ns() - began_ns) / 1e9 / (time.monotonic() - began)
        told(asking, "between")
        if nuisance.poll() is not None:
            raise BenchError(f"{kind}: the misbehaving process ended")
        args.shares[running.name, kind] = share


def settle_s(running: Running, args: argparse.Namespace) -> float:
    return SETTLE_S if running.name == OURS or args.quick else WARM_UP_S


def percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(int(len(samples) * share), len(samples) - 1)]


def report(findings: Findings, server: str, found: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Add the table of one server; return its figures by kind and request."""
    alone = found["alone"]
    rows = []
    figures: dict[str, dict[str, list[float]]] = {}
    for kind in ("alone", *args.kinds):
        for act in ACTS:
            samples = found.get(kind, {}).get(act)
            if not samples:
                continue
            raw, own = [ms for ms, _ in samples], [ms for _, ms in samples]
            ratio = percentile(own, 0.99) / percentile([ms for _, ms in alone[act]], 0.99)
            each = [percentile(own, 0.5), percentile(own, 0.99), max(own), percentile(raw, 0.99), max(raw)]
            figures.setdefault(kind, {})[act] = [*each, ratio]
            rows.append(
                [
                    KINDS.get(kind, "a process that only computes"),
                    act,
                    *(f"{figure:.2f}" for figure in each),
                    f"{ratio:.2f}",
                    f"{args.shares[server, kind]:.0%}" if (server, kind) in args.shares else "-",
                    f"{len(samples):,}",
                ]
            )
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
    lines = markdown_table([*headings, "server's core", "requests"], rows)
    findings.table(f"Requests of 50 well-behaved groups: {server}", lines)
    findings.raw.setdefault("figures", {})[server] = figures
    return figures


def verdicts(ours: dict[str, Any], kafka: dict[str, Any]) -> Iterator[Verdict]:
    for kind, acts in ours.items():
        for act, figures in acts.items():
            if kind != "alone":
                yield Verdict(f"p99 of a {act} beside {KINDS[kind]}", TARGET, "times", figures[-1])
            if act in kafka.get(kind, {}):
                beside = KINDS.get(kind, "a process that only computes")
                wanted = kafka[kind][act][3]
                yield Verdict(f"p99 of a {act} beside {beside}, as with Apache Kafka", wanted, "ms", figures[3])


# -- the servers -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def run_ours(
    directory: Path, core: set[int], args: argparse.Namespace, kind: str, findings: Findings
) -> Iterator[Running]:
    (http_port,) = free_ports(1)
    overrides = [f"{key}={value}" for key, value in (SETTINGS | OUR_SETTINGS).items()]
    with coordinator(directory, core, python=args.python, overrides=overrides, http_port=http_port) as running:
        yield running
        stalls = re.findall(r"event loop stalled (for_ms=.*)", (directory / "server.log").read_text())
        findings.raw.setdefault("told", {})[kind] = stalls[-3:]
        findings.raw.setdefault("own_stall_ms", {})[kind] = own_stall_ms(scrape(http_port))


@contextlib.contextmanager
def run_kafka(directory: Path, core: set[int]) -> Iterator[Running]:
    kafka = peers_at_hand.prepared(directory, SETTINGS | KAFKA_SETTINGS)
    with peers_at_hand.run_kafka(kafka, core) as running:
        kafka.create_topic("neighbour", 1)
        yield running


def measured(running: Running, kind: str, args: argparse.Namespace) -> dict[str, Any]:
    """Ask one server alone and beside one kind of misbehaviour; return the samples by phase and request."""
    _, load_core = cores()
    command = [sys.executable, str(Path(__file__).resolve()), "--ask", str(running.port), str(running.pid)]
    with child(command, load_core) as asking:
        is_ready(asking, "the well-behaved groups")
        time.sleep(settle_s(running, args))
        with child([sys.executable, "-c", BUSY], load_core):
            told(asking, "alone")
            time.sleep(args.seconds)
            told(asking, "between")
        beside(kind, running, asking, args)
        printed, _ = asking.communicate("\n", timeout=60)
    found: dict[str, Any] = json.loads(printed)
    return found


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "--ask":
        neighbours(int(sys.argv[2]), int(sys.argv[3]))
        return 0
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, help="of each phase (default 10)")
    arguments.add_argument("--no-peers", action="store_true", help="ours alone")
    arguments.add_argument("--only", nargs="*", choices=tuple(KINDS), help="only these kinds")
    args = arguments.parse_args()
    args.seconds = args.seconds or (2 if args.quick else 10)
    args.kinds = args.only or list(KINDS)
    args.shares = {}
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    findings = Findings("neighbours", "Noisy neighbours")
    core, _ = cores()
    found: dict[str, dict[str, Any]] = {}
    for kind in args.kinds:  # each with servers of its own: what one leaves behind is not charged to the next
        makers: dict[str, Callable[[Path], contextlib.AbstractContextManager[Running]]] = {
            OURS: lambda directory, kind=kind: run_ours(directory, core, args, kind, findings)
        }
        if not args.no_peers and kind not in OURS_ALONE:
            makers[peers_at_hand.KAFKA] = lambda directory: run_kafka(directory, core)
        for server, make in makers.items():

            def run(server: str = server, make: Any = make, kind: str = kind) -> None:
                with (
                    tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as name,
                    make(Path(name)) as running,
                ):
                    phases = measured(running, kind, args)
                for phase, acts in phases.items():
                    for act, samples in acts.items():
                        found.setdefault(server, {}).setdefault(phase, {}).setdefault(act, []).extend(samples)

            findings.attempt(f"{server}: {KINDS[kind]}", run)
    figures = {server: report(findings, server, phases, args) for server, phases in found.items()}
    findings.verdicts += verdicts(figures.get(OURS, {}), figures.get(peers_at_hand.KAFKA, {}))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-consumer_heartbeats`: CPU time of the heartbeats of 1,000 members of a KIP-848 group, beside Kafka's.

One group of 1,000 members shares 1,000 partitions. Each member has a connection of its own and repeats the heartbeat of
a member with nothing to do, all at once, again and again. The servers take turns on one core, and the load has the
other one. The figure is user and system time of the server's processes for each heartbeat; the lowest of all rounds
counts, because noise only adds. The load names no software, so that no heartbeat is held.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import servers
from bench.crowd import raise_file_limit
from bench.findings import Findings, parser
from bench.measure import BenchError, cores
from bench.peers import kafka
from bench.probe import Probe
from bench.report import markdown_table
from bench.run import COMPILED
from bench.servers import Running
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.support.wire import decode_answer, encode_frame

OURS, OURS_COMPILED, KAFKA = "ours", "ours compiled", "Apache Kafka"
TOPIC: Final = "bench"
GROUP: Final = "bench"
VERSION: Final = 1
SETTLE_ROUNDS: Final = 60
SETTLE_S: Final = 0.5  # between them: Kafka computes a target once a second at most
SETTINGS: Final = {  # members are silent while other servers are measured
    "group.consumer.session.timeout.ms": "1800000",
    "group.consumer.max.session.timeout.ms": "1800000",
}


class Member(Probe):
    """One member, with a connection of its own."""

    def __init__(self, port: int, number: int) -> None:
        super().__init__(port, within_s=120)
        self.member_id = f"member-{number:04}"
        self.epoch = 0
        self.owned: list[TopicPartitions] = []
        self.has_all = False

    def begin(self) -> None:
        """Send the heartbeat that joins, or says what the member has."""
        is_join = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=300_000 if is_join else -1,
            subscribed_topic_names=[TOPIC] if is_join else None,
            subscribed_topic_regex=None,
            server_assignor="uniform" if is_join else None,
            topic_partitions=self.owned,
        )
        self.send(encode_frame(request, VERSION, 1))

    def end(self) -> None:
        answer: Any = decode_answer(68, VERSION, self.receive())[1]
        if answer.error_code:
            raise BenchError(f"{self.member_id} was answered with {answer!r:.300}")
        self.has_all = answer.assignment is None and answer.member_epoch == self.epoch
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = answer.assignment.topic_partitions

    @property
    def idle(self) -> bytes:
        """The heartbeat of a member with nothing to do."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            subscribed_topic_names=None,
            subscribed_topic_regex=None,
            server_assignor=None,
            topic_partitions=None,
        )
        return encode_frame(request, VERSION, 1)


class Load:
    """The members of one server, all of which have what they should."""

    def __init__(self, port: int, count: int) -> None:
        self.members = [Member(port, number) for number in range(count)]
        for member in self.members:
            member.begin()
            member.end()
        for _ in range(SETTLE_ROUNDS):
            for member in self.members:
                member.begin()
            for member in self.members:
                member.end()
            if self._is_settled():
                return
            time.sleep(SETTLE_S)
        raise BenchError(f"{count} members do not have all their partitions after {SETTLE_ROUNDS} rounds")

    def _is_settled(self) -> bool:
        """Return whether all members have all partitions, at one epoch."""
        owned = sum(len(each.partitions) for member in self.members for each in member.owned)
        epochs = {member.epoch for member in self.members}
        return owned == len(self.members) and len(epochs) == 1 and all(member.has_all for member in self.members)

    def close(self) -> None:
        for member in self.members:
            member.close()

    def measure(self, server: Running, seconds: float) -> float:
        """Return the server's CPU time for a heartbeat, in µs."""
        frames = [(member, member.idle) for member in self.members]
        expected = [member.exchange(frame)[0] for member, frame in frames]
        if decode_answer(68, VERSION, expected[0])[1].error_code:
            raise BenchError(f"a heartbeat was answered with {expected[0].hex()}")
        count, used, ends = 0, server.cpu_ns(), time.monotonic() + seconds
        while time.monotonic() < ends:
            for member, frame in frames:
                member.send(frame)
            for (member, _), same in zip(frames, expected, strict=True):
                if member.receive() != same:
                    raise BenchError("a heartbeat had another answer than before")
            count += len(frames)
        return (server.cpu_ns() - used) / count / 1000


def _start(python: str | None, partitions: int) -> Callable[[str, Path, set[int]], AbstractContextManager[Running]]:
    """Return what starts Kafka (None), or ours with an interpreter."""

    def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
        if python is None:
            return kafka.kafka(directory, core, name=name, topic=TOPIC, partitions=partitions, settings=SETTINGS)
        overrides = [f"{key}={value}" for key, value in SETTINGS.items()]
        topics = [f"{TOPIC}:{partitions}"]
        return servers.coordinator(directory, core, name=name, python=python, topics=topics, overrides=overrides)

    return start


def _run(findings: Findings, args: argparse.Namespace, names: dict[str, str | None], count: int) -> None:
    rounds, seconds, warm_up_s = (1, 1.0, 2.0) if args.quick else (7, 2.0, 20.0)
    server_core, load_core = cores()
    os.sched_setaffinity(0, load_core)
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir)))
        loads = {}
        for name, python in names.items():
            findings.progress(f"{name}: {count:,} members join")
            directory = work / name.replace(" ", "-")
            directory.mkdir()
            server = stack.enter_context(_start(python, count)(name, directory, server_core))
            load = Load(server.port, count)
            stack.callback(load.close)
            loads[name] = (server, load)
            if python is None:
                load.measure(server, warm_up_s)
        found: dict[str, list[float]] = {name: [] for name in names}
        for number in range(rounds):
            findings.progress(f"round {number + 1} of {rounds}")
            for name, (server, load) in loads.items():
                found[name].append(load.measure(server, seconds))
    findings.raw["us"] = found
    lowest = {name: min(each) for name, each in found.items()}
    rows = [
        [name, f"{us:.1f}", f"{1e6 / us:,.0f}", f"{lowest[KAFKA] / us:.2f}" if KAFKA in lowest else "-"]
        for name, us in lowest.items()
    ]
    headings = ["server", "CPU µs for each", "heartbeats per CPU second", "times Kafka's"]
    findings.table(f"Heartbeats of {count:,} members of one group", markdown_table(headings, rows))


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--without-kafka", action="store_true", help="ours alone")
    options.add_argument("--compiled-python", default=str(COMPILED), help="that of the compiled build, if there is one")
    args = options.parse_args()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    names: dict[str, str | None] = {OURS: sys.executable}
    if args.compiled_python and Path(args.compiled_python).exists():
        names[OURS_COMPILED] = args.compiled_python
    if not args.without_kafka:
        names[KAFKA] = None
    count = 100 if args.quick else 1_000
    findings = Findings("consumer_heartbeats", "Heartbeats of KIP-848 members")
    findings.attempt("heartbeats", lambda: _run(findings, args, names, count))
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())

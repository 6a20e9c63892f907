"""Members of the client matrix, with the times that they tell, and how long a group of two takes to settle.

The programs are those of `make clients` (tests/clients). All times are of CLOCK_MONOTONIC, which the processes of a
machine share: a member stamps an event in the callback of its library, not when this process reads the line.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final, TextIO

from bench.measure import BenchError
from bench.probe import Probe
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.clients.matrix_members import Event, Member, Options, Program
from tests.support.questions import committed_offsets

STEP_S: Final = 0.005
WITHIN_S: Final = 90.0
RECORD_EVERY_S: Final = 0.1


class TimedMember(Member):
    """A running member; `changed_ns` is when the partitions that it owns changed last."""

    def __init__(self, program: Program, options: Options, log: TextIO) -> None:
        self.changed_ns = 0
        self.said_ns: dict[str, int] = {}  # the last event of each kind
        self.reads: list[tuple[int, int, int]] = []  # partition, offset, when
        self.commits_ns: list[int] = []
        self.assignments = 0
        super().__init__(program, options, log)

    def _take(self, event: Event) -> None:
        at_ns, before, kind = event["at"], self.owned, event["event"]
        super()._take(event)
        if kind in ("joining", "leaving"):
            self.owned = frozenset()
        elif kind == "record":
            self.reads.append((event["partition"], event["offset"], at_ns))
        elif kind == "committed":
            self.commits_ns.append(event["took_ns"])
        elif kind == "assigned":
            self.assignments += 1
        if self.owned != before:
            self.changed_ns = at_ns
        self.said_ns[kind] = at_ns

    def says(self, kind: str, after_ns: int) -> int:
        """Wait until the member says this once more, and return when that was."""
        self._until(lambda: self.said_ns.get(kind, 0) > after_ns, f"{self!r} says {kind}")
        return self.said_ns[kind]

    def _until(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not condition():
            if time.monotonic() > deadline:
                raise BenchError(f"not within {WITHIN_S:g} s: {what}")
            if not self.is_running():
                raise BenchError(f"{self!r} ended while this was awaited: {what}")
            time.sleep(STEP_S)


def settled_ns(partitions: int, *members: TimedMember, within_s: float = WITHIN_S) -> int:
    """Wait until each of these members owns something and all of them everything, once; return when that became so."""
    deadline = time.monotonic() + within_s
    while True:
        owned = [member.owned for member in members]
        if all(owned) and sorted(index for each in owned for index in each) == list(range(partitions)):
            return max(member.changed_ns for member in members)
        if time.monotonic() > deadline:
            raise BenchError(f"not within {within_s:g} s: {len(members)} members own all partitions: {members}")
        if not all(member.is_running() for member in members):
            raise BenchError(f"a member has ended: {members}")
        time.sleep(STEP_S)


class Producer:
    """One record at a time to the partitions of a topic in turn, and when each was sent."""

    def __init__(self, port: int, topic: str, partitions: int) -> None:
        self._port, self._topic, self._partitions = port, topic, partitions
        self.sent_ns: dict[tuple[int, int], int] = {}

    def run(self, seconds: float) -> None:
        """Send ten records a second for so long."""
        begun = time.monotonic()
        with Probe(self._port) as probe:
            for number in range(int(seconds / RECORD_EVERY_S)):
                time.sleep(max(0.0, begun + number * RECORD_EVERY_S - time.monotonic()))
                partition = number % self._partitions
                batch = bytes(build_batch([(None, b"%d" % number)], timestamp_ms=time.time_ns() // 1_000_000))
                data = [PartitionProduceData(index=partition, records=batch)]
                topics = [TopicProduceData(name=self._topic, partition_data=data)]
                sent_ns = time.monotonic_ns()
                answer = probe.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics), 9)
                (found,) = answer.responses[0].partition_responses
                if found.error_code:
                    raise BenchError(f"a record was refused with error code {found.error_code}")
                self.sent_ns[partition, found.base_offset] = sent_ns

    def delays_ms(self, *members: TimedMember) -> list[float]:
        """Return how long after its sending each record was first read; BenchError if one was not."""
        read_ns: dict[tuple[int, int], int] = defaultdict(int)
        for member in members:
            for partition, offset, at_ns in member.reads:
                earlier = read_ns[partition, offset]
                read_ns[partition, offset] = min(earlier, at_ns) if earlier else at_ns
        if missing := self.sent_ns.keys() - read_ns.keys():
            raise BenchError(f"{len(missing)} of {len(self.sent_ns)} records were never read by {members}")
        return [(read_ns[key] - sent_ns) / 1e6 for key, sent_ns in self.sent_ns.items()]

    def is_committed(self, group: str, *, within_s: float = 30.0) -> bool:
        """Return whether the group commits behind the last record of each partition."""
        wanted: dict[tuple[str, int], int] = {}
        for partition, offset in self.sent_ns:
            key = (self._topic, partition)
            wanted[key] = max(wanted.get(key, 0), offset + 1)
        deadline = time.monotonic() + within_s
        while committed_offsets(self._port, group) != wanted:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def all_are_read(self, *members: TimedMember, within_s: float = 30.0) -> bool:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            read = {(partition, offset) for member in members for partition, offset, _ in list(member.reads)}
            if self.sent_ns.keys() <= read:
                return True
            time.sleep(0.05)
        return False


def log_of(directory: Path, name: str) -> TextIO:
    directory.mkdir(parents=True, exist_ok=True)
    return (directory / f"{name}.log").open("a")

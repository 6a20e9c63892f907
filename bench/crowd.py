"""Many group members over few connections, for benchmarks of the cost of idle members.

A member is not tied to its connection: `join` takes 500 connections, lets each of them be one member of one
group (JoinGroup v3, which needs no id handed out first, and SyncGroup v2), and then uses the same connections for the
next 500, until there are as many as wanted. Sessions are half an hour long, so no heartbeat is needed in that
time. `beat` then sends heartbeats of all these members in turn, ten on the way on each of a hundred connections. Every
answer is checked. Python is fast enough for that, because the server's CPU time is measured, not its throughput.
"""

from __future__ import annotations

import os
import resource
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from bench.measure import BenchError
from bench.probe import Probe

SESSION_MS: Final = 1_800_000
GROUP_SIZE: Final = 10
CONNECTIONS: Final = 500
BEAT_CONNECTIONS: Final = 100
IN_FLIGHT: Final = 10
OVERRIDES: Final = ("group.initial.rebalance.delay.ms=300",)  # all of a wave must join within it
JOIN, HEARTBEAT, SYNC = 11, 12, 14

_HEADER: Final = struct.Struct(">hhi")
_JOINED: Final = struct.Struct(">iihih")  # correlation id, throttle time, error, generation, length of the protocol
_SYNCED: Final = struct.Struct(">iihi")  # correlation id, throttle time, error, length of the assignment
_BEATEN: Final = struct.Struct(">ibih")  # correlation id, tags, throttle time, error


def _string(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _bytes(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _compact(text: str) -> bytes:
    """Encode bytes shorter than 127 with a length varint of one byte."""
    return bytes([len(text) + 1]) + text.encode()


def _frame(api: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    header = _HEADER.pack(api, version, 1) + _string("crowd") + (b"\0" if flexible else b"")
    return _bytes(header + body)


SUBSCRIPTION: Final = b"\0\0\0\0\0\1\0\5crowd\xff\xff\xff\xff"


def _assignment(partition: int) -> bytes:
    return b"\0\0\0\0\0\1\0\5crowd\0\0\0\1" + partition.to_bytes(4, "big") + b"\xff\xff\xff\xff"


def join_frame(group: str, session_ms: int) -> bytes:
    timeouts = session_ms.to_bytes(4, "big") + (60_000).to_bytes(4, "big")
    protocols = b"\0\0\0\1" + _string("range") + _bytes(SUBSCRIPTION)
    return _frame(JOIN, 3, _string(group) + timeouts + _string("") + _string("consumer") + protocols)


def sync_frame(group: str, generation: int, member_id: str, members: list[str]) -> bytes:
    assigned = b"".join(_string(each) + _bytes(_assignment(place)) for place, each in enumerate(members))
    body = _string(group) + generation.to_bytes(4, "big") + _string(member_id)
    return _frame(SYNC, 2, body + len(members).to_bytes(4, "big") + assigned)


def heartbeat_frame(group: str, generation: int, member_id: str) -> bytes:
    body = _compact(group) + generation.to_bytes(4, "big") + _compact(member_id) + b"\0\0"
    return _frame(HEARTBEAT, 4, body, flexible=True)


@dataclass(frozen=True, slots=True)
class Joined:
    """A JoinGroup answer; `members` only for the leader."""

    generation: int
    member_id: str
    members: list[str]

    @classmethod
    def of(cls, answer: bytes) -> Joined:
        _, _, error, generation, size = _JOINED.unpack_from(answer)
        if error:
            raise BenchError(f"a JoinGroup was answered with error {error}")
        position = _JOINED.size + size

        def string() -> str:
            nonlocal position
            length = int.from_bytes(answer[position : position + 2], "big")
            position += 2 + length
            return answer[position - length : position].decode()

        string()  # the leader
        member_id = string()
        count = int.from_bytes(answer[position : position + 4], "big")
        position += 4
        members = []
        for _ in range(count):
            members.append(string())
            position += 4 + int.from_bytes(answer[position : position + 4], "big")
        return cls(generation, member_id, members)


class Crowd:
    """Members of groups of one size on one server. Raises BenchError on any wrong answer."""

    def __init__(
        self,
        port: int,
        *,
        group_size: int = GROUP_SIZE,
        connections: int = CONNECTIONS,
        session_ms: int = SESSION_MS,
    ) -> None:
        self.port = port
        self.session_ms = session_ms
        self.group_size = group_size
        self.heartbeats: list[bytes] = []  # one encoded request for each member
        self.groups: list[str] = []
        self._wave = max(1, connections // group_size)
        self._name = f"crowd-{os.getpid()}"
        self._probes: list[Probe] = []
        self._next = 0  # whose heartbeat is sent next

    def __enter__(self) -> Crowd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave_connections()

    @property
    def size(self) -> int:
        return len(self.heartbeats)

    def leave_connections(self) -> None:
        """Close them; the members stay."""
        for each in self._probes:
            each.close()
        self._probes.clear()

    def join(self, members: int) -> Iterator[int]:
        """Join until there are `members`; yield the number of members after each wave."""
        while self.size < members:
            missing = (members - self.size + self.group_size - 1) // self.group_size
            self._join_wave(min(self._wave, missing))
            yield self.size

    def _join_wave(self, groups: int) -> None:
        count = groups * self.group_size
        while len(self._probes) < count:
            self._probes.append(Probe(self.port))
        names = [f"{self._name}-{len(self.groups) + number}" for number in range(groups)]
        of = [(names[place // self.group_size], probe) for place, probe in enumerate(self._probes[:count])]
        try:
            for name, probe in of:
                probe.send(join_frame(name, self.session_ms))
            joined = [Joined.of(probe.receive()) for _, probe in of]
            for (name, probe), each in zip(of, joined, strict=True):
                if each.members and len(each.members) != self.group_size:
                    raise BenchError(f"{name} formed with {len(each.members)} of {self.group_size} members: too busy")
                probe.send(sync_frame(name, each.generation, each.member_id, each.members))
            for (name, probe), each in zip(of, joined, strict=True):
                _, _, error, size = _SYNCED.unpack_from(probe.receive())
                if error or not size:
                    raise BenchError(f"a SyncGroup of {name} was answered with error {error} and {size} bytes")
                self.heartbeats.append(heartbeat_frame(name, each.generation, each.member_id))
        except TimeoutError:
            raise BenchError("a group did not form in time: the machine is too busy") from None
        self.groups += names

    def beat(self, count: int, *, connections: int = BEAT_CONNECTIONS, in_flight: int = IN_FLIGHT) -> None:
        """About `count` heartbeats, of all members in turn."""
        while len(self._probes) < connections:
            self._probes.append(Probe(self.port))
        probes, heartbeats = self._probes[:connections], self.heartbeats
        sent = 0
        while sent < count:
            for probe in probes:
                start = self._next
                frames = heartbeats[start : start + in_flight]
                if len(frames) < in_flight:
                    frames = [heartbeats[(start + number) % len(heartbeats)] for number in range(in_flight)]
                self._next = (start + in_flight) % len(heartbeats)
                probe.send(b"".join(frames))
            for probe in probes:
                for _ in range(in_flight):
                    _, _, _, error = _BEATEN.unpack_from(probe.receive())
                    if error:
                        raise BenchError(f"a heartbeat was answered with error {error}")
            sent += len(probes) * in_flight


def raise_file_limit() -> int:
    """Raise the limit of open files to the hard limit and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard

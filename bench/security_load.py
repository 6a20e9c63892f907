"""Clients of `make bench-security`: connections with TLS and SASL, and the requests that they repeat.

One request is in flight on each connection, so that each is a TLS record of its own, as with real clients. The load
does not sleep while it measures, because the kernel charges the waking of a sleeper to the server. Every answer is
compared with the first one of its connection, which is decoded and has no error.
"""

from __future__ import annotations

import itertools
import re
import secrets
import ssl
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from bench.crowd import Joined, join_frame, sync_frame
from bench.measure import BenchError
from bench.probe import API_VERSIONS, Probe
from bench.servers import Running
from coordinator.security.sasl_client import log_in
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.wire import decode_answer, encode_frame

TOPIC: Final = "bench"
PARTITIONS: Final = 10
GROUP_PREFIX: Final = "bench-"
SCRAM_USER, PLAIN_USER = "alice", "bob"
PASSWORD: Final = "wonderland"
SESSION_MS: Final = 1_800_000  # members are silent while other servers are measured
CONNECTIONS: Final = 20
MARK: Final = 0x0123_4567_89AB_CDEF  # in place of a committed offset, to find it in the frame
READ, WRITTEN = 0, 1  # partitions of the topic


class Client(Probe):
    """A connection over TLS, if there is a context, and logged in, if there are a mechanism and a user."""

    def __init__(self, port: int, tls: ssl.SSLContext | None, login: tuple[str, str] | None) -> None:
        super().__init__(port)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self.exchange(API_VERSIONS)  # as clients do first of all
        if login is not None:
            self._log_in(*login)

    def _log_in(self, mechanism: str, user: str) -> None:
        steps = log_in(mechanism, user, PASSWORD, secrets.token_hex(12))
        answer: Any = None
        try:
            while True:
                answer = self.ask(steps.send(answer), 1)
        except StopIteration:
            return

    def poll(self) -> None:
        """Have `answer` wait without sleeping, from now on."""
        self._socket.setblocking(False)

    @property
    def cipher(self) -> str:
        """The cipher suite; empty without TLS."""
        return self._socket.cipher()[0] if isinstance(self._socket, ssl.SSLSocket) else ""

    def answer(self) -> bytes:
        data = b""
        while True:
            try:
                part = self._socket.recv(65_536)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            if not part:
                raise BenchError("the server closed a connection")
            data += part
            if len(data) >= 4 and len(data) == 4 + int.from_bytes(data[:4], "big"):
                return data


class Member(NamedTuple):
    """The member of a group that a connection sends for."""

    group: str
    generation: int
    member_id: str
    number: int


class Shape(NamedTuple):
    """A request that is repeated. `unlike`: how many bytes at the end of its answers differ."""

    name: str
    version: int
    request: Callable[[Member], Any]
    unlike: int = 0


def _commit(member: Member, partitions: int) -> OffsetCommitRequest:
    first = member.number % PARTITIONS if partitions == 1 else 0
    rows = [
        OffsetCommitRequestPartition(partition_index=first + each, committed_offset=MARK, committed_metadata="")
        for each in range(partitions)
    ]
    return OffsetCommitRequest(
        group_id=member.group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=rows)],
    )


def produce(partition: int) -> ProduceRequest:
    """Return a Produce of a batch of one small record."""
    batch = bytes(build_batch([(None, b"x" * 100)], timestamp_ms=time.time_ns() // 1_000_000))
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])])


def _fetch(member: Member) -> FetchRequest:
    wanted = FetchPartition(partition=READ, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
        forgotten_topics_data=[],
    )


SHAPES: Final = (
    Shape("Heartbeat", 4, lambda m: HeartbeatRequest(m.group, m.generation, m.member_id)),
    Shape("OffsetCommit, 1 partition", 8, lambda m: _commit(m, 1)),
    Shape("OffsetCommit, 10 partitions", 8, lambda m: _commit(m, 10)),
    Shape("Produce, 1 batch", 9, lambda m: produce(WRITTEN), unlike=33),  # from the base offset on
    Shape("Fetch, 1 batch", 12, _fetch),
    Shape("Metadata, 1 topic", 9, lambda m: MetadataRequest([MetadataRequestTopic(name=TOPIC)], False)),
)


class Load:
    """Connections of one kind to one server, each of a member of a group."""

    def __init__(self, port: int, tls: ssl.SSLContext | None, login: tuple[str, str] | None) -> None:
        self._clients = []
        self._members = []
        run = secrets.token_hex(4)
        for number in range(CONNECTIONS):
            client = Client(port, tls, login)
            group = f"{GROUP_PREFIX}{run}-{number}"
            joined = Joined.of(client.exchange(join_frame(group, SESSION_MS))[0])
            client.exchange(sync_frame(group, joined.generation, joined.member_id, joined.members))
            client.poll()
            self._clients.append(client)
            self._members.append(Member(group, joined.generation, joined.member_id, number))

    @property
    def cipher(self) -> str:
        return self._clients[0].cipher

    def close(self) -> None:
        for each in self._clients:
            each.close()

    def measure(self, server: Running, shape: Shape, seconds: float) -> float:
        """Return the server's CPU time for a request, in µs."""
        frames = [bytearray(encode_frame(shape.request(each), shape.version, 0, "bench")) for each in self._members]
        marked = [[each.start() for each in re.finditer(MARK.to_bytes(8, "big"), frame)] for frame in frames]
        expected = [self._first(*pair, shape) for pair in zip(self._clients, frames, strict=True)]
        rows = list(zip(self._clients, frames, marked, expected, strict=True))
        numbers = itertools.count(1)

        def send(client: Client, frame: bytearray, marks: list[int], number: int) -> None:
            frame[8:12] = number.to_bytes(4, "big")
            for at in marks:
                frame[at : at + 8] = number.to_bytes(8, "big")
            client.send(frame)

        number = next(numbers)
        for client, frame, marks, _ in rows:
            send(client, frame, marks, number)
        count, used = 0, server.cpu_ns()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            following = next(numbers)
            for client, frame, marks, same in rows:
                _check(client.answer(), number, same, shape)
                send(client, frame, marks, following)
            count, number = count + len(rows), following
        used = server.cpu_ns() - used
        for client, _, _, same in rows:
            _check(client.answer(), number, same, shape)
        return used / count / 1000

    @staticmethod
    def _first(client: Client, frame: bytearray, shape: Shape) -> bytes:
        client.send(frame)
        data = client.answer()
        found = decode_answer(int.from_bytes(frame[4:6], "big"), shape.version, data[4:])[1]
        if set(re.findall(r"error_code=(-?\d+)", repr(found))) - {"0"}:
            raise BenchError(f"{shape.name} was answered with {found!r:.300}")
        return data[8 : len(data) - shape.unlike]


def _check(answer: bytes, number: int, expected: bytes, shape: Shape) -> None:
    if answer[4:8] != number.to_bytes(4, "big") or answer[8 : len(answer) - shape.unlike] != expected:
        raise BenchError(f"{shape.name} had a wrong answer: {answer[:200].hex()}")


def measure_logins(
    server: Running, port: int, tls: ssl.SSLContext | None, login: tuple[str, str] | None, seconds: float
) -> float:
    """Return the server's CPU time for a connection, from its start to its end, in µs."""
    count, used = 0, server.cpu_ns()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        Client(port, tls, login).close()
        count += 1
    return (server.cpu_ns() - used) / count / 1000

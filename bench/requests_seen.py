"""Requests of clients to servers on the loopback interface, as the kernel saw them arrive.

A packet socket with a filter for the servers' ports reads every segment that goes to them. The request frames in it are
kept as (port, client id, API key) -> times of CLOCK_MONOTONIC, for group requests alone. It needs CAP_NET_RAW (root has
it); where it cannot be opened, `seen` says so by None, and a benchmark takes the times that clients tell.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from types import TracebackType
from typing import Final

from protocol.api_keys import ApiKey

ETH_P_IP: Final = 0x0800
SO_ATTACH_FILTER: Final = 26
SO_TIMESTAMPNS: Final = 35
BUFFER: Final = 1 << 22
SEGMENT: Final = 1 << 16
TO_US: Final = 0  # pkttype PACKET_HOST: on the loopback each packet is also seen as it goes out
PORT: Final = struct.Struct(">H")
HEADER: Final = struct.Struct(">ihhih")  # size, API key, version, correlation id, length of the client id
GROUP_REQUESTS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
    }
)


def _filter(ports: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return the classic BPF program: TCP over IPv4 to one of these ports, whole; nothing else."""
    accept = len(ports)
    program = [(0x30, 0, 0, 9), (0x15, 0, accept + 2, 6), (0xB1, 0, 0, 0), (0x48, 0, 0, 2)]
    program += [(0x15, accept - number, 0, port) for number, port in enumerate(ports)]
    return [*program, (0x06, 0, 0, 0), (0x06, 0, 0, SEGMENT)]


def frames(payload: bytes) -> Iterator[tuple[int, str]]:
    """Yield API key and client id of each request that begins in this segment."""
    at = 0
    while at + HEADER.size <= len(payload):
        size, key, version, _, length = HEADER.unpack_from(payload, at)
        if size < HEADER.size - 4 or not 0 <= version < 32:
            return  # the middle of a long request
        if key in GROUP_REQUESTS and length >= 0:
            start = at + HEADER.size
            yield key, payload[start : start + length].decode(errors="replace")
        at += 4 + size


class RequestsSeen:
    """The requests to some ports, from `start` to `close`."""

    def __init__(self, ports: Collection[int]) -> None:
        self._times: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        self._closed = False
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        program = b"".join(struct.pack("HBBI", *each) for each in _filter(sorted(ports)))
        held = ctypes.create_string_buffer(program, len(program))
        whole = struct.pack("HP", len(program) // 8, ctypes.addressof(held))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, whole)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind(("lo", ETH_P_IP))
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> RequestsSeen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._closed:
            try:
                data, ancillary, _, address = self._socket.recvmsg(SEGMENT, 256)
            except TimeoutError:
                continue
            if address[2] != TO_US:
                continue
            at_ns = time.monotonic_ns()
            for _, kind, value in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, rest = struct.unpack("qq", value[:16])
                    at_ns -= time.time_ns() - (seconds * 1_000_000_000 + rest)
            tcp = (data[0] & 15) * 4
            (port,) = PORT.unpack_from(data, tcp + 2)
            for key, client_id in frames(data[tcp + (data[tcp + 12] >> 4) * 4 :]):
                self._times[port, client_id, key].append(at_ns)

    def first(self, port: int, client_id: str, key: ApiKey, after_ns: int) -> int | None:
        """Return when the first of these requests came after a time."""
        return next((each for each in self._times.get((port, client_id, key), ()) if each >= after_ns), None)

    def count(self, port: int, client_id: str, key: ApiKey, from_ns: int, to_ns: int) -> int:
        """Return how many of these requests came between two times."""
        return sum(from_ns <= each < to_ns for each in list(self._times.get((port, client_id, key), ())))

    def last(self, port: int, client_id: str, before_ns: int) -> int | None:
        """Return when the last request of the group protocol came before a time: it renewed the session."""
        times = [at_ns for key in GROUP_REQUESTS for at_ns in self._times.get((port, client_id, key), ())]
        return max((each for each in times if each <= before_ns), default=None)


def seen(ports: Collection[int]) -> RequestsSeen | None:
    """Return the requests to these ports, or None where this process may not look at them."""
    try:
        return RequestsSeen(ports)
    except (AttributeError, OSError):
        return None

"""A client of one connection, for benchmarks that watch a server rather than load it: ask, wait, look at the clock.

`Probe` blocks, and does as little as it can around the two system calls, so that what it measures is the server.
`scrape` reads /metrics as a dict. Frames that are sent again and again are encoded once.
"""

from __future__ import annotations

import socket
import struct
import time
import urllib.error
import urllib.request
from types import TracebackType
from typing import Any, Final

from bench.measure import BenchError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.support.wire import decode_answer, encode_frame

SIZE: Final = struct.Struct(">i")
API_VERSIONS: Final = encode_frame(ApiVersionsRequest(), 0, 1)


class Probe:
    """One connection. Raises OSError when it breaks, and TimeoutError when an answer takes longer than `within_s`."""

    def __init__(self, port: int, *, within_s: float = 30.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=within_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Probe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """One answer without its length."""
        (size,) = SIZE.unpack(self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size)
        if len(data) == size:
            return data
        parts = [data]
        got = len(data)
        while got < size:
            if not data:
                raise ConnectionResetError("the server closed the connection")
            data = self._socket.recv(size - got)
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def exchange(self, frame: bytes) -> tuple[bytes, float]:
        """Send one encoded request; its answer, and how many ms that took."""
        begun = time.perf_counter_ns()
        self.send(frame)
        answer = self.receive()
        return answer, (time.perf_counter_ns() - begun) / 1e6

    def ask(self, message: Any, version: int) -> Any:
        """One request and its decoded answer."""
        frame = encode_frame(message, version, 1)
        answer, _ = self.exchange(frame)
        return decode_answer(int.from_bytes(frame[4:6], "big"), version, answer)[1]


def free_ports(count: int) -> list[int]:
    """Ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def fetched_offset(probe: Probe, group: str, topic: str, partition: int) -> tuple[int, int]:
    """(error code, committed offset) of one partition, by OffsetFetch v5."""
    wanted = [OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])]
    answer = probe.ask(OffsetFetchRequest(group_id=group, topics=wanted), 5)
    if answer.error_code:
        return answer.error_code, -1
    found = answer.topics[0].partitions[0]
    return found.error_code, found.committed_offset


def is_ready(http_port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def scrape(http_port: int) -> dict[str, float]:
    """/metrics, by name with its labels as written."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
    except OSError as error:
        raise BenchError(f"/metrics cannot be read: {error}") from None
    found = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name and not line.startswith("#"):
            found[name] = float(value)
    return found


def own_stall_ms(metrics: dict[str, float]) -> float | None:
    """The longest stall of the event loop that the daemon says it had, in ms; None if it says nothing."""
    stalls = [
        value * (1000 if "_seconds" in name else 1)
        for name, value in metrics.items()
        if "stall" in name and "longest" in name
    ]
    return max(stalls, default=None)

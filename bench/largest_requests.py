"""Time for which the largest request of each served API holds the loop: `python -m bench.largest_requests`.

A daemon runs in this process, on asyncio's loop, with every callback timed by the processor time of its thread. A
client sends each request at the most elements that its API takes, in every version and with each of its arrays as the
long one, naming existing and missing objects. The longest callback of each request is the time that other clients
would wait: decoding, handling and encoding, as far as they are not sliced.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.events
import contextlib
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import markdown_table
from coordinator.config.config import Config
from coordinator.server.api.handler import Api
from coordinator.server.api.table import HANDLERS
from coordinator.server.server import Server
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.largest_requests import Fill, largest, shapes
from tests.support.wire import encode_frame, receive_frame

TOPICS: Final = 200
PARTITIONS: Final = 10
GROUPS: Final = 200
UNKNOWN: Final[Fill] = {}
TOPIC_NAMES: Final = ("name", "topic", "topics", "topic_names", "resource_name")
KNOWN: Final[Fill] = {
    **{field: lambda place: f"topic-{place % TOPICS}" for field in TOPIC_NAMES},
    "partition_index": lambda place: place % PARTITIONS,
    "partition": lambda place: place % PARTITIONS,
    "partition_indexes": lambda place: place % PARTITIONS,
    "resource_type": lambda place: 2,
    "timestamp": lambda place: -1,
    "partition_max_bytes": lambda place: 1 << 20,
    "current_leader_epoch": lambda place: -1,
    "group_id": lambda place: f"group-{place % GROUPS}",
    "groups_names": lambda place: f"group-{place % GROUPS}",
    "groups": lambda place: f"group-{place % GROUPS}",
}


class Timed:
    """The longest callback of the loop's thread since it was asked last."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._run = asyncio.events.Handle._run

    def __enter__(self) -> Timed:
        run, timed = self._run, self

        def measured(self: asyncio.Handle) -> None:
            begun = time.thread_time()
            run(self)
            timed.longest_s = max(timed.longest_s, time.thread_time() - begun)

        asyncio.events.Handle._run = measured  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.events.Handle._run = self._run  # type: ignore[method-assign]

    def take_ms(self) -> float:
        longest_s, self.longest_s = self.longest_s, 0.0
        return longest_s * 1000


@contextlib.contextmanager
def served(directory: Path) -> Iterator[tuple[int, Callable[[], None]]]:
    """A daemon in a thread of this process; gives its port, and what waits for the end of its present callback."""
    config = replace(
        Config(),
        listeners="PLAINTEXT://127.0.0.1:0",
        http_listen="",
        log_dirs=str(directory),
        auto_create_topics_enable=False,
    )
    ready = threading.Event()
    stop: list[Any] = []

    async def run() -> None:
        server = Server(config)
        await server.start()
        ended = asyncio.Event()
        stop.append((asyncio.get_running_loop(), ended, server.port))
        ready.set()
        await ended.wait()
        await server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="daemon")
    thread.start()
    if not ready.wait(30):
        raise RuntimeError("the daemon did not start")
    loop, ended, port = stop[0]

    def settle() -> None:
        is_over = threading.Event()
        loop.call_soon_threadsafe(is_over.set)
        is_over.wait()

    try:
        yield port, settle
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(60)


class Client:
    """One connection at a time; a request that is refused costs it, and the next one makes another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, message: Any, version: int) -> bytes | None:
        """The answer, or None if the connection was closed instead."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=20)
        try:
            self._socket.sendall(encode_frame(message, version, 1))
            return receive_frame(self._socket)
        except (OSError, EOFError):
            self.close()
            return None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def prepare(client: Client) -> None:
    """Topics, and groups that have committed offsets."""
    for first in range(0, TOPICS, 50):
        made = [
            CreatableTopic(name=f"topic-{each}", num_partitions=PARTITIONS, replication_factor=1)
            for each in range(first, first + 50)
        ]
        client.ask(CreateTopicsRequest(topics=made, timeout_ms=60_000), 5)
    for number in range(GROUPS):
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
        topics = [
            OffsetCommitRequestTopic(name=f"topic-{each}", partitions=partitions)
            for each in range(TOPICS if not number else 1)
        ]
        client.ask(OffsetCommitRequest(group_id=f"group-{number}", topics=topics), 2)


def versions(api: Api) -> list[int]:
    """One of each that are decoded and encoded by the same functions."""
    found = {}
    for version in range(api.min_version, api.max_version + 1):
        found[codec.request_decoder(api.key, version), codec.response_encoder(api.key, version)] = version
    return list(found.values())


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="only APIs whose name contains this")
    arguments.add_argument("--all", action="store_true", help="each version and shape, not only the worst of an array")
    args = arguments.parse_args()
    rows: dict[tuple[str, str], list[Any]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as directory,
        Timed() as timed,
        served(Path(directory)) as served_at,
    ):
        port, settle = served_at
        client = Client(port)
        prepare(client)
        for api in HANDLERS.values():
            if args.only.upper() not in api.key.name:
                continue
            for version in versions(api):
                for shape in shapes(api.key, version):
                    for kind, fill in (("unknown", UNKNOWN), ("known", KNOWN)):
                        request = largest(shape, api.max_elements, fill)
                        if shape.key is ApiKey.PRODUCE:
                            request.acks = 1
                        timed.take_ms()
                        answer = client.ask(request, version)
                        settle()
                        took_ms = timed.take_ms()
                        array = ".".join(shape.path) + (", spread" if shape.is_spread else "")
                        place = (api.key.name, array if not args.all else f"v{version} {array} {kind}")
                        row = [
                            *place,
                            f"v{version}, {kind}",
                            api.max_elements,
                            -1 if answer is None else len(answer),
                            took_ms,
                        ]
                        if place not in rows or rows[place][-1] < took_ms:
                            rows[place] = row
                            if args.all:
                                print(row, flush=True)
        client.close()
    headings = ["API", "array", "worst", "elements", "answer, bytes", "longest callback, ms of processor time"]
    print("\n".join(markdown_table(headings, [[*map(str, row[:-1]), f"{row[-1]:.1f}"] for row in rows.values()])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The server's edge without sockets: real connections and a real runtime on a loop and transports moved by hand.

The test writes the handlers of the API table's rows: they answer, park, or break as it needs. `Transport.received`
holds the bytes that a peer has been sent.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from coordinator.config.config import Config
from coordinator.core.clock import Clock
from coordinator.core.cluster import Cluster, ClusterIdentity
from coordinator.core.coordinator import GroupCoordinator
from coordinator.server.api.handler import Handle
from coordinator.server.api.table import HANDLERS
from coordinator.server.connection import Connection
from coordinator.server.runtime import Callbacks, LeaseCheck, Runtime
from coordinator.server.time_slices import TimeSlices
from coordinator.storage.log.flusher import Flusher
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.snapshot.keeper import Snapshots
from coordinator.storage.topic_logs import TopicLogs
from protocol import codec
from protocol.api_keys import ApiKey
from tests.support.manual_loop import ManualLoop, ManualTimer, ManualWorker
from tests.support.wire import decode_answer, encode_frame


class Loop(ManualLoop):
    """A manual loop with the clock and the timers that the runtime uses."""

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any, *args: Any) -> ManualTimer:
        return self.call_later(when - self.now, callback, *args)


class Transport(asyncio.Transport):
    """Takes what is written at once, or, with `is_full`, tells the protocol to stop, as a slow reader's socket does."""

    def __init__(self, loop: Loop, protocol: Connection) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000)})
        self.received = b""
        self.writes = 0
        self.is_reading_paused = False
        self.is_writing_paused = False
        self.is_full = False
        self.high = 0  # how many bytes may be unsent before the protocol is told to stop
        self.unsent = 0
        self.is_closed = False
        self.is_aborted = False
        self._loop = loop
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self.is_closed:
            self.writes += 1
            self.received += data
            if self.is_full:
                self.unsent += len(data)
                if self.unsent > self.high and not self.is_writing_paused:
                    self.is_writing_paused = True
                    self._protocol.pause_writing()

    def drain(self) -> None:
        """The peer reads again."""
        self.is_full = False
        self.unsent = 0
        if self.is_writing_paused:
            self.is_writing_paused = False
            self._protocol.resume_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high or 0

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            if not self.is_full:
                self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True
        self._loop.call_soon(self._protocol.connection_lost, None)


class Peer:
    """One client: sends requests, and reads what the server answered."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._asked: list[tuple[int, int]] = []
        self.connection = Connection(edge.runtime)
        self.transport = Transport(edge.loop, self.connection)
        self.connection.connection_made(self.transport)

    def send(self, *messages: Any, version: int | None = None, client_id: str | None = "peer") -> None:
        """Send all messages in one read. The correlation ids count from 0."""
        data = b""
        for message in messages:
            key = self._edge.key_of(message)
            chosen = self._edge.handlers[key].max_version if version is None else version
            data += encode_frame(message, chosen, len(self._asked), client_id)
            self._asked.append((key, chosen))
        self.connection.data_received(data)

    @property
    def answers(self) -> list[Any]:
        """All answers so far, in order. Their correlation ids must be those of the requests."""
        found: list[Any] = []
        rest = self.transport.received
        while rest:
            size = int.from_bytes(rest[:4], "big")
            frame, rest = rest[4 : 4 + size], rest[4 + size :]
            key, version = self._asked[len(found)]
            correlation_id, answer = decode_answer(key, version, frame)
            assert correlation_id == len(found)
            found.append(answer)
        return found


class Edge:
    """A runtime with the given handlers, by API key, a core of one partition, and topics in `log_dirs`.

    With `is_timed` the requests that are pushed share their time as in a server. Else there is always time for one
    more, so that a test of something else does not depend on how fast the machine is.
    """

    def __init__(
        self,
        handlers: Mapping[ApiKey, Handle],
        *,
        core: GroupCoordinator | None = None,
        now_ms: int = 0,
        is_timed: bool = False,
        lease: LeaseCheck | None = None,
        **config: Any,
    ) -> None:
        self._lease = lease
        self.loop = Loop()
        self.loop.now = now_ms / 1000
        self.config = replace(Config(), **config)
        self.handlers = {
            int(key): HANDLERS[key]._replace(
                min_version=codec.declared_versions(key).start,
                max_version=codec.declared_versions(key).stop - 1,
                handle=handle,
                shape=None,
                max_elements=20_000,
            )
            for key, handle in handlers.items()
        }
        self.runtime = runtime = self._runtime(core)
        if not is_timed:
            runtime.request_slices = TimeSlices(
                self.loop.call_soon, lambda: math.inf, runtime.end_of_event, self._broken, math.inf
            )

    def _runtime(self, core: GroupCoordinator | None) -> Runtime:
        loop, config, fs = cast("asyncio.AbstractEventLoop", self.loop), self.config, RealFileSystem()
        cluster, clock, callbacks = Cluster.alone(1), Clock(self.loop), Callbacks()
        offsets_log = OffsetsLog(
            {},
            config,
            self.loop,
            callbacks.on_durable,
            callbacks.on_failed,
            flusher=lambda durable, failed: Flusher(self.loop, durable, failed, worker=ManualWorker()),
        )
        topic_logs = TopicLogs(
            loop,
            Path(config.log_dirs),
            config,
            fs,
            on_effects=callbacks.on_topic_effects,
            writer=ManualWorker(),
            now_ms=clock.now_ms,
        )
        return Runtime(
            config,
            loop,
            self.handlers,
            identity=ClusterIdentity("edge", tuple(cluster.nodes.values()), 1),
            cluster=cluster,
            clock=clock,
            callbacks=callbacks,
            core=core or one_partition(config),
            offsets_log=offsets_log,
            snapshots=Snapshots(config, fs, offsets_log),
            topic_logs=topic_logs,
            lease=self._lease,
        )

    def _broken(self, error: Exception) -> None:
        raise error

    def peer(self) -> Peer:
        return Peer(self)

    def key_of(self, message: Any) -> int:
        name = type(message).__name__.removesuffix("Request")
        return next(key for key in self.handlers if ApiKey(key).name.replace("_", "").lower() == name.lower())


def one_partition(config: Config) -> GroupCoordinator:
    """A core without groups, which has not loaded its partition."""
    return GroupCoordinator(
        config,
        partitions=1,
        new_member_uuid=lambda: "uuid",
        topic_partition_exists=lambda topic, partition: True,
        wall_offset_ms=0,
    )

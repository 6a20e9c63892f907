"""A real node on a loop moved by hand, which measures each callback in processor time, for `loop_events.py`.

Runtime, core, connections and offsets log are the real ones. What other threads do, or another process on the machine,
does not count.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, cast

from coordinator.config.config import Config
from coordinator.core.clock import Clock
from coordinator.core.cluster import Cluster, ClusterIdentity
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.group.group import Group
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.store import CommittedOffset, OffsetStore
from coordinator.server.api.table import HANDLERS
from coordinator.server.connection import Connection
from coordinator.server.runtime import Callbacks, Runtime
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.snapshot.keeper import Snapshots
from coordinator.storage.topic_logs import TopicLogs
from protocol.client import encode_frame
from protocol.codec import api_key_of


class Loop:
    """The few methods of an asyncio loop that the server uses, each callback measured."""

    def __init__(self) -> None:
        self.ready: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self.timers: list[tuple[float, int, Any]] = []
        self.skew = 0.0
        self.longest = (0.0, 0.0, "")  # processor time, time on the wall, what it was
        self.longest_wall = 0.0
        self.total = 0.0
        self.events = 0
        self._count = 0
        self._from_threads = threading.Event()

    def time(self) -> float:
        return time.monotonic() + self.skew

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> None:
        self.ready.append((callback, args))

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any) -> None:
        self.ready.append((callback, args))
        self._from_threads.set()

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Any:
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> Any:
        self._count += 1
        handle = _Timer(callback, args)
        heappush(self.timers, (when, self._count, handle))
        return handle

    def run_in_executor(self, pool: Any, work: Callable[..., Any], *args: Any) -> Any:
        """Run work in a thread of the pool; what follows it is an event of this loop."""
        return _OnLoop(self, pool.submit(work, *args))

    def measure(self, callback: Callable[..., Any], *args: Any, name: str = "") -> Any:
        began = time.perf_counter()
        before = time.thread_time()
        try:
            return callback(*args)
        finally:
            took = time.thread_time() - before
            wall = time.perf_counter() - began
            self.events += 1
            self.total += took
            self.longest_wall = max(self.longest_wall, wall)
            if took > self.longest[0]:
                self.longest = took, wall, name or _name_of(callback)

    def run(self, quiet_s: float = 0.3, until: Callable[[], bool] = lambda: True) -> None:
        """Run until no callback is ready, no timer is due, and no thread has reported for a while."""
        last = time.monotonic()
        while True:
            while self.timers and (self.timers[0][0] <= self.time() or self.timers[0][2].is_cancelled):
                handle = heappop(self.timers)[2]
                if not handle.is_cancelled:
                    self.ready.append((handle.callback, handle.args))
            if self.ready:
                callback, args = self.ready.popleft()
                self.measure(callback, *args)
                last = time.monotonic()
                continue
            if time.monotonic() - last > quiet_s and (until() or time.monotonic() - last > 120):
                return
            self._from_threads.wait(0.002)
            self._from_threads.clear()


def _name_of(callback: Any) -> str:
    while isinstance(callback, partial):
        callback = callback.args[0] if callback.args and callable(callback.args[0]) else callback.func
    return str(getattr(callback, "__qualname__", type(callback).__name__))


class _OnLoop:
    """The future of work in a thread, whose callbacks run on the loop."""

    def __init__(self, loop: Loop, done: Future[Any]) -> None:
        self._loop, self._done = loop, done
        self.cancelled, self.exception, self.result = done.cancelled, done.exception, done.result

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._done.add_done_callback(lambda _: self._loop.call_soon_threadsafe(callback, self))


class _Timer:
    def __init__(self, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.callback, self.args, self.is_cancelled = callback, args, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Transport(asyncio.Transport):
    """Takes answers."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000)})

    def write(self, data: Any) -> None: ...
    def writelines(self, list_of_data: Any) -> None: ...
    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        raise RuntimeError("closed")

    def abort(self) -> None:
        raise RuntimeError("aborted")


class World:
    def __init__(self, path: Path) -> None:
        self.loop = loop = Loop()
        config = replace(
            Config(),
            log_dirs=str(path),
            max_groups=10**7,
            max_connections=10**6,
            offsets_commit_topic_check=False,
            message_max_bytes=1 << 26,
            group_max_metadata_bytes=1 << 26,
            group_initial_rebalance_delay_ms=10,
        )
        cluster = Cluster.alone(1)
        clock, callbacks = Clock(loop), Callbacks()
        ids = iter(range(10**9))
        fs = RealFileSystem()
        offsets_log = OffsetsLog.open(
            path, config, fs, loop=loop, on_durable=callbacks.on_durable, on_failed=callbacks.on_failed
        )
        topic_logs = TopicLogs(
            cast(Any, loop), path, config, fs, on_effects=callbacks.on_topic_effects, cluster=cluster, internal_logs={}
        )
        self.core = GroupCoordinator(
            config,
            partitions=8,
            new_member_uuid=lambda: f"{next(ids):036d}",
            topic_partition_exists=lambda topic, partition: True,
            wall_offset_ms=int((time.time() - loop.time()) * 1000),
        )
        runtime = self.runtime = Runtime(
            config,
            cast("asyncio.AbstractEventLoop", loop),
            HANDLERS,
            identity=ClusterIdentity("c", tuple(cluster.nodes.values()), 8),
            cluster=cluster,
            clock=clock,
            callbacks=callbacks,
            core=self.core,
            offsets_log=offsets_log,
            snapshots=Snapshots(config, fs, offsets_log),
            topic_logs=topic_logs,
        )
        for partition in range(8):
            self.core.load_begin(partition)
            runtime.execute(self.core.loaded(partition, LoadedState.of((), OffsetStore(), 0), 0, runtime.now_ms()))
        loop.run(0.01)
        self.peers: list[Peer] = []

    def group(self, group_id: str, topics: int, partitions: int, *, old: bool = False) -> Group:
        core = self.core
        shard = core.partition(core.partition_for(group_id))
        wall_ms = int(time.time() * 1000) - (10**10 if old else 0)
        group = Group(group_id, shard, wall_ms)
        group.is_recorded = True
        group.protocol_type = "consumer"
        group.compute_subscribed_topics()
        shard.add(group)
        for topic in range(topics):
            name = sys.intern(f"topic-{topic}")
            for partition in range(partitions):
                shard.offsets.put(group_id, name, partition, CommittedOffset(partition, 1, "", wall_ms, -1, 0))
        return group

    def peer(self) -> Peer:
        peer = Peer(self)
        self.peers.append(peer)
        return peer

    def begin_event(self) -> None:
        """Bring the core's clock to now, for a scenario that builds state without a request."""
        event = self.core._context
        event.now_ms = self.runtime.now_ms()
        self.core.timers.wheel.advance(event.now_ms)

    def shutdown(self) -> None:
        """Do what a stop does with the core."""
        self.loop.measure(lambda: self.runtime.execute(self.core.shutdown(self.runtime.now_ms())), name="core.shutdown")
        self.runtime.end_of_event()

    def reset(self) -> None:
        """Prepare a scenario: finish pending work and take existing objects out of the garbage collector's sight."""
        self.loop.run(0.05)
        gc.collect()
        gc.freeze()
        self.loop.longest, self.loop.longest_wall, self.loop.total, self.loop.events = (0.0, 0.0, ""), 0.0, 0.0, 0


class Peer:
    def __init__(self, world: World) -> None:
        self.world = world
        self.connection = Connection(world.runtime)
        self.transport = Transport()
        self.connection.connection_made(self.transport)

    def send(self, message: Any, version: int) -> None:
        data = encode_frame(message, version, 7, "peer")
        self.world.loop.measure(self.connection.data_received, data, name=f"data_received {api_key_of(message).name}")

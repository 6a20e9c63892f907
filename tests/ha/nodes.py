"""Coordinator daemons that share an engine, each a process with a way of its own to it.

A node reaches each address of the engine through a proxy (`tests.ha.proxy`), so it can be cut off alone. Nodes are
killed, frozen, stopped and started again by their process ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.ha.engines import SharedEngine
from tests.ha.proxy import EngineProxy
from tests.support.daemon import Daemon
from tests.support.nodes import free_ports

OVERRIDES = (
    "cluster.id=ha",
    "offsets.topic.num.partitions=8",
    "offsets.commit.topic.check=false",
    "group.initial.rebalance.delay.ms=0",
)
# The topic of group events would be kept by the owner of the offsets partition, which changes: a node whose disk has
# parts of it does not start again.
TOPIC_OVERRIDES = ("topics.storage=local", "group.events.topic.enable=false")


class EngineNode:
    """One daemon and its proxies."""

    def __init__(self, number: int, daemon: Daemon, proxies: list[EngineProxy], front: EngineProxy | None) -> None:
        self.number = number
        self.daemon = daemon
        self.proxies = proxies
        self.front = front  # clients and other nodes are told its address, where there is one
        self.should_run = False

    async def start(self) -> None:
        """Start it and wait until it is ready. Raises AssertionError with the end of its log."""
        self.should_run = True
        await asyncio.to_thread(self.daemon.start)

    def kill(self) -> None:
        self.should_run = False
        self.daemon.kill()

    async def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.should_run = False
        return await asyncio.to_thread(self.daemon.terminate)

    def freeze(self) -> None:
        os.kill(self.daemon.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.daemon.pid, signal.SIGCONT)

    @property
    def has_died(self) -> bool:
        """Return True if it has ended, and no fault has ended it."""
        return self.should_run and not self.daemon.is_running


class EngineNodes:
    """The nodes by number, from 1 on. One more than `count` is prepared, to be added during the run."""

    def __init__(
        self,
        directory: Path,
        engine: SharedEngine,
        count: int,
        topic: str = "",
        overrides: Sequence[str] = (),
        *,
        fronts: bool = False,
        environment: Mapping[str, str] | None = None,
        one_by_one: bool = False,
        http: str = "off",
    ) -> None:
        self._http = http
        self._environment = environment
        self._one_by_one = one_by_one
        self._overrides = overrides
        self._fronts = fronts
        self._directory = directory
        self._engine = engine
        self._count = count
        self._topics = [topic] if topic else []
        self.nodes: dict[int, EngineNode] = {}

    async def __aenter__(self) -> EngineNodes:
        ports = free_ports(self._count + 1)
        listed = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1))
        for number, port in enumerate(ports, 1):
            proxies = [EngineProxy(*target) for target in self._engine.targets]
            for proxy in proxies:
                await proxy.start()
            ways = [("127.0.0.1", proxy.port) for proxy in proxies]
            front = await EngineProxy("127.0.0.1", port).start() if self._fronts else None
            storage = [*TOPIC_OVERRIDES, f"cluster.nodes={listed}"] if self._topics else []
            overrides = (
                *OVERRIDES,
                *storage,
                f"node.id={number}",
                *self._engine.overrides(ways, ports),
                *([f"advertised.listeners=127.0.0.1:{front.port}"] if front is not None else []),
                *self._overrides,
            )
            daemon = Daemon(
                self._directory / f"node-{number}",
                overrides=overrides,
                topics=self._topics,
                environment=self._environment,
                http=self._http,
            )
            daemon.port = port
            self.nodes[number] = EngineNode(number, daemon, proxies, front)
        try:
            if self._one_by_one:
                for number in self.first:
                    await self.nodes[number].start()
            else:
                await asyncio.gather(*(self.nodes[number].start() for number in self.first))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._end()

    async def _end(self) -> None:
        for node in self.nodes.values():
            node.kill()
            for proxy in [*node.proxies, *([node.front] if node.front is not None else [])]:
                await proxy.close()

    async def start_all(self) -> None:
        """Start the nodes that a fault has left dead, if it failed half-way."""
        dead = [node for number, node in self.nodes.items() if number in self.first and not node.daemon.is_running]
        await asyncio.gather(*(node.start() for node in dead))

    def aim(self) -> None:
        """Aim all proxies at the servers that the engine has now."""
        for node in self.nodes.values():
            for proxy, target in zip(node.proxies, self._engine.targets, strict=True):
                proxy.aim(*target)

    @property
    def first(self) -> list[int]:
        """Numbers of the nodes that run from the beginning."""
        return list(self.nodes)[: self._count]

    @property
    def spare(self) -> int:
        """Number of the node that is added during the run."""
        return self._count + 1

    @property
    def bootstrap(self) -> str:
        return ",".join(self.nodes[number].daemon.address for number in self.first)

    def complaints(self) -> list[str]:
        """Return what is wrong with the processes themselves: an end without a fault, a traceback in a log."""
        found = []
        for node in self.nodes.values():
            if node.has_died:
                code = node.daemon.process.returncode
                found.append(f"node {node.number} ended by itself with {code}: {node.daemon.log_tail()}")
            with contextlib.suppress(StopIteration):
                line = next(line for line in node.daemon.log_lines() if line.startswith("Traceback"))
                found.append(f"node {node.number} logged an exception ({line}), see {node.daemon.log_file}")
        return found

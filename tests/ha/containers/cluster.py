"""The services of the profile `ha`: nodes and databases in containers, for `tests.ha.nemesis`.

They have the methods of `tests.ha.nodes` and `tests.ha.engines`, by `docker` and by orders to the proxy.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

from tests.cluster.engine import Engine, run
from tests.ha.containers.proxy import CONTROL_PORT
from tests.ha.proxy import Way

DATABASES = ["ha-postgres-1", "ha-postgres-2"]
CLIENTS = ["ha-clients-aiokafka", "ha-clients-confluent-kafka", "ha-clients-kafka-python", "ha-clients-raw"]
NODES = {number: f"ha-coordinator-{number}" for number in range(1, 5)}
STOP_S = 30


class HaEngine(Engine):
    """The containers of the profile `ha`."""

    def compose(self, *arguments: str, quiet: bool = True, check: bool = True) -> str:
        return run(*self._compose, "--profile", "ha", *arguments, quiet=quiet, check=check)

    def container(self, service: str) -> str:
        """Return the container of a service, also if it has ended."""
        return self.compose("ps", "-a", "-q", service).split()[0]

    def state(self, service: str) -> dict[str, Any]:
        """Return what `docker inspect` says."""
        found: list[dict[str, Any]] = json.loads(run("docker", "inspect", self.container(service)))
        return {**found[0]["State"], "RestartCount": found[0]["RestartCount"]}

    def control_address(self) -> tuple[str, int]:
        """Return where the proxy takes orders."""
        host, _, port = self.compose("port", "ha-proxy", str(CONTROL_PORT)).strip().rpartition(":")
        return host, int(port)


class NodeProxy:
    """The links of one node to all databases. Has the methods of `EngineProxy` that faults use."""

    def __init__(self, engine: HaEngine, node: int) -> None:
        self._engine = engine
        self._node = node

    def break_off(self, way: Way) -> None:
        self._order(f"break {self._node} {way.name}")

    def heal(self) -> None:
        self._order(f"heal {self._node}")

    @property
    def delay_s(self) -> float:
        raise NotImplementedError

    @delay_s.setter
    def delay_s(self, seconds: float) -> None:
        self._order(f"slow {self._node} {seconds}")

    def _order(self, line: str) -> None:
        with socket.create_connection(self._engine.control_address(), timeout=10) as connection:
            connection.sendall(line.encode() + b"\n")
            assert connection.recv(100) == b"done\n", line


class NodeLog:
    """The log of a node, for messages."""

    def __init__(self, engine: HaEngine, service: str) -> None:
        self._engine = engine
        self._service = service

    def log_tail(self) -> str:
        return self._engine.compose("logs", "--tail=20", self._service)


class ContainerNode:
    """One node."""

    def __init__(self, engine: HaEngine, number: int) -> None:
        self.number = number
        self.service = NODES[number]
        self.proxies = [NodeProxy(engine, number)]
        self.daemon = NodeLog(engine, self.service)
        self.should_run = False
        self._engine = engine

    async def start(self) -> None:
        """Start it and wait until it is ready. Raises AssertionError with the end of its log."""
        self.should_run = True
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        self._engine.compose("up", "-d", "--no-deps", "--no-recreate", self.service)
        self._engine.wait_healthy([self.service])

    def kill(self) -> None:
        self.should_run = False
        self._engine.kill(self.service)

    async def terminate(self) -> int:
        """Stop it and return the exit code."""
        self.should_run = False
        await asyncio.to_thread(self._engine.compose, "stop", "-t", str(STOP_S), self.service)
        return int(self._engine.state(self.service)["ExitCode"])

    def freeze(self) -> None:
        self._engine.pause(self.service)

    def thaw(self) -> None:
        self._engine.resume(self.service)

    def complaints(self) -> list[str]:
        """Return what is wrong with its process: an end without a fault, a traceback in its log."""
        if not self.should_run:
            return []
        found = []
        state = self._engine.state(self.service)
        if not state["Running"] or state["RestartCount"]:
            found.append(f"{self.service} ended by itself, {state['RestartCount']} times: {self.daemon.log_tail()}")
        if "Traceback" in self._engine.compose("logs", "--no-color", self.service):
            found.append(f"{self.service} logged an exception")
        return found


class ContainerNodes:
    """The nodes by number, from 1 on. The last one is added during the run."""

    def __init__(self, engine: HaEngine) -> None:
        self.nodes = {number: ContainerNode(engine, number) for number in NODES}

    @property
    def first(self) -> list[int]:
        return list(NODES)[:-1]

    @property
    def spare(self) -> int:
        return list(NODES)[-1]

    async def start_all(self) -> None:
        """Start the nodes that run from the beginning, or that a fault has left dead."""
        await asyncio.gather(*(self.nodes[number].start() for number in self.first))

    def aim(self) -> None:
        """Do nothing: the names of the databases stay."""

    def complaints(self) -> list[str]:
        return [complaint for node in self.nodes.values() for complaint in node.complaints()]


class ContainerPostgres:
    """The pair of databases."""

    def __init__(self, engine: HaEngine) -> None:
        self._engine = engine
        self._primary = 0

    def fail_over(self, seconds: float) -> None:
        """Kill the primary, promote the standby after so many seconds, and make the other one its standby."""
        dead, self._primary = self._primary, 1 - self._primary
        self._engine.kill(DATABASES[dead])
        time.sleep(seconds)
        self._engine.compose("exec", "-T", DATABASES[self._primary], "postgres.sh", "promote")
        self._engine.start(DATABASES[dead])
        self._engine.wait_healthy(DATABASES)

    def lose_standby(self, seconds: float) -> None:
        """Kill the standby, and start it again after so many seconds."""
        standby = DATABASES[1 - self._primary]
        self._engine.kill(standby)
        time.sleep(seconds)
        self._engine.start(standby)
        self._engine.wait_healthy(DATABASES)

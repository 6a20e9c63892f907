"""A cluster of real daemons on loopback: started together, each killed, stopped, frozen and restarted by itself.

The nodes of a cluster must know each other's ports beforehand, so these are drawn here: at random from below the range
that the system gives to outgoing connections (a killed node's port could otherwise be taken by one of them before its
restart), and looked at by binding them. Where another process is quicker, all ports are drawn anew.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.wire import ConnectionEnded, call

CLUSTER_ID = "loopback"
OFFSETS_PARTITIONS = 8
PORTS = range(10_000, 32_000)  # Linux gives 32768 to 60999 to outgoing connections
ATTEMPTS = 5


def free_ports(count: int) -> list[int]:
    """Return ports on which no process listens at this moment."""
    chance = random.SystemRandom()
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = chance.choice(PORTS)
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
    return found


class Nodes:
    """Daemons by node id, 1 to `count`."""

    def __init__(
        self,
        directory: Path,
        count: int = 3,
        *,
        overrides: Sequence[str] = (),
        topics: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = environment
        self._directory = directory
        self._count = count
        self._overrides = tuple(overrides)
        self._topics = tuple(topics)
        self.daemons: dict[int, Daemon] = {}

    def __enter__(self) -> Nodes:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for number, daemon in self.daemons.items() if kind is None else ():
                self.unfreeze(number)
                daemon.stop()
        finally:
            for daemon in self.daemons.values():
                daemon.kill()

    def __getitem__(self, number: int) -> Daemon:
        return self.daemons[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self.daemons)

    def prepare(self) -> Nodes:
        """The daemons with ports of their own, none of them started."""
        ports = free_ports(self._count)
        listed = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1))
        for number, port in enumerate(ports, 1):
            self.daemons[number] = daemon = Daemon(
                self._directory / f"node-{number}",
                overrides=(
                    f"cluster.nodes={listed}",
                    f"cluster.id={CLUSTER_ID}",
                    f"node.id={number}",
                    f"offsets.topic.num.partitions={OFFSETS_PARTITIONS}",
                    *self._overrides,
                ),
                topics=self._topics,
                environment=self._environment,
            )
            daemon.port = port
        return self

    def start(self) -> Nodes:
        """Start all of them at once, and return when all are ready."""
        for _ in range(ATTEMPTS):
            self.prepare()
            for daemon in self.daemons.values():
                daemon.spawn()
            try:
                for daemon in self.daemons.values():
                    daemon.await_ready()
            except AssertionError:
                for daemon in self.daemons.values():
                    daemon.kill()
                if not any("is in use" in daemon.log_text() for daemon in self.daemons.values()):
                    raise
                continue
            return self
        raise AssertionError("no free ports found")

    @property
    def bootstrap(self) -> str:
        return ",".join(daemon.address for daemon in self.daemons.values())

    def freeze(self, number: int) -> None:
        """SIGSTOP: it is there, and says nothing."""
        os.kill(self[number].pid, signal.SIGSTOP)

    def unfreeze(self, number: int) -> None:
        if self[number].is_running:
            os.kill(self[number].pid, signal.SIGCONT)

    def group_of(self, number: int, prefix: str = "group") -> str:
        """The name of a group that this node coordinates."""
        names = [f"{prefix}-{n}" for n in range(200)]
        answer = call(self[number].port, FindCoordinatorRequest(coordinator_keys=names), 4)
        return next(found.key for found in answer.coordinators if found.node_id == number)

    def coordinator_of(self, group: str) -> int:
        """The node that coordinates a group, as the first one that answers says."""
        for daemon in self.daemons.values():
            with contextlib.suppress(OSError, ConnectionEnded):
                answer = call(daemon.port, FindCoordinatorRequest(coordinator_keys=[group]), 4)
                return int(answer.coordinators[0].node_id)
        raise AssertionError("no node answers")

    def partitions(self, number: int, topic: str) -> int | None:
        """Return the number of partitions of a topic on this node; None if the topic or the node is unknown."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        try:
            answer = call(self[number].port, request, 9)
        except (OSError, ConnectionEnded):
            return None
        return len(answer.topics[0].partitions) if not answer.topics[0].error_code else None

    def know(self, topic: str, partitions: int | None, *, on: Sequence[int] = (), within_s: float = 10.0) -> None:
        """Wait until these nodes (by default all) know a topic with so many partitions; None: do not know it."""
        for number in on or self.daemons:
            eventually(
                lambda number=number: self.partitions(number, topic) == partitions,  # type: ignore[misc]
                f"node {number} knows {topic} with {partitions} partitions",
                within_s=within_s,
            )

"""Nodes with a shared store in virtual time: each has an event loop that can be paused or killed, and a TCP address.

The store is `coordinator.engine.memory`, reached by requests that take time: one that has been sent is carried out even
if its sender is frozen or dead by then. After each event it is checked that no two nodes may answer for a partition.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, ClassVar, TypeVar

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NO_MAP, ClusterMap, OwnedPartition
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.membership import Membership, MembershipSettings
from coordinator.server.node_links import NodeLinks
from coordinator.simulation.loop import SimulatedLoop
from coordinator.simulation.network import Network
from coordinator.simulation.world import World
from coordinator.storage.log_store import Claim, LogStoreError

T = TypeVar("T")

PARTITIONS = 8
SETTINGS = MembershipSettings(PARTITIONS)
LEASE_S = SETTINGS.lease_ms / 1000
TIMEOUT_S = 5.0  # log.engine.timeout.ms
STORE_S = 0.001  # to the store or back, at most


class Outage(Enum):
    REFUSED = "each request is refused at once"
    SILENT = "requests are lost, and nothing answers"
    ANSWERS_LOST = "requests are carried out, and nothing answers"


class CheckedWorld(World):
    """A world that calls `check` after each event."""

    check: Callable[[], None] = staticmethod(lambda: None)

    def at(self, when_s: float, act: Callable[[], None], *, is_step: bool = False) -> None:
        super().at(when_s, lambda: self._act(act), is_step=is_step)

    def _act(self, act: Callable[[], None]) -> None:
        act()
        self.check()


class RemoteState(MemoryEngineState):
    """The store, behind a network that takes time and can fail."""

    def __init__(self, world: World) -> None:
        super().__init__(lambda: int(world.now_s * 1000), lease_ms=SETTINGS.lease_ms)
        self.world = world
        self.outages: dict[int, Outage] = {}  # by node
        self.lost_answers: set[tuple[int, str]] = set()  # (node, method): the next answer is lost
        self.reads_before_renewals = False  # a renewal brings nodes as they were before it
        self.slow_s: dict[int, float] = {}  # to the store and back, in addition, by node
        self.arrived: Callable[[int, str], None] = lambda node_id, method: None  # called with each request
        self._chance = world.chance("store")

    async def call(self, node_id: int, method: str, act: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self.world.at(self.world.now_s + self._delay_s(node_id), partial(self._arrive, node_id, method, act, answer))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await answer
        except TimeoutError:
            raise LogStoreError(f"no answer within {TIMEOUT_S} s; look at the store") from None

    def _arrive(self, node_id: int, method: str, act: Callable[[], T], answer: asyncio.Future[T]) -> None:
        outage = self.outages.get(node_id)
        if outage is Outage.SILENT:
            return
        self.arrived(node_id, method)
        before = self.map().nodes
        error: LogStoreError | None = None
        result: Any = None
        if outage is Outage.REFUSED:
            error = LogStoreError("the store refuses connections; start it")
        else:
            try:
                result = act()
                if method == "renew" and self.reads_before_renewals:
                    result = result._replace(nodes=before)
            except LogStoreError as raised:
                error = raised
        if outage is Outage.ANSWERS_LOST:
            return
        if (node_id, method) in self.lost_answers:
            self.lost_answers.discard((node_id, method))
            error = LogStoreError("the connection was lost; it is opened again")
        self.world.at(self.world.now_s + self._delay_s(node_id), lambda: _answer(answer, result, error))

    def changed(self, by: int) -> None:
        for node_id, tell in self.watchers.items():
            if node_id != by and node_id not in self.outages:
                self.world.at(self.world.now_s + self._delay_s(node_id), tell)

    def owned(self) -> dict[int, OwnedPartition]:
        return dict(self.map().owners)

    def _delay_s(self, node_id: int) -> float:
        return self.slow_s.get(node_id, 0.0) + STORE_S * (0.1 + 0.9 * self._chance.random())


def _answer(answer: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if not answer.done():
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)


class Host:
    """A `PartitionHost` that records what it is told. Loading takes `load_s`, draining `drain_s`."""

    def __init__(self, world: World) -> None:
        self.serving: dict[int, int] = {}  # epochs, by partition
        self.told: list[tuple[float, str, int]] = []  # seconds, what, partition or -1
        self.broken: set[int] = set()  # partitions that cannot be loaded
        self.stuck: set[int] = set()  # partitions whose next end breaks, although they are not served any more
        self.is_suspended = False
        self.view: ClusterMap = NO_MAP
        self.load_s = 0.03
        self.drain_s = 0.005
        self.loading = self.most_loading = 0
        self.drained: Callable[[int], None] = lambda partition: None  # called when a drain begins
        self._world = world

    def _note(self, what: str, partition: int = -1) -> None:
        self.told.append((self._world.now_s, what, partition))

    def times(self, what: str, partition: int | None = None) -> list[float]:
        return [at for at, each, number in self.told if each == what and partition in (None, number)]

    async def take(self, claim: Claim) -> None:
        assert claim.partition not in self.serving
        self._note("take", claim.partition)
        self.loading += 1
        self.most_loading = max(self.most_loading, self.loading)
        try:
            await asyncio.sleep(self.load_s)
        finally:
            self.loading -= 1
        if claim.partition in self.broken:
            raise ValueError("a damaged batch")
        self.serving[claim.partition] = claim.epoch

    def give_up(self, partition: int) -> None:
        self._note("give up", partition)
        self.serving.pop(partition, None)
        if partition in self.stuck:
            self.stuck.discard(partition)
            raise ValueError("a bug")

    async def before_stop(self) -> None:
        """There is nothing to prepare."""

    async def drain(self, partition: int) -> None:
        assert partition in self.serving
        self._note("drain", partition)
        self.drained(partition)
        await asyncio.sleep(self.drain_s)
        del self.serving[partition]

    def suspend(self) -> None:
        assert not self.is_suspended
        self._note("suspend")
        self.is_suspended = True

    def resume(self) -> None:
        assert self.is_suspended
        self._note("resume")
        self.is_suspended = False

    def map_changed(self, view: ClusterMap) -> None:
        assert view != self.view
        self.view = view


class Node:
    """One run of a node: a process with its membership."""

    def __init__(self, cluster: MembershipWorld, number: int, run: int, settings: MembershipSettings) -> None:
        self.cluster = cluster
        self.host_name = f"10.0.0.{number}"
        self.me = ClusterNode(number, self.host_name, 9092)
        self.loop = SimulatedLoop(cluster.world, cluster.network, f"node-{number}-{run}", self.host_name)
        self.host = Host(cluster.world)
        self.errors: list[Exception] = []
        incarnations = (f"{number}.{run}.{count}" for count in range(1000))
        self.membership = Membership(
            self.me,
            open_memory(cluster.state, number),
            self.host,
            settings,
            NodeLinks().open_peer,
            clock=lambda: cluster.world.now_s,
            new_incarnation=lambda: next(incarnations),
        )
        self.is_stopping = False
        self.is_gone = False  # it has left
        self.listen()
        self._starting = self.do(self._start())

    def listen(self) -> None:
        self.cluster.network.listen(self.loop, asyncio.Protocol, (self.host_name, 9092))

    def do(self, work: object) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self.loop.run(lambda: self.loop.create_task(work))
        return task

    async def _start(self) -> None:
        try:
            await self.membership.start()
        except LogStoreError as error:
            self.errors.append(error)
            self._exit()

    async def stop(self) -> None:
        """Leave as a daemon does that is told to stop."""
        self.is_stopping = True
        if self._starting.done():
            await self.membership.drain_and_leave()
        else:
            self._starting.cancel()
        self._exit()

    def _exit(self) -> None:
        self.is_gone = True
        self.cluster.world.at(self.cluster.world.now_s, self.loop.kill)

    def kill(self, *, proof: bool = False) -> None:
        """End the process. `proof`: the store notices it, as the end of a session."""
        self.loop.kill()
        if proof:
            self.cluster.state.ended.add(self.membership.incarnation)

    @property
    def is_alive(self) -> bool:
        return not (self.loop.is_dead or self.is_gone)

    @property
    def answers(self) -> set[int]:
        """Partitions for which this node may answer now."""
        return set(self.host.serving) if self.is_alive and self.membership.lease.holds() else set()


class MembershipWorld:
    """A cluster. `settings` are those of nodes that are started. `close` ends all processes."""

    opened: ClassVar[list[MembershipWorld]] = []

    def __init__(self, seed: int = 1, settings: MembershipSettings = SETTINGS) -> None:
        self.world = CheckedWorld(seed)
        self.network = Network(self.world)
        self.state = RemoteState(self.world)
        self.settings = settings
        self.nodes: list[Node] = []
        self.most_unserved = 0  # partitions at once, since it was set to 0
        self.allows_two = False  # two nodes may answer for a partition
        self.world.check = self._check
        self._runs: dict[int, int] = defaultdict(int)
        self.opened.append(self)

    def close(self) -> None:
        for each in self.nodes:
            each.loop.kill()

    def start(self, *numbers: int) -> list[Node]:
        started = []
        for number in numbers:
            self._runs[number] += 1
            started.append(Node(self, number, self._runs[number], self.settings))
        self.nodes += started
        return started

    def run(self, seconds: float) -> None:
        until_s = self.world.now_s + seconds
        self.world.run(until_s=until_s, until_step=10**9)
        if self.world.violation is not None:
            raise AssertionError(str(self.world.violation)) from self.world.violation

    def run_until(self, condition: Callable[[], bool], within_s: float) -> float:
        """Run until something is true, at most some seconds; returns the seconds it took."""
        began_s = self.world.now_s
        while not condition():
            assert self.world.now_s < began_s + within_s, f"not within {within_s} s: {self.served()}"
            self.run(0.005)
        return self.world.now_s - began_s

    def served(self) -> dict[int, list[int]]:
        """Return the ids of the nodes that answer for each partition."""
        return {
            partition: [each.me.id for each in self.nodes if partition in each.answers]
            for partition in range(self.settings.partitions)
        }

    def all_served(self) -> bool:
        return all(len(ids) == 1 for ids in self.served().values())

    def _check(self) -> None:
        served = self.served()
        self.most_unserved = max(self.most_unserved, sum(not ids for ids in served.values()))
        if not self.allows_two:
            assert all(len(ids) < 2 for ids in served.values()), f"two nodes answer for a partition: {served}"

    def outage(self, outage: Outage | None, *numbers: int) -> None:
        """Cut nodes off from the store, or end that."""
        for number in numbers or {each.me.id for each in self.nodes}:
            if outage is None:
                self.state.outages.pop(number, None)
            else:
                self.state.outages[number] = outage

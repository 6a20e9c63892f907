"""One run of a simulation whose nodes share a store, in place of their disks.

The parts of a run are those of `coordinator.simulation.run`. After the last fault every partition must be served, and
each client must succeed. A node may be added while the schedule lasts. There are no topics: members count up what they
commit.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.sources import load
from coordinator.core.live_cluster import NodeState
from coordinator.simulation import shared_faults
from coordinator.simulation.client import CallError
from coordinator.simulation.member import SimulatedMember
from coordinator.simulation.node import DATA
from coordinator.simulation.others import Administrator, Committer, Stray
from coordinator.simulation.run import Simulation
from coordinator.simulation.shared_invariants import SharedInvariants
from coordinator.simulation.shared_node import SharedStoreNode
from coordinator.simulation.shared_store import SimulatedStore
from protocol.api_keys import ApiKey
from protocol.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    import random
    from collections.abc import Coroutine

PATIENCE_S: Final = (1.0, 2.0, 12.0)  # of committers: those that give up early meet the next owner of a partition
PROBE_S: Final = 0.5  # at most, between two requests of the prober
BEATS_ALIKE: Final = 40  # heartbeats of one member, which its node then recognises by their bytes
ADDED_S: Final = 20.0  # at most, until a node is added


class GroupMember(SimulatedMember):
    """A member that reads nothing: each poll brings one record."""

    async def _poll(self) -> None:
        if self.assignment:
            place = self.chance.choice(self.assignment)
            self.positions[place] = self.positions.get(place, 0) + 1


class Prober(Committer):
    """Asks each node about any group, whichever node coordinates it, and does not wait for the answer.

    A node that was frozen finds such requests when it goes on. `members`: those whose heartbeats it sends, too.
    """

    members: list[SimulatedMember]

    async def run(self) -> None:
        """Ask for ever."""
        self.versions[ApiKey.HEARTBEAT] = 4
        asked = 0
        while True:
            asked += 1
            if asked % 2:
                self._ask(self._read(self.chance.choice(self.groups)))
            else:
                member = self.members[asked // BEATS_ALIKE % len(self.members)]
                for node in self.nodes if member.member_id else ():
                    self._ask(self._beat(node, member))
            await asyncio.sleep(self.chance.random() * PROBE_S)

    async def find(self, group: str) -> int:
        return self.chance.choice(list(self.nodes))

    async def _beat(self, node: int, member: SimulatedMember) -> None:
        request = HeartbeatRequest(
            group_id=member.group,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
        )
        await self.call(node, request, lane="heartbeat")

    def _ask(self, act: Coroutine[Any, Any, None]) -> None:
        self.loop.create_task(_unless_lost(act))


async def _unless_lost(act: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(CallError):
        await act


class SharedSimulation(Simulation):
    """A world with nodes, their store, and clients."""

    take = shared_faults.TAKE
    themes = shared_faults.THEMES
    steps_for_a_fault = 25
    settle_s = 80.0
    member_class = GroupMember
    store: SimulatedStore
    nodes: dict[int, SharedStoreNode]  # type: ignore[assignment]
    invariants: SharedInvariants
    _committers: list[Committer]
    _settled_from_s = 0.0

    def _make_nodes(self, chance: random.Random) -> dict[int, SharedStoreNode]:  # type: ignore[override]
        count = chance.choice((2, 2, 3))
        lease_ms = chance.choice((1_500, 3_000, 3_000))
        self._offsets_partitions = chance.choice((1, 3, 4))
        config = {
            "http.listen": "off",
            "log.dirs": str(DATA),
            "log.engine": "postgresql://simulated/store",
            "cluster.id": "simulated",
            "cluster.lease.ms": str(lease_ms),
            "cluster.heartbeat.ms": str(lease_ms // 6),
            "cluster.rebalance.delay.ms": str(chance.choice((0, 1_000, 5_000))),
            "ha.log.keep.ms": str(chance.choice((0, 0, 3_000))),
            "offsets.topic.num.partitions": str(self._offsets_partitions),
            "offsets.snapshot.tail.bytes": str(chance.choice((0, 500, 500, 2_000))),
            "offsets.snapshot.min.bytes": "500",
            "group.initial.rebalance.delay.ms": str(chance.choice((0, 500, 3_000))),
        }
        self._group_max_size = chance.choice((2, 4, 4))
        config["group.max.size"] = str(self._group_max_size)
        config |= self._topic_settings(chance, count)
        self.store = SimulatedStore(self.world, lease_ms, self.history.restarted)
        added_s = self.world.now_s + chance.random() * ADDED_S if chance.random() < 0.5 else 0.0
        return {
            number: SharedStoreNode(
                self.world,
                self.network,
                number,
                load(flags={**config, "node.id": str(number), "listeners": f"10.0.0.{number}:9092"}),
                self.store,
                added_s if number == count else 0.0,
            )
            for number in range(1, count + 1)
        }

    def _topic_settings(self, chance: random.Random, count: int) -> dict[str, str]:
        """Return the settings of topics, if there are any. `count`: number of nodes."""
        return {}

    def _make_invariants(self) -> SharedInvariants:
        return SharedInvariants(self.world, self.history, self.nodes, self.store, self._offsets_partitions)

    def _make_others(self, chance: random.Random) -> None:
        self._committers = []
        for number in range(chance.randint(2, 4)):
            committer = self._client(Committer)
            committer.groups = [f"simple-{number % 2}"]  # two or more commit and read the same offsets
            committer.places = [("orders", index) for index in range(2)]
            committer.patience_s = chance.choice(PATIENCE_S)
            self._committers.append(committer)
        prober = self._client(Prober)
        prober.members = self._members
        prober.groups, prober.places = ["simple-0", "simple-1"], self._committers[0].places
        self._client(Administrator).groups = ["group-0", "simple-0", "strays"]
        if chance.random() < 0.5:
            self._client(Stray).groups = ["group-0", "strays"]

    # -- the end of a run ----------------------------------------------------------------------------------------

    def _end_faults(self) -> None:
        self._settled_from_s = self.world.now_s
        self.store.heal()
        self.store.mark_all(NodeState.UP, *self.nodes)
        for client in self._others:
            if client not in self._committers:
                client.loop.kill()

    def _unsettled(self) -> str:
        for partition in range(self._offsets_partitions):
            if not self._serving(partition):
                return f"no node serves partition {partition}"
        for client in (*self._committers, *(each for each in self._members if each.assignment)):
            if self.invariants.committed_s.get(client.name, 0.0) < self._settled_from_s:
                return f"no commit of {client.name} was acknowledged since"
        return super()._unsettled()

    def _behind(self, group_id: str) -> str:
        return ""

    def _serving(self, partition: int) -> int:
        return next((number for number, node in self.nodes.items() if node.serves(partition)), 0)

    def _coordinator_of(self, group_id: str) -> int:
        runtime = next(node.runtime for node in self.nodes.values() if node.runtime is not None)
        return self._serving(runtime.core.partition_for(group_id))

    def _start_again(self) -> None:
        self.invariants.check_store()
        if self.world.violation is None:
            super()._start_again()
        for partition in range(self._offsets_partitions):
            if self.world.violation is None and not self._serving(partition):
                self.world.violated(f"no node serves partition {partition} after the last start of all nodes")
        if self.world.violation is None:
            self.invariants.check_store()

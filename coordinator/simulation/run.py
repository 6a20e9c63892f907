"""One run of a simulation: a world of nodes and clients from a seed, faults from a schedule, and a verdict.

A run has three parts. While the schedule lasts, and until the wanted number of steps, everything happens at once. Then
all faults end, and within `settle_s` every group must be Stable with all its members, and have read and committed all
records. Last, all clients end, and a while later the nodes must hold nothing of them but committed offsets,
also after one more start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.sources import load
from coordinator.core.cluster import StaticOwnership
from coordinator.core.group.state import STABLE
from coordinator.core.shard import partition_for
from coordinator.simulation import faults
from coordinator.simulation.history import History, Place
from coordinator.simulation.invariants import Invariants, is_offline_in_part
from coordinator.simulation.loop import SimulatedLoop
from coordinator.simulation.member import KINDS, SimulatedMember
from coordinator.simulation.network import Network
from coordinator.simulation.node import DATA, LogLines, SimulatedNode
from coordinator.simulation.others import Administrator, Committer, SimulatedProducer, Stray
from coordinator.simulation.world import START_S, World

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from coordinator.simulation.client import SimulatedClient
    from coordinator.torture.schedule import Schedule, Step

DISKS: Final = "disks"
SHARED: Final = "shared"
TRANSACTIONS: Final = "transactions"
SHARED_TRANSACTIONS: Final = "shared-transactions"
MOST_MEMBERS: Final = 4  # of a group
TOPICS: Final = {"orders": 3, "payments": 2}
ENDED_S: Final = 120.0  # after which nothing may be left of ended clients
LOADED_S: Final = 30.0  # within which a node whose disk is well has started
LOOK_S: Final = 1.0
IDLE_S: Final = 3_600.0  # a world in which so much time passes without the wanted steps is stuck


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run."""

    seed: int
    steps: int
    virtual_s: float
    digest: str
    violation: str  # empty: none
    checks: int
    acknowledged: int
    starts: int
    schedule: Schedule
    lines: tuple[str, ...]  # the newest of what happened


class Simulation:
    """A world with its nodes and clients."""

    take: Mapping[str, Callable[[Any, Step], None]] = faults.TAKE  # the faults that there are
    themes: Sequence[Sequence[str]] = faults.THEMES
    steps_for_a_fault = 40
    settle_s = 180.0  # of virtual time; the rebalance timeout is 12 s
    member_class: type[SimulatedMember] = SimulatedMember
    preloaded: Mapping[str, int] = TOPICS
    settings: Mapping[str, str] = {}  # of the nodes, besides those of a seed

    def __init__(self, seed: int, *, steps: int, schedule: Schedule | None = None, kinds: Sequence[str] = ()) -> None:
        self.world = World(seed)
        self.network = Network(self.world)
        self.history = History(self.world)
        self._steps = steps
        self.nodes = self._make_nodes(self.world.chance("shape"))
        self.invariants = self._make_invariants()
        self._members: list[SimulatedMember] = []
        self._makers: list[Callable[[], SimulatedMember]] = []
        self._others: list[SimulatedClient] = []
        self._doubles: list[SimulatedMember] = []  # processes whose group.instance.id another one has by now
        self._clients = 0
        self.faults_taken = 0
        self._is_over = False  # no fault happens any more
        self.rot_chance = self.world.chance("rot")
        self._make_clients()
        self.schedule = schedule or faults.schedule(
            seed,
            nodes=len(self.nodes),
            copies=len(self._members),
            count=max(steps // self.steps_for_a_fault, 1),
            faults=kinds,
            themes=self.themes,
        )

    def _make_nodes(self, chance: random.Random) -> dict[int, SimulatedNode]:
        count = chance.choice((1, 1, 2, 3))
        self._ownership = StaticOwnership(range(1, count + 1))
        self._offsets_partitions = chance.choice((1, 3))
        config = {
            "http.listen": "off",
            "log.dirs": str(DATA),
            "offsets.topic.num.partitions": str(self._offsets_partitions),
            "offsets.topic.segment.bytes": str(chance.choice((1_024, 1_024, 4_096, 1 << 20))),
            "offsets.snapshot.tail.bytes": str(chance.choice((0, 500, 5_000))),
            "offsets.snapshot.min.bytes": "500",
            "log.segment.bytes": str(chance.choice((1_024, 1_024, 4_096, 1 << 20))),
            "topic.flush.policy": "sync",
            "group.initial.rebalance.delay.ms": str(chance.choice((0, 500, 3_000))),
            "topics.preload": ",".join(f"{name}:{partitions}" for name, partitions in self.preloaded.items()),
            **self.settings,
        }
        config["log.index.interval.bytes"] = str(chance.choice((0, 200, 4_096)))
        self._group_max_size = chance.choice((2, MOST_MEMBERS, MOST_MEMBERS))
        config["group.max.size"] = str(self._group_max_size)
        if count > 1:
            config["cluster.nodes"] = ",".join(f"{each}@10.0.0.{each}:9092" for each in range(1, count + 1))
            config["cluster.id"] = "simulated"
        return {
            number: SimulatedNode(
                self.world,
                self.network,
                number,
                load(flags={**config, "node.id": str(number), "listeners": f"10.0.0.{number}:9092"}),
            )
            for number in range(1, count + 1)
        }

    def _make_invariants(self) -> Invariants:
        return Invariants(self.world, self.history, self.nodes)

    def _make_clients(self) -> None:
        chance = self.world.chance("clients")
        self._make_members(chance)
        self._make_others(chance)

    def _make_members(self, chance: random.Random) -> None:
        for number in range(chance.choice((1, 2, 2, 3))):
            group = f"group-{number}"
            is_cooperative = chance.random() < 0.3
            for _ in range(min(chance.randint(1, MOST_MEMBERS), self._group_max_size)):
                fitting = [each for each in KINDS.values() if each.is_cooperative is is_cooperative]
                kind = chance.choice([*fitting, *(each for each in fitting if each.is_static)])
                maker = self._maker(group, kind)
                self._makers.append(maker)
                self._members.append(maker())

    def _make_others(self, chance: random.Random) -> None:
        for _ in range(chance.randint(1, 3)):
            producer = self._client(SimulatedProducer)
            producer.topics, producer.owner_of = TOPICS, self.owner_of
        for number in range(chance.randint(0, 2)):
            committer = self._client(Committer)
            committer.groups = self._of_one_node(f"simple-{number}")
            committer.places = [(topic, index) for topic, count in TOPICS.items() for index in range(count)]
        self._client(Administrator).groups = ["group-0", "simple-0", "strays"]
        if chance.random() < 0.5:
            self._client(Stray).groups = ["group-0", "strays"]

    def _of_one_node(self, name: str) -> list[str]:
        """Return ids of groups, in several partitions of the offsets log, that one node coordinates."""
        count = self._offsets_partitions
        ids = [name, *(f"{name}-{number}" for number in range(1, 9))]
        owners = [self._ownership.owner_of_offsets_partition(partition_for(each, count)) for each in ids]
        return [each for each, owner in zip(ids, owners, strict=True) if owner == owners[0]][:3]

    def _maker(self, group: str, kind: Any) -> Callable[[], SimulatedMember]:
        number = len(self._makers) + 1

        def make() -> SimulatedMember:
            self._clients += 1
            loop = SimulatedLoop(self.world, self.network, f"member-{number}", f"10.0.1.{number}")
            return self.member_class(
                self.world,
                self.history,
                self.nodes,
                loop,
                self.world.chance(f"member-{number}-{self._clients}"),
                group=group,
                kind=kind,
                topics=TOPICS,
                owner_of=self.owner_of,
            )

        return make

    def _client(self, make: Any) -> Any:
        self._clients += 1
        name = f"{make.__name__.lower()}-{self._clients}"
        loop = SimulatedLoop(self.world, self.network, name, f"10.0.2.{self._clients}")
        client = make(self.world, self.history, self.nodes, loop, self.world.chance(name))
        self._others.append(client)
        return client

    # -- for the faults ------------------------------------------------------------------------------------------

    def owner_of(self, topic: str, number: int) -> int:
        """Return the node that leads a partition."""
        return self._ownership.owner_of_topic_partition(topic, number)

    def later(self, ms: int, act: Callable[[], None]) -> None:
        """Have something happen some time later."""
        self.world.at(self.world.now_s + ms / 1000, act)

    def hosts(self) -> list[str]:
        """Return the hosts of all nodes and clients."""
        return [each.host for each in self.nodes.values()] + [
            each.loop.host for each in (*self._members, *self._others)
        ]

    def client(self, copy: int) -> SimulatedClient:
        """Return a member by its number."""
        return self._members[(copy - 1) % len(self._members)]

    def replace(self, copy: int, *, lives_on: bool = False) -> None:
        """Kill the process of a member, and start another one in its place. A static member may live on beside it."""
        index = (copy - 1) % len(self._members)
        former = self._members[index]
        if lives_on and former.instance_id is not None:
            self._doubles.append(former)
        else:
            former.loop.kill()
        member = self._members[index] = self._makers[index]()
        member.start()

    def restore(self, node: SimulatedNode) -> None:
        """Stop a node, put right what has rotted on its disk, and start it again, as an operator with a copy does."""
        if node.rotten:
            self.invariants.ending(node)
            node.kill()
            node.rotten = ""
            self.world.note(f"{node.name}: {node.disk.restore()} rotten bytes are restored")
            node.start()

    def disturb_network(self, seconds: float) -> None:
        """Note that the network may lose or keep back bytes until some time from now."""
        self.history.network_disturbed_s = max(self.history.network_disturbed_s, self.world.now_s + seconds + 1.0)

    # -- the run -------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Run to the end, or to the first violation."""
        world = self.world
        world.after_step = self.invariants.check
        with LogLines(world, self.nodes):
            for node in self.nodes.values():
                node.on_ready = self.invariants.started
                node.start()
            world.run(until_s=world.now_s + 5.0, until_step=self._steps)
            for client in (*self._members, *self._others):
                client.start()
            self._take_schedule()
            world.run(until_s=world.now_s + IDLE_S, until_step=self._steps)
            if world.violation is None:
                self._settle()
            if world.violation is None:
                self._end()
            outcome = self._outcome()
            self._kill_all()
        return outcome

    def _outcome(self) -> Outcome:
        world = self.world
        return Outcome(
            world.seed,
            world.steps,
            world.now_s - START_S,
            world.digest,
            "" if world.violation is None else str(world.violation),
            self.invariants.checked,
            self.history.acknowledged,
            sum(node.starts for node in self.nodes.values()),
            self.schedule,
            tuple(world.lines),
        )

    def _kill_all(self) -> None:
        """End all processes: left to the garbage collector, their open connections would be reported as unclosed."""
        for client in (*self._members, *self._doubles, *self._others):
            client.loop.kill()
        for node in self.nodes.values():
            node.kill()

    def _take_schedule(self) -> None:
        at_s = self.world.now_s + 2.0
        for step in self.schedule.steps:
            at_s += step.after_ms / 1000
            self.world.at(at_s, self._taking(step), is_step=True)

    def _taking(self, step: Any) -> Callable[[], None]:
        def take() -> None:
            if self._is_over:
                return
            self.faults_taken += 1
            self.world.note(f"fault: {step.text()}")
            self.take[step.do](self, step)

        return take

    def _settle(self) -> None:
        world = self.world
        world.note("all faults end")
        self._is_over = self.history.is_calm = True
        self.network.heal()
        self.disturb_network(0.0)
        self._end_faults()
        deadline_s = world.now_s + self.settle_s
        while world.violation is None and world.now_s < deadline_s:
            for node in self.nodes.values():
                node.disk.heal()
                node.disk._crash_in = None
                if node.is_ready and node.runtime is not None and is_offline_in_part(node.runtime):
                    node.kill()  # its log asks for a start when its disk is well again
                node.start()
            self._restart_fenced()
            world.run(until_s=world.now_s + LOOK_S, until_step=1 << 60)
            if not self._unsettled():
                return
        if world.violation is None:
            world.violated(f"{self.settle_s:g} s after the last fault: {self._unsettled()}")

    def _end_faults(self) -> None:
        for client in (*self._others, *self._doubles):
            client.loop.kill()
        for node in self.nodes.values():
            self.restore(node)

    def _restart_fenced(self) -> None:
        """Start static members again that ended without another process in their place, as systemd does.

        A node that ends before the SyncGroup of a new generation loads the one before, in which the static member may
        have a former member id: the id that it has is fenced then, as by Kafka's `GroupMetadataManager`.
        """
        for copy, member in enumerate(self._members, 1):
            if member.is_fenced and self._is_expected(member):
                self.replace(copy)

    def _unsettled(self) -> str:
        """Return what is not yet as it should be; empty if all is."""
        for number, node in self.nodes.items():
            if not node.is_ready or node.runtime is None:
                return f"node {number} is not ready ({node.refused or 'it is starting'})"
            if is_offline_in_part(node.runtime):
                return f"node {number} does not serve all of its partitions"
        for group_id in sorted({member.group for member in self._members}):
            number = self._coordinator_of(group_id)
            runtime = self.nodes[number].runtime
            group = None if runtime is None else runtime.core.groups.get(group_id)
            members = [each for each in self._members if each.group == group_id and self._is_expected(each)]
            if not members:
                continue
            if group is None or group.state is not STABLE or group.pending_sync:
                return f"{group_id} is {'unknown' if group is None else group.state.value}"
            if not all(member.is_member and member.member_id in group.members for member in members):
                return f"{group_id} lacks some of its members"
            if len(group.members) != len(members):
                return f"{group_id} has {len(group.members)} members, and {len(members)} clients are there"
            owned = sorted(place for member in members for place in member.assignment)
            if owned != sorted((topic, index) for topic, count in TOPICS.items() for index in range(count)):
                return f"the partitions of {group_id} are owned so: {owned}"
            if behind := self._behind(group_id):
                return behind
        return ""

    def _is_expected(self, member: SimulatedMember) -> bool:
        """Return whether a member must be in its group now. One that was fenced by an older process is not."""
        is_fenced = member.is_fenced and any(each.name == member.name for each in self._doubles)
        return not member.is_out and not is_fenced

    def _behind(self, group_id: str) -> str:
        if not self.history.produced:
            return "no record was produced"
        for (topic, number), values in self.history.produced.items():
            runtime = self.nodes[self._coordinator_of(group_id)].runtime
            assert runtime is not None
            shard = runtime.core.partition(runtime.core.partition_for(group_id))
            committed = shard.offsets.get(*Place(group_id, topic, number))
            if committed is None or committed.offset <= max(values):
                return (
                    f"{group_id} has committed {committed and committed.offset} of {topic}-{number}, not {max(values)}"
                )
        return ""

    def _coordinator_of(self, group_id: str) -> int:
        runtime = next(node.runtime for node in self.nodes.values() if node.runtime is not None)
        return self._ownership.owner_of_offsets_partition(runtime.core.partition_for(group_id))

    def _end(self) -> None:
        world = self.world
        world.note("all clients end")
        for client in (*self._members, *self._doubles, *self._others):
            client.loop.kill()
        world.run(until_s=world.now_s + ENDED_S, until_step=1 << 60)
        if world.violation is None:
            self.invariants.check_ended()
            self._start_again()

    def _start_again(self) -> None:
        """Start all nodes once more: an Empty group must be loaded as such (KAFKA-20442)."""
        for node in self.nodes.values():
            self.invariants.ending(node)
            node.kill()
            node.start()
        self.world.run(until_s=self.world.now_s + LOADED_S, until_step=1 << 60)
        for node in self.nodes.values():
            if self.world.violation is None and not node.is_ready:
                self.world.violated(f"{node.name} is not ready {LOADED_S:g} s after its start")


def simulate(
    seed: int, steps: int, schedule: Schedule | None = None, kinds: Sequence[str] = (), *, store: str = DISKS
) -> Outcome:
    """Run the simulation of a seed. `schedule`: in place of its own one. `kinds`: the faults of its own one.

    `store`: DISKS, where each node keeps its offsets log on its own; SHARED, where all nodes share a store;
    TRANSACTIONS and SHARED_TRANSACTIONS, the same with transactional producers.
    """
    made: type[Simulation] = Simulation
    if store == SHARED:
        from coordinator.simulation.shared_run import SharedSimulation  # late: it is built on this module

        made = SharedSimulation
    elif store == TRANSACTIONS:
        from coordinator.simulation.transaction_run import TransactionSimulation  # late: likewise

        made = TransactionSimulation
    elif store == SHARED_TRANSACTIONS:
        from coordinator.simulation.shared_transaction_run import SharedTransactionSimulation  # late: likewise

        made = SharedTransactionSimulation
    return made(seed, steps=steps, schedule=schedule, kinds=kinds).run()

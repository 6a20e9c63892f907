"""Checks of the nodes of a simulation after each step, after each start, and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.context import InvariantError
from coordinator.core.group.state import EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.core.shard import PartitionState, Shard
from coordinator.simulation.history import Place
from coordinator.storage.log.errors import LogError
from coordinator.storage.snapshot.loading import follow
from protocol.record_batch import read_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.group.group import Group
    from coordinator.core.offsets.replay import Replay
    from coordinator.server.runtime import Runtime
    from coordinator.simulation.history import History
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.world import World
    from protocol.record_batch import BatchHeader

OFF_S: Final = 0.000_5
SIZED: Final = (dict, set)
ENTRIES_A_KEY: Final = 3  # the newest record of a key, the name of its group, and the deletion of that group


class GroupFacts(NamedTuple):
    """The content of the record of a group that is Stable or Empty."""

    generation: int
    members: dict[str, bytes]  # with their assignments


class Memory(NamedTuple):
    """The memory of a node when its process ended."""

    at_s: float
    offsets: dict[Place, str]
    groups: dict[str, GroupFacts]


class Invariants:
    """Checks all nodes of a world."""

    def __init__(self, world: World, history: History, nodes: dict[int, SimulatedNode]) -> None:
        self._world = world
        self._history = history
        self._nodes = nodes
        self._events: dict[int, int] = {}
        self._before: dict[int, Memory] = {}
        self._failures: dict[tuple[int, int], tuple[int, int]] = {}  # by start of a node: of appends, of its disk
        self._generations: dict[tuple[int, int, str], int] = {}
        self.checked = 0

    # -- after each step -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check the nodes in which something happened."""
        for number, node in self._nodes.items():
            if not node.is_up:
                continue
            if node.disk.is_off:  # the machine went off in the middle of an operation of its disk
                if not node.is_going_off:
                    # The loop runs on for a moment, as the processor does: it may send what was handed back before.
                    node.is_going_off = True
                    self._world.at(self._world.now_s + OFF_S, self._off(node))
                continue
            runtime = node.runtime
            if runtime is None:
                continue
            self._check_appends(node, runtime)
            events = runtime.events + runtime.heartbeats_by_template
            if self._events.get(number) == events:
                continue
            self._events[number] = events
            self.checked += 1
            self._check_node(node, runtime)

    def _check_appends(self, node: SimulatedNode, runtime: Runtime) -> None:
        """Check that an append fails only if an operation of the disk does."""
        failures = runtime.offsets_log.stats.failures
        key = node.number, node.starts
        had, errors = self._failures.get(key, (0, 0))
        if failures > had and node.disk.errors == errors:
            self._world.violated(f"{node.name}: an append to the offsets log failed, and no operation of its disk did")
        self._failures[key] = failures, node.disk.errors

    def _off(self, node: SimulatedNode) -> Callable[[], None]:
        def off() -> None:
            if node.is_up and node.disk.is_off:
                self.ending(node)
                node.lose_power()
                node.start_later()

        return off

    def _check_node(self, node: SimulatedNode, runtime: Runtime) -> None:
        core = runtime.core
        for group in core.groups.values():
            try:
                group.check_invariants()
            except InvariantError as error:
                self._world.violated(f"{node.name}: {error}")
            if group.state is PREPARING_REBALANCE and group.join_timer is None:
                self._world.violated(f"{node.name}: {group.group_id} rebalances, and no timer ends that")
            if group.state is PREPARING_REBALANCE and any(each.parked_sync for each in group.members.values()):
                self._world.violated(f"{node.name}: a SyncGroup waits in a rebalance of {group.group_id}")
            if group.pending_sync and group.sync_timer is None and group.state is not PREPARING_REBALANCE:
                self._world.violated(f"{node.name}: {group.group_id} waits for a SyncGroup, and no timer ends that")
            if group.state is STABLE and not all(
                each.session is not None and each.session.is_armed for each in group.members.values()
            ):
                self._world.violated(f"{node.name}: a member of {group.group_id} has no session that could end")
            self._check_generation(node, group)
        for place, register in self._history.registers.items():
            shard = core.partition(core.partition_for(place.group))
            if self._serves(node, runtime, shard):
                found = shard.offsets.get(*place)
                name, offset = ("", -1) if found is None else (found.metadata, found.offset)
                self._history.seen(place, name, offset, register.floor_s, f"the memory of {node.name}")

    def _serves(self, node: SimulatedNode, runtime: Runtime, shard: Shard) -> bool:
        """Return whether a node answers for a partition."""
        return shard.state is PartitionState.ACTIVE

    def _life_of(self, node: SimulatedNode, group: Group) -> int:
        """Return a number of the time during which a node has not read a group again."""
        return node.starts

    def _check_generation(self, node: SimulatedNode, group: Group) -> None:
        key = node.number, self._life_of(node, group), group.group_id
        if group.generation < self._generations.get(key, -1) and group.members:
            self._world.violated(f"{node.name}: the generation of {group.group_id} went back to {group.generation}")
        self._generations[key] = group.generation

    # -- around a start ------------------------------------------------------------------------------------------

    def ending(self, node: SimulatedNode) -> None:
        """Remember what a node has in memory, before its process ends."""
        self._history.restarted()
        runtime = node.runtime
        if runtime is not None and node.is_ready and not _lacks_partitions(runtime):
            self._before[node.number] = Memory(self._world.now_s, self._offsets(runtime), _groups(runtime))

    def started(self, node: SimulatedNode) -> None:
        """Compare what a node has read with what it had, and with what its whole log says."""
        self._history.restarted()
        runtime = node.runtime
        if runtime is None:
            return
        if node.disk.is_off or _lacks_partitions(runtime):
            return  # its disk failed meanwhile: it is compared after another start
        self._compare_with_log(node, runtime)
        before = self._before.pop(node.number, None)
        if before is None:
            return
        after = self._offsets(runtime)
        for place in {**before.offsets, **after}:
            had, has = before.offsets.get(place, ""), after.get(place, "")
            if had != has and not self._was_in_flight(place, has, before.at_s):
                self._world.violated(f"{node.name} had {had or 'nothing'} for {place} before its end, and now {has}")
        stable = _groups(runtime)
        for group_id, facts in before.groups.items():
            group = runtime.core.groups.get(group_id)
            if group is None or group.generation < facts.generation:
                self._world.violated(f"{node.name} has lost generation {facts.generation} of {group_id}")
            elif group_id in stable and group.generation == facts.generation and stable[group_id] != facts:
                if self._history.joined_since(group_id, stable[group_id].members, before.at_s):
                    continue  # a static member has returned before the node said that it was ready
                self._world.violated(
                    f"{node.name} has other members or assignments in generation {facts.generation} of {group_id}"
                )

    def _was_in_flight(self, place: Place, name: str, at_s: float) -> bool:
        writes = self._history.register(place).writes
        if name:
            return writes[name].settled_s >= at_s
        return any(each.offset < 0 and each.settled_s >= at_s for each in writes.values())

    def _compare_with_log(self, node: SimulatedNode, runtime: Runtime) -> None:
        for partition, log in runtime.offsets_log.logs.items():
            shard = runtime.core.partition(partition)
            end = log.high_watermark
            if shard.state is not PartitionState.ACTIVE or runtime.core.is_behind(partition, end):
                continue
            try:
                batches = [each for each in log.batches() if each[0].base_offset < end]
            except (OSError, LogError):
                continue  # the disk fails on purpose
            loaded = follow(batches, None, None, end_offset=end)
            self._check_size(node, loaded.replay, batches)
            for group_id in {*loaded.store.group_ids(), *shard.offsets.group_ids()}:
                if loaded.store.of_group(group_id) != shard.offsets.of_group(group_id):
                    self._world.violated(f"{node.name}: {group_id} was loaded with offsets that its log does not say")

    def _check_size(self, node: SimulatedNode, replay: Replay, batches: list[tuple[BatchHeader, bytes]]) -> None:
        """Check that loading keeps the newest record of each key, however long the log is (KAFKA-19716)."""
        found = [getattr(replay, name) for name in dir(replay) if not name.startswith("__")]  # the compiled build, too
        kept = sum(len(each) for each in found if isinstance(each, SIZED))
        keys = {record.key for header, batch in batches for record in read_records(batch, 0, header)}
        if kept > ENTRIES_A_KEY * len(keys):
            self._world.violated(f"{node.name} keeps {kept} entries of {len(batches)} batches with {len(keys)} keys")

    def _offsets(self, runtime: Runtime) -> dict[Place, str]:
        core, found = runtime.core, {}
        for place in self._history.registers:
            shard = core.partition(core.partition_for(place.group))
            if shard.state is PartitionState.ACTIVE and (committed := shard.offsets.get(*place)) is not None:
                found[place] = committed.metadata
        return found

    # -- at the end ----------------------------------------------------------------------------------------------

    def check_ended(self) -> None:
        """Check that nothing is left of clients that ended long ago."""
        for node in self._nodes.values():
            runtime = node.runtime
            if runtime is None:
                self._world.violated(f"{node.name} is down at the end")
                continue
            for group in runtime.core.groups.values():
                if group.state is not EMPTY or group.pending_join:
                    self._world.violated(f"{node.name}: {group!r} has members that ended long ago")
            timers = runtime.core.timers
            for purgatory in (timers.rebalances, timers.warnings, timers.heartbeats, timers.pending, timers.appends):
                if purgatory.watched_keys:
                    self._world.violated(f"{node.name}: {purgatory!r} still watches, although all clients have ended")
            hosts = {each.host for each in self._nodes.values()}
            if left := [each for each in runtime.connections.all() if each.address not in hosts]:
                self._world.violated(f"{node.name}: {len(left)} connections are open, of no client")
            if runtime.connections.held_bytes or runtime.connections.unsent_bytes:
                self._world.violated(f"{node.name}: bytes of ended connections are still counted")


def _lacks_partitions(runtime: Runtime) -> bool:
    """Return whether a partition could not be loaded, because the disk failed."""
    numbers = runtime.offsets_log.logs
    return any(runtime.core.partition(number).state is PartitionState.FAILED for number in numbers)


def is_offline_in_part(runtime: Runtime) -> bool:
    """Return whether a partition of the offsets log or of an embedded topic could not be opened or loaded."""
    topics = runtime.topics.catalogue.topics.values()
    return _lacks_partitions(runtime) or any(each.is_offline for topic in topics for each in topic.partitions)


def _groups(runtime: Runtime) -> dict[str, GroupFacts]:
    """Return what the records of groups must say.

    A group stays Empty even if its record could not be written. A record that failed may stay until it is cut back.
    """
    suspect = {number for number, log in runtime.offsets_log.logs.items() if log.is_suspect}
    states = (STABLE,) if runtime.offsets_log.stats.failures else (EMPTY, STABLE)
    return {
        group.group_id: GroupFacts(
            group.generation, {member.member_id: member.assignment for member in group.members.values()}
        )
        for group in runtime.core.groups.values()
        if group.state in states
        and (group.members or (group.state is EMPTY and group.generation > 0))  # a simple group has no record
        and not group.in_flight
        and group.shard.partition not in suspect
    }

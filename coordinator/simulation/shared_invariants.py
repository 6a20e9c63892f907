"""Checks of nodes that share a store: which of them answers, and what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordinator.core.shard import PartitionState, Shard, partition_for
from coordinator.simulation.invariants import Invariants
from coordinator.storage.log.errors import LogError
from coordinator.storage.snapshot.file import SnapshotError
from coordinator.storage.snapshot.loading import TailReplay
from coordinator.storage.snapshot.store_keeper import add_chunk, tail_behind
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_fetch import OffsetFetchRequest
from protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from coordinator.core.group.group import Group
    from coordinator.server.runtime import Runtime
    from coordinator.simulation.history import History
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.shared_node import SharedStoreNode
    from coordinator.simulation.shared_store import SimulatedStore
    from coordinator.simulation.world import World


class SharedInvariants(Invariants):
    """Checks all nodes of a world, and their store."""

    def __init__(
        self,
        world: World,
        history: History,
        nodes: dict[int, SharedStoreNode],
        store: SimulatedStore,
        partitions: int,
    ) -> None:
        super().__init__(world, history, dict(nodes))
        self._shared = nodes
        self._store = store
        self._partitions = partitions
        self._snapshot_offsets = dict.fromkeys(range(partitions), 0)  # behind the newest snapshot, by partition
        self.committed_s: dict[str, float] = {}  # by client: when it sent its newest commit that was acknowledged
        history.on_answer = self._answered

    # -- after each step -----------------------------------------------------------------------------------------

    def check(self) -> None:
        super().check()
        for partition in range(self._partitions):
            serving = [node for node in self._shared.values() if node.serves(partition)]
            if len(serving) > 1:
                names = " and ".join(node.name for node in serving)
                self._world.violated(f"{names} answer for partition {partition} at the same time")
        for node in self._shared.values():
            for partition in range(self._partitions):
                if (runtime := node.runtime) is not None and runtime.core.partition(
                    partition
                ).state is PartitionState.LOADING:
                    node.loading_s[partition] = self._world.now_s
        self._check_snapshots()

    def _check_snapshots(self) -> None:
        for partition, former in self._snapshot_offsets.items():
            if (stored := self._store.snapshot(partition)) is not None and stored.next_offset != former:
                self._snapshot_offsets[partition] = stored.next_offset
                if stored.next_offset < former:
                    self._world.violated(
                        f"the snapshot of partition {partition} up to offset {former} was replaced by an older one, up "
                        f"to {stored.next_offset}"
                    )

    def _check_appends(self, node: SimulatedNode, runtime: Runtime) -> None:
        pass  # the store may refuse an append

    def _serves(self, node: SimulatedNode, runtime: Runtime, shard: Shard) -> bool:
        return self._shared[node.number].serves(shard.partition)

    def _life_of(self, node: SimulatedNode, group: Group) -> int:
        return len(self._store.owners[group.shard.partition])

    def _answered(self, client: str, node: int, request: Any, answer: Any, sent_s: float) -> None:
        """Check a good answer about a group: the node must have had the newest claim since the request was sent."""
        group_id = _group_answered(request, answer)
        if group_id is None:
            return
        if isinstance(request, OffsetCommitRequest):
            self.committed_s[client] = sent_s
        partition = partition_for(group_id, self._partitions)
        if not self._store.owned_since(partition, node, sent_s):
            self._world.violated(
                f"node {node} answered {type(request).__name__} of {group_id} well, although another node had claimed "
                f"partition {partition} before the request was sent"
            )

    # -- around a start ------------------------------------------------------------------------------------------

    def ending(self, node: SimulatedNode) -> None:
        self._history.restarted()

    def started(self, node: SimulatedNode) -> None:
        pass  # what it has read is checked when it serves it

    # -- at the end ----------------------------------------------------------------------------------------------

    def check_store(self) -> None:
        """Check that a replay of the store has all acknowledged commits, and is what the nodes have in memory."""
        for partition in range(self._partitions):
            try:
                loaded = self._replay(partition)
            except (LogError, SnapshotError) as error:
                self._world.violated(f"partition {partition} cannot be read from the store: {error}")
                continue
            for place, register in self._history.registers.items():
                if partition_for(place.group, self._partitions) == partition:
                    found = loaded.store.get(*place)
                    name, offset = ("", -1) if found is None else (found.metadata, found.offset)
                    self._history.seen(place, name, offset, register.floor_s, "the store")
            for node in self._shared.values():
                if node.serves(partition) and node.runtime is not None:
                    shard = node.runtime.core.partition(partition)
                    for group_id in {*loaded.store.group_ids(), *shard.offsets.group_ids()}:
                        if loaded.store.of_group(group_id) != shard.offsets.of_group(group_id):
                            self._world.violated(f"{node.name}: {group_id} has offsets that the store does not say")

    def _replay(self, partition: int) -> Any:
        stored = self._store.snapshot(partition)
        tail = TailReplay(None, None) if stored is None else tail_behind(stored.data, partition)
        chunk, end_offset = self._store.chunk(partition, 0 if stored is None else stored.next_offset, 1 << 30)
        add_chunk(tail, chunk, end_offset)
        return tail.settle(end_offset)


def _group_answered(request: Any, answer: Any) -> str | None:
    """Return the group of a request that was answered without an error; None: it was not."""
    if isinstance(request, OffsetFetchRequest):
        return None if answer.groups[0].error_code else str(request.groups[0].group_id)
    if isinstance(request, OffsetCommitRequest):
        codes = [each.error_code for topic in answer.topics for each in topic.partitions]
        return str(request.group_id) if codes and not all(codes) else None
    if isinstance(request, HeartbeatRequest | JoinGroupRequest | SyncGroupRequest):
        return None if answer.error_code else str(request.group_id)
    return None

"""A simulated node whose offsets log is in the store of the world, in place of its disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coordinator.core.shard import PartitionState
from coordinator.engine.memory import open_memory
from coordinator.membership.directory import Engine
from coordinator.server import shared_store
from coordinator.server.server import Server
from coordinator.server.startup import StartupError
from coordinator.server.supervised import Supervised
from coordinator.simulation.node import SimulatedNode
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.snapshot.file import Binding, SnapshotError, encode
from coordinator.storage.snapshot.store_keeper import StoreSnapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster
    from coordinator.membership.membership import Membership
    from coordinator.server.claimed_partitions import ClaimedPartitions
    from coordinator.simulation.machine import SimulatedMachine
    from coordinator.simulation.network import Network
    from coordinator.simulation.shared_store import SimulatedStore
    from coordinator.simulation.world import World


class SnapshotsInProcess(StoreSnapshots):
    """Snapshots that are folded without a child process."""

    async def _folded(self, partition: int, end_offset: int) -> list[bytes]:
        loaded = await self.read(partition, end_offset, call_now)
        if loaded.last is None:
            raise SnapshotError("the log is empty")
        return list(encode(Binding(partition, 0, end_offset, loaded.last), loaded.contents()))


async def call_now(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in this thread."""
    return function(*arguments)


class SharedStoreServer(Server):
    """A node on the store of the world."""

    store: SimulatedStore

    async def _open_store(self) -> None:
        async def opener(config: Config, node_id: int) -> Engine:
            return open_memory(self.store, node_id)

        try:
            self._engine, self.config = await shared_store.open_store(self.config, opener)
        except LogStoreError as error:
            raise StartupError.of(error) from None

    def _claimed_partitions(self, cluster: Cluster) -> ClaimedPartitions | None:
        claimed = super()._claimed_partitions(cluster)
        assert claimed is not None and self._engine is not None
        claimed.snapshots = SnapshotsInProcess(self.config, self._engine.store, claimed.logs, self._machine)
        return claimed


class SharedStoreNode(SimulatedNode):
    """One node, through all its starts. `starts_at_s`: one that is added later does not start before."""

    def __init__(
        self, world: World, network: Network, number: int, config: Config, store: SimulatedStore, starts_at_s: float
    ) -> None:
        super().__init__(world, network, number, config)
        self.store = store
        self.loading_s: dict[int, float] = {}  # by partition: when it was last seen to be loading
        self._starts_at_s: Final = starts_at_s

    @property
    def membership(self) -> Membership | None:
        """The membership of the running process; None before it begins."""
        return None if self.server is None else self.server._membership

    def serves(self, partition: int) -> bool:
        """Return whether it would answer for a partition now."""
        runtime = self.runtime
        if runtime is None or runtime.lease is None or self.membership is None or not self.is_up:
            return False
        is_frozen = self.loop is not None and self.loop.paused_until_s > self._world.now_s
        return (
            runtime.core.partition(partition).state is PartitionState.ACTIVE
            and not runtime.core.is_suspended
            and not is_frozen
            and runtime.lease.holds()
        )

    def was_loading(self, group_id: str, since_s: float) -> bool:
        runtime = self.runtime
        if runtime is None:
            return True
        partition = runtime.core.partition_for(group_id)
        is_loading = runtime.core.partition(partition).state is PartitionState.LOADING
        return is_loading or self.loading_s.get(partition, 0.0) >= since_s

    def start(self) -> None:
        if self._world.now_s >= self._starts_at_s:
            super().start()
        elif not self.starts:
            self._world.at(self._starts_at_s, self.start)

    def _new_server(self, listening: Any, machine: SimulatedMachine) -> Server:
        server = SharedStoreServer(self._config, Supervised((listening,)), fs=self.disk, machine=machine)
        server.store = self.store
        assert self.loop is not None
        self.loop.reads_before_timers = self._chance.random() < 0.5
        return server

    def _end(self) -> None:
        if self.membership is not None:
            self.store.has_ended(self.number, self.membership.incarnation)
        super()._end()

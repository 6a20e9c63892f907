"""The partitions that this node has claimed in a shared store: connects the membership with the runtime.

The membership decides what this node claims, and when its lease has ended. The runtime loads, serves and unloads. This
is the `PartitionHost` of the one and the `LeaseCheck` of the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from coordinator.server.claimed_transaction_log import ClaimedTransactionLog
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.snapshot.store_keeper import StoreSnapshots
from coordinator.storage.store_flusher import StoreFlusher, StoreLog
from coordinator.storage.store_partitions import StorePartitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.core.live_cluster import ClusterMap, LiveOwnership
    from coordinator.membership.directory import Engine
    from coordinator.membership.membership import Membership
    from coordinator.server.runtime import Callbacks, Runtime
    from coordinator.server.transactions import Transactions
    from coordinator.storage.log_store import Claim
    from coordinator.storage.machine import Machine
    from protocol.error_codes import ErrorCode

LOG: Final = logging.getLogger("coordinator.cluster")

DRAIN_S: Final = 0.1  # how long a hand-over waits for appends; clients repeat those that are answered NOT_COORDINATOR


class ClaimedPartitions:
    """Loads and serves the partitions of one node, as its membership says."""

    membership: Membership  # set before it is started
    runtime: Runtime  # set before the membership is started

    def __init__(self, config: Config, engine: Engine, ownership: LiveOwnership, machine: Machine) -> None:
        self.logs: dict[int, StoreLog] = {}
        self.snapshots = StoreSnapshots(config, engine.store, self.logs, machine)
        self._config = config
        self._partitions = StorePartitions.of(config)
        self._engine = engine
        self._ownership = ownership
        self._machine = machine

    def offsets_log(self, loop: asyncio.AbstractEventLoop, callbacks: Callbacks) -> OffsetsLog:
        """Return the offsets log in the store, without a partition."""
        config = self._config

        def flusher(on_durable: Callable[..., None], on_failed: Callable[..., None]) -> StoreFlusher:
            return StoreFlusher(
                self._engine.store,
                loop,
                on_durable,
                on_failed,
                self._fenced,
                max_queued_bytes=config.log_max_queued_bytes,
                clock=self._machine.monotonic,
            )

        def on_durable(partition: int, high_watermark: int) -> None:
            if (number := self._partitions.transaction_partition(partition)) is None:
                callbacks.on_durable(partition, high_watermark)
            else:
                self._transactions.on_durable(number, high_watermark)

        def on_failed(partition: int, from_offset: int, error: ErrorCode) -> None:
            if (number := self._partitions.transaction_partition(partition)) is None:
                callbacks.on_failed(partition, from_offset, error)
            else:
                self._transactions.on_failed(number, from_offset, error)

        return OffsetsLog({}, config, loop, on_durable, on_failed, flusher)

    def transaction_log(self, log: OffsetsLog) -> ClaimedTransactionLog:
        """Return the part of `log` that is the transaction log."""
        return ClaimedTransactionLog(log, self._partitions)

    @property
    def _transactions(self) -> Transactions:
        transactions = self.runtime.transactions
        assert transactions is not None, "partitions of the transaction log are claimed by nodes that serve them"
        return transactions

    def _fenced(self, partition: int) -> None:
        LOG.warning("append fenced partition=%d: another node has claimed it; it is given up here", partition)
        self.membership.fenced(partition)

    # -- the lease -----------------------------------------------------------------------------------------------

    def holds(self) -> bool:
        return self.membership.lease.holds()

    def check(self) -> None:
        if not self.membership.lease.holds():
            self.membership.check_lease()

    def load_failed(self, partition: int) -> None:
        self.membership.give_up(partition, "it could not be loaded again")

    # -- for the membership --------------------------------------------------------------------------------------

    async def take(self, claim: Claim) -> None:
        partition, runtime = claim.partition, self.runtime
        log = self.logs[partition] = StoreLog(claim)
        runtime.offsets_log.take(partition, log)
        try:
            if (number := self._partitions.transaction_partition(partition)) is None:
                runtime.core.load_begin(partition)
                runtime.end_of_event()
                await runtime.load(partition)
            else:
                loop = asyncio.get_running_loop()
                await self._transactions.take(number, self.snapshots.load_transactions(loop, log))
        except Exception:
            if self.logs.get(partition) is log:
                self.give_up(partition)
            raise

    def give_up(self, partition: int) -> None:
        self.logs.pop(partition, None)
        self.runtime.offsets_log.give_up(partition)
        if (number := self._partitions.transaction_partition(partition)) is None:
            self.runtime.give_up(partition)
        else:
            self._transactions.give_up(number)

    async def before_stop(self) -> None:
        await self.snapshots.before_stop()

    async def drain(self, partition: int) -> None:
        await self.snapshots.before_hand_over(partition)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self.runtime.offsets_log.drained(partition)
        self.give_up(partition)

    def suspend(self) -> None:
        self.runtime.suspend()

    def resume(self) -> None:
        self.runtime.resume()

    def map_changed(self, view: ClusterMap) -> None:
        self._ownership.update(view)

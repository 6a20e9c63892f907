"""The transaction log in a shared store: a part of the log whose partitions a node claims, by numbers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.core.effects import Append
    from coordinator.storage.offsets_log import OffsetsLog
    from coordinator.storage.store_partitions import StorePartitions


class ClaimedTransactionLog:
    """The partitions of the transaction log among those that a node has claimed."""

    def __init__(self, log: OffsetsLog, partitions: StorePartitions) -> None:
        self._log = log
        self._partitions = partitions

    def append(self, append: Append, timestamp_ms: int) -> None:
        """Queue records, as `OffsetsLog.append` does."""
        number = self._partitions.number_of_transaction_partition(append.partition)
        self._log.append(append._replace(partition=number), timestamp_ms)

    def set_leader_epoch(self, partition: int, leader_epoch: int) -> None:
        """Set the leader epoch of the batches that follow."""
        self._log.set_leader_epoch(self._partitions.number_of_transaction_partition(partition), leader_epoch)

    async def drained(self) -> None:
        """Return at once: partitions are drained one by one, before they are handed over."""

    async def close(self) -> None:
        """Do nothing: the log is closed by its owner."""

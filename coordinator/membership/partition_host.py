"""The interface of the membership to the part of the daemon that loads and serves partitions."""

from __future__ import annotations

from typing import Protocol

from coordinator.core.live_cluster import ClusterMap
from coordinator.storage.log_store import Claim


class PartitionHost(Protocol):
    """Loads and serves the partitions that this node has claimed. All methods belong to one event loop."""

    async def take(self, claim: Claim) -> None:
        """Load a partition and serve it from then on.

        If it raises, the partition is not served; its claim is released, and it may be taken again later. It is
        cancelled when the claim is lost or given up; `give_up` has been called then.
        """

    def give_up(self, partition: int) -> None:
        """Stop serving a partition at once, or being about to: its claim is lost. Appends in flight are forgotten."""

    async def before_stop(self) -> None:
        """Serve on, and prepare the partitions for those that take them. All are drained afterwards."""

    async def drain(self, partition: int) -> None:
        """Serve a partition until its appends in flight are durable, then stop serving it.

        Its claim is released afterwards. It is cancelled as `take` is.
        """

    def suspend(self) -> None:
        """Note that the lease has ended: no partition may be served until `resume`, although all claims stay."""

    def resume(self) -> None:
        """Note that there is a lease again. Partitions that were lost meanwhile have been given up before."""

    def map_changed(self, view: ClusterMap) -> None:
        """Note that nodes or owners have changed."""

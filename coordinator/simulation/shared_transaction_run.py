"""One run of a simulation whose nodes share a store, with transactional producers.

The transaction log is in the store, so that the coordinator of a transactional id changes with the nodes that live. The
records that producers write are on the disks of the nodes.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from coordinator.core.cluster import StaticOwnership
from coordinator.simulation.shared_run import SharedSimulation
from coordinator.simulation.transaction_run import TransactionSimulation
from coordinator.simulation.transactions import LEDGER, PARTITIONS

if TYPE_CHECKING:
    import random


class SharedTransactionSimulation(TransactionSimulation, SharedSimulation):
    """A world with a store, and transactional producers."""

    preloaded = MappingProxyType({LEDGER: PARTITIONS})
    settings = MappingProxyType({"transaction.state.log.num.partitions": "3"})

    def _topic_settings(self, chance: random.Random, count: int) -> dict[str, str]:
        self._ownership = StaticOwnership(range(1, count + 1))
        return {
            "topics.storage": "local",
            "topics.preload": f"{LEDGER}:{PARTITIONS}",
            "topic.flush.policy": "sync",
            "offsets.commit.topic.check": "false",
            "log.segment.bytes": str(chance.choice((1_024, 4_096, 1 << 20))),
            "cluster.nodes": ",".join(f"{each}@10.0.0.{each}:9092" for each in range(1, count + 1)),
            **self.settings,
        }

"""The directory of a shared store: which nodes live, and the facts that all of them must agree on.

A node announces itself, and renews itself every `cluster.heartbeat.ms`. A renewal is its lease: for `cluster.lease.ms`
from the moment *before* it was sent, no other node may take what this one has claimed. The engine measures the silence
of a node in a way that never ends before the lease does. Only `coordinator.membership.membership` decides, through this
interface, which node claims and which one hands over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap, NodeState
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.log_store import LogStore, LogStoreError


class ExpiredError(LogStoreError):
    """This node was declared dead, or its id is used by another run. It has lost all its claims."""


class StoreFacts(NamedTuple):
    """Facts that the first node writes and all others must share."""

    cluster_id: str
    offsets_partitions: int
    transaction_partitions: int = 8  # the default is that of a store that was made before there were transactions


class NodeDirectory(Protocol):
    """Nodes and owners in a shared store, for one node. Methods belong to one event loop and raise LogStoreError."""

    async def facts(self, wanted: StoreFacts) -> StoreFacts:
        """Return the facts of the store; `wanted` is written if it has none."""

    async def known_facts(self) -> StoreFacts | None:
        """Return the facts of the store; None if no node has written them yet."""

    async def announce(self, node: ClusterNode, incarnation: str) -> None:
        """Enter a node as up. An expired or released entry of the same id, or a silent one, is replaced.

        Raises ExpiredError if another incarnation of this id was heard of within the lease.
        """

    async def renew(self) -> ClusterMap:
        """Renew the lease of this node and return the newest map. Raises ExpiredError if the entry is gone."""

    async def view(self) -> ClusterMap:
        """Return the newest map, for a program that is no node."""

    async def drain(self) -> None:
        """Mark this node as draining: it keeps what it has, and no node wants to give it more."""

    async def mark(self, node_id: int, state: NodeState) -> bool:
        """Mark another node as draining, or as up again. False if there is no such node, or it was declared dead.

        The node hears of it with its next renewal, and hands its partitions over.
        """

    async def expire(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead that was silent for longer than the lease. False if it was heard of meanwhile."""

    async def expire_dead(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead before its lease is over, if the engine has proof that its *process* has ended.

        The caller has seen that the node's port refuses connections. False without further proof.
        """

    async def leave(self) -> None:
        """Remove this node, which has released all its claims."""

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` soon after another node has changed the map; the next renewal brings it in any case."""

    async def close(self) -> None:
        """Close the connections. The entry of this node stays."""


class Engine(NamedTuple):
    """A shared store, opened for one node."""

    store: LogStore
    directory: NodeDirectory
    documents: SharedDocuments

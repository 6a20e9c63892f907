"""The cluster: its nodes, and the node that owns each partition.

Owners are computed, not elected: from the ids of all nodes each node computes the owner of a partition of the offsets
log (and so of its groups) and of a partition of an embedded topic. Nodes that know the same ids cannot disagree. A
partition of a topic created with a manual assignment is owned by the node named in the catalogue, while the cluster has
that node. The controller, which alone changes the catalogue of topics, is the lowest id. Callers use the `Ownership`
interface, so that another implementation can replace the computed one.

A single node is a cluster of one. Nodes compare their `ClusterIdentity` before they exchange requests: with different
facts both might own the same group. This module uses no socket.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordinator.config.values import Address

# Each node has a block of 2^40 producer ids. Ids below the first block were given by single nodes.
PRODUCER_ID_BITS: Final = 40


class ClusterNode(NamedTuple):
    """A node, with the address that clients and other nodes connect to."""

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.id}@{host}:{self.port}"


class Ownership(Protocol):
    """Owners by node id, the same on every node of the cluster."""

    @property
    def controller(self) -> int:
        """The node that changes the catalogue of topics."""

    def owner_of_offsets_partition(self, partition: int) -> int:
        """The node that coordinates the groups of this partition of the offsets log; -1 if there is none now."""

    def owner_of_transaction_partition(self, partition: int) -> int:
        """The node that coordinates the transactional ids of this partition of the transaction log; -1 as above."""

    def owner_of_topic_partition(self, topic: str, partition: int, assigned: int | None = None) -> int:
        """The node that leads this partition of an embedded topic; `assigned` is the one its creator named."""


class StaticOwnership:
    """Owners by round robin over the ascending ids; for a topic the start depends on its name."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Iterable[int]) -> None:
        self._ids = tuple(sorted(ids))

    @property
    def controller(self) -> int:
        return self._ids[0]

    def owner_of_offsets_partition(self, partition: int) -> int:
        return self._ids[partition % len(self._ids)]

    def owner_of_transaction_partition(self, partition: int) -> int:
        return self.owner_of_offsets_partition(partition)

    def owner_of_topic_partition(self, topic: str, partition: int, assigned: int | None = None) -> int:
        if assigned in self._ids:
            return assigned
        # The checksum spreads topics with one partition over the nodes.
        return self._ids[(zlib.crc32(topic.encode()) + partition) % len(self._ids)]


@dataclass(frozen=True, slots=True)
class Cluster:
    """All nodes by ascending id, and the id of this node."""

    nodes: Mapping[int, ClusterNode]
    node_id: int
    ownership: Ownership

    @classmethod
    def of(cls, addresses: Mapping[int, Address], node_id: int) -> Cluster:
        """Return the static cluster of these nodes. `node_id` is one of them."""
        nodes = {number: ClusterNode(number, *addresses[number]) for number in sorted(addresses)}
        return cls(nodes, node_id, StaticOwnership(nodes))

    @classmethod
    def alone(cls, node_id: int, host: str = "", port: int = 0) -> Cluster:
        """Return the cluster of a single node."""
        return cls({node_id: ClusterNode(node_id, host, port)}, node_id, StaticOwnership((node_id,)))

    @property
    def me(self) -> ClusterNode:
        return self.nodes[self.node_id]

    @property
    def controller(self) -> ClusterNode:
        return self.nodes[self.ownership.controller]

    @property
    def is_controller(self) -> bool:
        return self.ownership.controller == self.node_id

    @property
    def is_alone(self) -> bool:
        return len(self.nodes) == 1

    def others(self) -> list[ClusterNode]:
        return [node for node in self.nodes.values() if node.id != self.node_id]

    def coordinator(self, offsets_partition: int) -> ClusterNode | None:
        """Return the node that coordinates the groups in a partition of the offsets log; None if there is none now."""
        return self.nodes.get(self.ownership.owner_of_offsets_partition(offsets_partition))

    def transaction_coordinator(self, partition: int) -> ClusterNode | None:
        """Return the node that owns a partition of the transaction log; None if there is none now."""
        return self.nodes.get(self.ownership.owner_of_transaction_partition(partition))

    def owns_offsets_partition(self, partition: int) -> bool:
        return self.ownership.owner_of_offsets_partition(partition) == self.node_id

    def owns_transaction_partition(self, partition: int) -> bool:
        return self.ownership.owner_of_transaction_partition(partition) == self.node_id

    def first_producer_id(self, seconds_since_epoch: int) -> int:
        """Return the first producer id of a node that has given none. No other node uses it.

        It depends on the time because a node that lost its disk starts again, while the other nodes still know its
        producers: with a repeated id they would take new records for duplicates. So they would in logs that a Kafka
        wrote or takes over, and a Kafka counts from 0: the ids of a node that is alone are far above, too. A block has
        room for 256 ids in each second since 1970, until 2106.
        """
        return ((self.node_id + 1) << PRODUCER_ID_BITS) + (seconds_since_epoch << 8)


class ClusterIdentity(NamedTuple):
    """Facts that all nodes of a cluster must share, because owners are computed from them."""

    cluster_id: str
    nodes: tuple[ClusterNode, ...]
    offsets_partitions: int
    transaction_partitions: int = -1  # -1: the node does not tell, because it is of an older version


def why_different(one: ClusterIdentity, other: ClusterIdentity, names: tuple[str, str]) -> str | None:
    """Describe the first difference between two nodes in a sentence that fits the log of both; None if they agree."""
    here, there = names
    if one.cluster_id != other.cluster_id:
        return f"cluster.id is {one.cluster_id!r} on {here} and {other.cluster_id!r} on {there}"
    nodes, others = {node.id: node for node in one.nodes}, {node.id: node for node in other.nodes}
    if nodes.keys() != others.keys():
        return f"cluster.nodes has the nodes {_listed(nodes)} on {here} and {_listed(others)} on {there}"
    for number, node in nodes.items():
        if node != others[number]:
            return f"cluster.nodes has {node} on {here} and {others[number]} on {there}"
    if one.offsets_partitions != other.offsets_partitions:
        return (
            f"offsets.topic.num.partitions is {one.offsets_partitions} on {here} and {other.offsets_partitions} "
            f"on {there}"
        )
    ours, theirs = one.transaction_partitions, other.transaction_partitions
    if ours != theirs and -1 not in (ours, theirs):
        return f"transaction.state.log.num.partitions is {ours} on {here} and {theirs} on {there}"
    return None


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))

"""The cluster: which nodes there are, and which of them owns what.

Ownership is a rule, not an agreement: from the ids of all nodes anybody computes who owns a partition of the offsets
log (and with it the groups in it) and a partition of an embedded topic. So nothing is elected, and nodes that know the
same ids can never disagree. A partition of a topic that was created with a manual assignment is owned by the node that
the catalogue names for it, as long as the cluster has that node. The controller, which alone changes the catalogue of
topics, is the lowest id. Everything else asks the `Ownership` interface, so that an owner that is agreed upon may take
the place of the rule one day.

A node alone is a cluster of one: there is no other case. Nodes compare what they know (`ClusterIdentity`) before they
talk: if two sides computed owners from different facts, both might own the same group. Pure: no socket here.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coordinator.config.values import Address

# Each node has 2^40 producer ids of its own, those below the first block were given by nodes that were alone.
PRODUCER_ID_BITS: Final = 40


class ClusterNode(NamedTuple):
    """A node, under the address that clients and other nodes connect to."""

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.id}@{host}:{self.port}"


class Ownership(Protocol):
    """Who owns what, by node id. The same answer on every node of the cluster."""

    @property
    def controller(self) -> int:
        """The node that changes the catalogue of topics."""

    def owner_of_offsets_partition(self, partition: int) -> int:
        """The node that coordinates the groups of this partition of the offsets log."""

    def owner_of_topic_partition(self, topic: str, partition: int, assigned: int | None = None) -> int:
        """The node that leads this partition of an embedded topic; `assigned` is the one its creator named."""


class StaticOwnership:
    """Owners by the rule: round robin over the ids in ascending order, for a topic from a place its name decides."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Iterable[int]) -> None:
        self._ids = tuple(sorted(ids))

    @property
    def controller(self) -> int:
        return self._ids[0]

    def owner_of_offsets_partition(self, partition: int) -> int:
        return self._ids[partition % len(self._ids)]

    def owner_of_topic_partition(self, topic: str, partition: int, assigned: int | None = None) -> int:
        if assigned in self._ids:
            return assigned
        # The checksum of the name spreads topics of one partition over the nodes.
        return self._ids[(zlib.crc32(topic.encode()) + partition) % len(self._ids)]


@dataclass(frozen=True, slots=True)
class Cluster:
    """All nodes, by id in ascending order, as one of them sees it."""

    nodes: Mapping[int, ClusterNode]
    node_id: int
    ownership: Ownership

    @classmethod
    def of(cls, addresses: Mapping[int, Address], node_id: int) -> Cluster:
        """The static cluster of these nodes. `node_id` is one of them."""
        nodes = {number: ClusterNode(number, *addresses[number]) for number in sorted(addresses)}
        return cls(nodes, node_id, StaticOwnership(nodes))

    @classmethod
    def alone(cls, node_id: int, host: str = "", port: int = 0) -> Cluster:
        """A node without others."""
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

    def coordinator(self, offsets_partition: int) -> ClusterNode:
        """The node of the groups in a partition of the offsets log."""
        return self.nodes[self.ownership.owner_of_offsets_partition(offsets_partition)]

    def owns_offsets_partition(self, partition: int) -> bool:
        return self.ownership.owner_of_offsets_partition(partition) == self.node_id

    def first_producer_id(self, seconds_since_epoch: int) -> int:
        """Where the producer ids of a node begin that has given none; no other node reaches it, nor a past life did.

        The time is part of it because a node whose disk was lost begins anew, while the others still know the producers
        it had: a number given twice would make them take new records for repeated ones. A block leaves room for 256
        ids in each second since 1970, until 2106.
        """
        return 0 if self.is_alone else ((self.node_id + 1) << PRODUCER_ID_BITS) + (seconds_since_epoch << 8)


class ClusterIdentity(NamedTuple):
    """What all nodes of a cluster must know alike, because owners are computed from it."""

    cluster_id: str
    nodes: tuple[ClusterNode, ...]
    offsets_partitions: int


def why_different(one: ClusterIdentity, other: ClusterIdentity, names: tuple[str, str]) -> str | None:
    """The first difference between what two nodes know, in a sentence that is true in the log of both; None if none."""
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
    return None


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))

"""The living cluster: nodes that come and go, and the node that owns each partition of a log at the moment.

With a shared store of the log (`coordinator.storage.log_store`), any node can serve any partition. The store has the
facts: which nodes have announced themselves and were heard of lately, and who claimed which partition. `ClusterMap` is
one reading of them. From the same map every node computes the same wanted owner of a partition, by rendezvous hashing
over the nodes that are up: a node that leaves moves its own partitions only, a node that comes takes its share only.

`decide` compares owned with wanted. It is a pure function; `coordinator.membership.membership` carries its result out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from coordinator.core.cluster import ClusterNode, Ownership

NO_NODE: Final = -1  # the owner of a partition that has none


class NodeState(Enum):
    """State of a node in the store."""

    UP = "up"
    DRAINING = "draining"  # gives its partitions up, and takes none
    EXPIRED = "expired"  # was declared dead: it owns nothing, and must announce itself again


class LiveNode(NamedTuple):
    """A node that has announced itself."""

    node: ClusterNode
    incarnation: str  # of this run of the node
    state: NodeState
    is_fresh: bool  # it was heard of within the lease

    @property
    def is_up(self) -> bool:
        """True if it takes partitions."""
        return self.is_fresh and self.state is NodeState.UP

    @property
    def may_own(self) -> bool:
        """True if what it has claimed is still its own."""
        return self.state is not NodeState.EXPIRED


class OwnedPartition(NamedTuple):
    """The last claim of a partition. `node` is NO_NODE once it was released."""

    epoch: int
    node: int
    incarnation: str


NEVER_OWNED: Final = OwnedPartition(0, NO_NODE, "")


class ClusterMap(NamedTuple):
    """One reading of the nodes and the owners."""

    nodes: Mapping[int, LiveNode]
    owners: Mapping[int, OwnedPartition]  # by partition; one that was never claimed may be missing

    def owner(self, partition: int) -> LiveNode | None:
        """Return the node whose claim of a partition holds; None if it is free."""
        owned = self.owners.get(partition, NEVER_OWNED)
        node = self.nodes.get(owned.node)
        if node is None or node.incarnation != owned.incarnation or not node.may_own:
            return None
        return node


NO_MAP: Final = ClusterMap(MappingProxyType({}), MappingProxyType({}))


@lru_cache(maxsize=65_536)
def _weight(partition: int, node_id: int) -> int:
    return int.from_bytes(hashlib.blake2b(b"%d/%d" % (partition, node_id), digest_size=8).digest(), "big")


def wanted_owner(partition: int, node_ids: Iterable[int]) -> int:
    """Return the node that should own a partition: the one with the highest weight; NO_NODE if there is none."""
    return max(node_ids, key=lambda node_id: (_weight(partition, node_id), node_id), default=NO_NODE)


class Decision(NamedTuple):
    """Changes that a node should make now, by partition."""

    claim: Mapping[int, int]  # free partitions that it should own, with the epoch of their last claim
    lost: tuple[int, ...]  # partitions it serves that another claim took, or whose claim ended
    hand_over: Mapping[int, int]  # partitions it owns that another node that is up should own, with that node
    release: Mapping[int, int]  # claims of this run that it does not hold, left over after an error, with their epochs
    expire: tuple[int, ...]  # nodes that were silent for longer than the lease


def decide(
    view: ClusterMap,
    partitions: int,
    me: int,
    incarnation: str,
    held: Mapping[int, int],
) -> Decision:
    """Return what node `me` should change. `held`: epochs of the claims it holds, by partition.

    A view may be older than a claim that is held: it then shows a lower epoch, and the claim is not lost.
    """
    up = sorted(number for number, node in view.nodes.items() if node.is_up)
    mine = view.nodes.get(me)
    is_alive = mine is not None and mine.incarnation == incarnation and mine.may_own
    takes = is_alive and me in up
    claim: dict[int, int] = {}
    lost: list[int] = []
    hand_over: dict[int, int] = {}
    release: dict[int, int] = {}
    for partition in range(partitions):
        owned = view.owners.get(partition, NEVER_OWNED)
        is_claim_of_mine = is_alive and (owned.node, owned.incarnation) == (me, incarnation)
        wanted = wanted_owner(partition, up)
        if partition in held:
            epoch = held[partition]
            if not is_alive or owned.epoch > epoch or (owned.epoch == epoch and not is_claim_of_mine):
                lost.append(partition)
            elif wanted not in (me, NO_NODE):
                hand_over[partition] = wanted
        elif is_claim_of_mine:
            release[partition] = owned.epoch
        elif takes and wanted == me and view.owner(partition) is None:
            claim[partition] = owned.epoch
    expire = tuple(
        number
        for number, node in view.nodes.items()
        if number != me and not node.is_fresh and node.state is not NodeState.EXPIRED
    )
    return Decision(claim, tuple(lost), hand_over, release, expire)


class LiveOwnership:
    """Owners by the newest map. Implements `coordinator.core.cluster.Ownership`.

    Topics are not in the shared store. Their partitions are owned by the rule for the nodes of `cluster.nodes`, which
    is handed in; without one this node leads all of its own.
    """

    __slots__ = ("_always", "_first_transaction_partition", "_nodes", "_topics", "map", "me")

    def __init__(
        self,
        me: ClusterNode,
        nodes: dict[int, ClusterNode],
        topics: Ownership | None = None,
        first_transaction_partition: int = 0,
    ) -> None:
        self.me = me
        self.map = NO_MAP
        self._nodes = nodes  # `Cluster.nodes`; changed here
        self._first_transaction_partition = first_transaction_partition  # the number of its claims
        self._topics = topics
        self._always = {**(nodes if topics is not None else {}), me.id: me}  # the rule for topics names any of them

    def update(self, view: ClusterMap) -> None:
        """Take over a new reading: nodes that were heard of lately, this one, and those that the rule for topics knows.

        The addresses in the reading win, except that of this node.
        """
        self.map = view
        alive = {number: each.node for number, each in view.nodes.items() if each.is_fresh and each.may_own}
        nodes = sorted({**self._always, **alive, self.me.id: self.me}.items())
        if nodes != list(self._nodes.items()):
            self._nodes.clear()
            self._nodes.update(nodes)

    @property
    def controller(self) -> int:
        return self._topics.controller if self._topics is not None else min(self._nodes)

    def owner_of_offsets_partition(self, partition: int) -> int:
        node = self.map.owner(partition)
        return NO_NODE if node is None or not node.is_fresh else node.node.id

    def owner_of_transaction_partition(self, partition: int) -> int:
        return self.owner_of_offsets_partition(self._first_transaction_partition + partition)

    def owner_of_topic_partition(self, topic: str, partition: int, assigned: int | None = None) -> int:
        if self._topics is not None:
            return self._topics.owner_of_topic_partition(topic, partition, assigned)
        return self.me.id

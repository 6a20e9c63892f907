"""A group in the first round of a cooperative rebalance, in which one member gives up what none gets yet."""

from __future__ import annotations

from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from tests.support.call import Call
from tests.support.cluster import Cluster

COOPERATIVE = "cooperative-sticky"


def owning(*partitions: int, user_data: bytes | None = None) -> list[tuple[str, bytes]]:
    """Return the protocols of a member that owns these partitions."""
    owned = [TopicPartitions(topic="t", partitions=list(partitions))] if partitions else []
    return [(COOPERATIVE, encode_subscription(Subscription(["t"], user_data, owned)))]


def given(*partitions: int) -> bytes:
    assigned = [TopicPartitions(topic="t", partitions=list(partitions))] if partitions else []
    return encode_assignment(Assignment(assigned), 1)


class FirstRound:
    """A member that owns four partitions, one that owns two, and a newcomer: all have joined, none has synced."""

    def __init__(self, cluster: Cluster, *, newcomer: list[tuple[str, bytes]] | None = None) -> None:
        self.cluster = cluster
        self.owner, self.keeper = cluster.stable_group(members=2, protocols=owning())
        self.newcomer = cluster.member(protocols=owning() if newcomer is None else newcomer)
        self.newcomer.join()
        self.owner.join(protocols=owning(0, 1, 2, 3))
        self.keeper.join(protocols=owning(4, 5))
        for member in (self.owner, self.keeper, self.newcomer):
            member.take_id()

    def assign(self, owner: bytes, keeper: bytes, newcomer: bytes) -> None:
        """Sync the owner, who leads, and the keeper."""
        ids = self.owner.member_id, self.keeper.member_id, self.newcomer.member_id
        self.owner.sync(dict(zip(ids, (owner, keeper, newcomer), strict=True)))
        self.keeper.sync(can_wait=True)
        assert self.cluster.state() == "Stable"

    def synced(self, *, first: bool, can_wait: bool = True, newcomer: bytes = b"") -> Call:
        """Return the SyncGroup of the newcomer, sent before or after the group is Stable. The owner gives up two."""
        call = self.newcomer.sync(can_wait=can_wait) if first else None
        self.assign(given(0, 1), given(4, 5), newcomer or given())
        return call or self.newcomer.sync(can_wait=can_wait)

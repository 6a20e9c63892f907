"""The uniform assignment of a group whose members subscribe to different topics.

Each member keeps its target of the topics that it still subscribes to. Free partitions go to the least loaded
subscribers, topics with the most partitions for each subscriber first. Then partitions move from the most to the least
loaded subscribers of a topic, topic by topic and round after round, until a round moves none. Balance comes before
stickiness. Members are numbered in the order of their ids. Source: Kafka's `UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.assignors.balancer import SubscriberBalancer
from coordinator.core.consumer_group.assignors.interface import AssignmentSteps, GroupSpec
from coordinator.core.consumer_group.assignors.ordering import sorted_in_steps
from coordinator.core.consumer_group.assignors.pace import MOST_AT_ONCE, Pace, pieces_of
from coordinator.core.consumer_group.assignors.subscribers import subscribers_of

MOST_ROUNDS: Final = 16
_NO_MEMBER: Final = -1


def assign_heterogeneous(spec: GroupSpec, pace: Pace) -> AssignmentSteps:
    """Compute the target assignment in steps, and return it."""
    return (yield from _Heterogeneous(spec, pace).steps())


class _Heterogeneous:
    """The state of one computation. Large parts of it are freed in steps as well."""

    __slots__ = ("free", "members", "owners", "pace", "sizes", "spec", "subscribers", "topic_ids")

    def __init__(self, spec: GroupSpec, pace: Pace) -> None:
        self.spec = spec
        self.pace = pace
        self.members: list[str] = []  # by number, which is the order of their ids
        self.subscribers: dict[bytes, Sequence[int]] = {}  # topic id -> numbers of members, ascending
        self.topic_ids: list[bytes] = []  # in the order in which topics are assigned
        self.owners: dict[bytes, list[int]] = {}  # topic id -> the number of each partition's member
        self.free: dict[bytes, int] = {}  # topic id -> partitions without a member
        self.sizes: list[int] = []  # partitions of each member

    def steps(self) -> AssignmentSteps:
        self.members = yield from sorted_in_steps(list(self.spec.members), self.pace)
        self.sizes = [0] * len(self.members)
        self.subscribers = yield from subscribers_of(self.spec, self.members, self.pace)
        yield from self._order_topics()
        yield from self._keep()
        yield from self._assign_free()
        yield from self._balance()
        return (yield from self._result())

    def _order_topics(self) -> Generator[None, None, None]:
        """Order topics by partitions for each subscriber, descending; then by subscribers and id, ascending."""
        by_key: dict[tuple[float, int], list[bytes]] = {}
        ascending = yield from sorted_in_steps(list(self.spec.topics), self.pace)
        for topic_id in ascending:
            partitions, count = self.spec.topics[topic_id], len(self.subscribers[topic_id])
            if not count:
                continue
            by_key.setdefault((-partitions / count, count), []).append(topic_id)
            self.owners[topic_id] = [_NO_MEMBER] * partitions
            self.free[topic_id] = partitions
            if self.pace.is_over(4 + partitions // 8):
                yield None
        keys = yield from sorted_in_steps(list(by_key), self.pace)
        for key in keys:
            for some in pieces_of(by_key[key]):
                self.topic_ids.extend(some)
                if self.pace.is_over(1 + len(some) // 8):
                    yield None

    def _keep(self) -> Generator[None, None, None]:
        for number, member_id in enumerate(self.members):
            member = self.spec.members[member_id]
            for topic_id, partitions in member.target.items():
                if topic_id not in member.topic_ids:
                    continue
                for piece in pieces_of(partitions):
                    taken = _take(self.owners[topic_id], piece, number)
                    self.sizes[number] += taken
                    self.free[topic_id] -= taken
                    if self.pace.is_over(3 + len(piece)):
                        yield None
            if self.pace.is_over(2):
                yield None

    def _assign_free(self) -> Generator[None, None, None]:
        for topic_id in self.topic_ids:
            if self.free[topic_id]:
                yield from self._assign_free_of(topic_id)
            if self.pace.is_over(1):
                yield None

    def _assign_free_of(self, topic_id: bytes) -> Generator[None, None, None]:
        balancer = yield from self._balancer_of(topic_id)
        owners, sizes = self.owners[topic_id], self.sizes
        for start in range(0, len(owners), MOST_AT_ONCE):
            end = min(start + MOST_AT_ONCE, len(owners))
            assigned = 0
            for partition in range(start, end):
                if owners[partition] == _NO_MEMBER:
                    owners[partition] = number = balancer.least_loaded()
                    sizes[number] += 1
                    assigned += 1
            if self.pace.is_over((end - start) // 4 + 2 * assigned):
                yield None

    def _balancer_of(self, topic_id: bytes) -> Generator[None, None, SubscriberBalancer]:
        """Return a balancer of the topic's subscribers as they are loaded now."""
        count = len(self.members)
        keys: list[int] = []
        for some in pieces_of(self.subscribers[topic_id]):
            keys.extend([self.sizes[number] * count + number for number in some])
            if self.pace.is_over(1 + len(some) // 2):
                yield None
        keys = yield from sorted_in_steps(keys, self.pace)
        ordered: list[int] = []
        for some in pieces_of(keys):
            ordered.extend([key % count for key in some])
            if self.pace.is_over(1 + len(some) // 4):
                yield None
        return SubscriberBalancer(ordered, self.sizes)

    def _balance(self) -> Generator[None, None, None]:
        topic_ids: list[bytes] = []
        for some in pieces_of(self.topic_ids):
            topic_ids.extend([topic_id for topic_id in some if len(self.subscribers[topic_id]) > 1])
            if self.pace.is_over(len(some)):
                yield None
        last = -1  # the place of the topic that moved partitions last; before any has, that of the first topic
        for _ in range(MOST_ROUNDS):
            for place, topic_id in enumerate(topic_ids):
                if place == last:
                    return
                moved = yield from self._balance_topic(topic_id)
                if moved or last == -1:
                    last = place

    def _balance_topic(self, topic_id: bytes) -> Generator[None, None, int]:
        """Move partitions from the most to the least loaded subscribers. Return how many were moved."""
        loads: list[int] = []
        for some in pieces_of(self.subscribers[topic_id]):
            of_some = [self.sizes[number] for number in some]
            loads += (min(of_some), max(of_some))
            if self.pace.is_over(4 + len(some) // 2):
                yield None
        if max(loads) - min(loads) <= 1:
            return 0
        stock = yield from self._partitions_by_owner(topic_id)
        balancer = yield from self._balancer_of(topic_id)
        owners, sizes = self.owners[topic_id], self.sizes
        moved = 0
        while not balancer.is_balanced():
            giver = balancer.most_loaded()
            if giver == _NO_MEMBER:
                break
            if self.pace.is_over(3):
                yield None
            given = stock.get(giver)
            if not given:
                balancer.exclude_most_loaded()
                continue
            taker = balancer.least_loaded()
            if balancer.is_balanced():
                break
            owners[given.pop()] = taker
            sizes[giver] -= 1
            sizes[taker] += 1
            moved += 1
        return moved

    def _partitions_by_owner(self, topic_id: bytes) -> Generator[None, None, dict[int, list[int]]]:
        """Return the partitions of a topic by the number of their member, ascending."""
        found: dict[int, list[int]] = {}
        partition = 0
        for some in pieces_of(self.owners[topic_id]):
            for number in some:
                if number in found:
                    found[number].append(partition)
                else:
                    found[number] = [partition]
                partition += 1
            if self.pace.is_over(len(some)):
                yield None
        return found

    def _result(self) -> AssignmentSteps:
        """Return the result for all members. A target that stays is the object that it was, so it is in memory once."""
        shares: list[dict[bytes, tuple[int, ...]]] = []
        for some in pieces_of(self.members):
            shares.extend([{} for _ in some])
            if self.pace.is_over(len(some)):
                yield None
        for topic_id in (yield from sorted_in_steps(self.topic_ids, self.pace)):
            found = yield from self._partitions_by_owner(topic_id)
            del self.owners[topic_id], self.subscribers[topic_id]
            while found:
                number, partitions = found.popitem()
                shares[number][topic_id] = tuple(partitions)
                if self.pace.is_over(1 + len(partitions) // 8):
                    yield None
            if self.pace.is_over(3):
                yield None
        result: dict[str, Assignment] = {}
        for number, member_id in enumerate(self.members):
            share, target = shares[number], self.spec.members[member_id].target
            result[member_id] = (target if target == share else share) if share else NOTHING_ASSIGNED
            shares[number] = {}
            if self.pace.is_over(2 + len(share)):
                yield None
        return result


def _take(owners: list[int], partitions: Sequence[int], number: int) -> int:
    """Give a member those of the partitions that exist and have no member yet. Return how many."""
    taken = 0
    for partition in partitions:
        if partition < len(owners) and owners[partition] == _NO_MEMBER:
            owners[partition] = number
            taken += 1
    return taken

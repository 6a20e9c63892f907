"""The assignors of Kafka's clients: range, roundrobin, sticky and cooperative-sticky.

All members subscribe to the same topics here. The rule of each assignor is kept, with its limits (range favours the
first members in each topic). The sticky ones keep what a member owns and balance with the fewest moves; which one of
several equal partitions moves may differ from Kafka's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)

Partition = tuple[str, int]
Partitions = tuple[Partition, ...]  # sorted
Assigned = dict[str, Partitions]  # by member
Assignor = Callable[[Sequence[str], Mapping[str, Partitions], Partitions], Assigned]

COOPERATIVE: Final = "cooperative-sticky"
CACHED: Final = 4_096  # encoded subscriptions and assignments


def assign_range(members: Sequence[str], owned: Mapping[str, Partitions], partitions: Partitions) -> Assigned:
    """Give each member a range of each topic; the first ones get one more."""
    found: dict[str, list[Partition]] = {member: [] for member in members}
    topics: dict[str, list[Partition]] = {}
    for partition in partitions:
        topics.setdefault(partition[0], []).append(partition)
    for each in topics.values():
        size, more = divmod(len(each), len(members))
        start = 0
        for place, member in enumerate(members):
            end = start + size + (place < more)
            found[member] += each[start:end]
            start = end
    return {member: tuple(some) for member, some in found.items()}


def assign_round_robin(members: Sequence[str], owned: Mapping[str, Partitions], partitions: Partitions) -> Assigned:
    """Deal the partitions of all topics out, one by one."""
    return {member: partitions[place :: len(members)] for place, member in enumerate(members)}


def assign_sticky(members: Sequence[str], owned: Mapping[str, Partitions], partitions: Partitions) -> Assigned:
    """Balance the numbers, and let each member keep as much of what it owned as that allows."""
    size, more = divmod(len(partitions), len(members))
    left = dict.fromkeys(partitions)
    found: dict[str, list[Partition]] = {}
    for member in sorted(members, key=lambda each: -len(owned[each])):
        mine = [each for each in owned[member] if each in left]
        room = size + (more > 0 and len(mine) > size)
        more -= room > size
        found[member] = mine[:room]
        for each in found[member]:
            del left[each]
    free = list(left)
    for member in members:
        some = found[member]
        room = size + (more > 0 and len(some) <= size) - len(some)
        more -= len(some) + room > size
        if room > 0:
            some += free[:room]
            del free[:room]
    return {member: tuple(sorted(some)) for member, some in found.items()}


def assign_cooperative(members: Sequence[str], owned: Mapping[str, Partitions], partitions: Partitions) -> Assigned:
    """Balance as `assign_sticky`, without the partitions that another member still owns: those come next time."""
    owner = {each: member for member in members for each in owned[member]}
    balanced = assign_sticky(members, owned, partitions)
    return {
        member: tuple(each for each in some if owner.get(each, member) == member) for member, some in balanced.items()
    }


ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {
        "range": assign_range,
        "roundrobin": assign_round_robin,
        "sticky": assign_sticky,
        COOPERATIVE: assign_cooperative,
    }
)


@lru_cache(CACHED)
def subscription(topics: tuple[str, ...], owned: Partitions, version: int, user_data: bytes) -> bytes:
    """Return the metadata of a JoinGroup. Version 0 lists no owned partitions, as eager members do."""
    return encode_subscription(
        Subscription(topics=list(topics), user_data=user_data, owned_partitions=_by_topic(owned)), version
    )


@lru_cache(CACHED)
def encoded(partitions: Partitions) -> bytes:
    """Return the assignment of one member, as its leader sends it."""
    return encode_assignment(Assignment(assigned_partitions=_by_topic(partitions)), 0)


@lru_cache(CACHED)
def decoded(assignment: bytes) -> Partitions:
    """Return the partitions of an assignment."""
    listed = decode_assignment(assignment).assigned_partitions
    return tuple(sorted((each.topic, index) for each in listed for index in each.partitions))


def _by_topic(partitions: Partitions) -> list[TopicPartitions]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [TopicPartitions(topic=topic, partitions=some) for topic, some in topics.items()]

"""The first round of a cooperative rebalance: a newcomer waits in it for the second.

In the first round the partitions that move are given to none of the members (KIP-429): their owners give them up and
rejoin, and the second round hands them out. A newcomer gets nothing in the first round, and hears of the second in the
answer to its first Heartbeat, one interval later. Until then the second round waits for it alone. Therefore its
SyncGroup is held, and is answered REBALANCE_IN_PROGRESS when an owner rejoins; or with its assignment, when it sends
more bytes, or when its time is over (parked_heartbeat.py). The group is Stable meanwhile, so that owners can commit.

Only a member that owns nothing and gets nothing is held, since it has nothing to consume or to commit. A member that
keeps partitions is answered: without this answer it could not commit, and would join the second round with an older
generation than the others, which assignors of Java 2.8 to 3.1 take for partitions that it has lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from protocol import consumer
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from protocol.messages.consumer_protocol import TopicPartitions

CONSUMER: Final = "consumer"
NOTHING_BYTES: Final = 10  # of an assignment without topics and user data, by which Streams assigns standby tasks
MOST_BYTES: Final = 32_768  # of all subscriptions and assignments of a group; decoding them takes 1.5 ms


def is_newcomer(group: Group, member: Member, ticket: Ticket) -> bool:
    """Return whether the SyncGroup of a member may be held: its client can wait, and it owns and gets nothing."""
    if not ticket.may_be_held or group.protocol_type != CONSUMER or not _is_nothing(member.assignment):
        return False
    subscription = member.metadata(group.protocol_name)
    try:
        return len(subscription) <= MOST_BYTES and not consumer.decode_subscription(subscription).owned_partitions
    except DecodeError:
        return False


def others_will_rejoin(group: Group) -> bool:
    """Return whether members own partitions that none is given, so that they give them up and rejoin.

    Decided once for each generation.
    """
    decided = group.second_round
    if decided is None or decided[0] != group.generation:
        decided = group.second_round = (group.generation, _others_will_rejoin(group))
    return decided[1]


def _others_will_rejoin(group: Group) -> bool:
    members = group.members.values()
    subscriptions = [member.metadata(group.protocol_name) for member in members]
    if sum(map(len, subscriptions)) + sum(len(member.assignment) for member in members) > MOST_BYTES:
        return False
    owned: set[tuple[str, int]] = set()
    given: set[tuple[str, int]] = set()
    try:
        for subscription in subscriptions:
            owned.update(_listed(consumer.decode_subscription(subscription).owned_partitions))
        for member in members:
            given.update(_listed(consumer.decode_assignment(member.assignment).assigned_partitions))
    except DecodeError:
        return False
    return not owned <= given


def _is_nothing(assignment: bytes) -> bool:
    return len(assignment) <= NOTHING_BYTES and not consumer.topic_count(assignment)


def _listed(topics: list[TopicPartitions]) -> Iterator[tuple[str, int]]:
    for each in topics:
        for index in each.partitions:
            yield each.topic, index

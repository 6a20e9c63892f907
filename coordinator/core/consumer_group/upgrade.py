"""Upgrade: a classic group with members becomes a KIP-848 group when the first client of that protocol joins.

Its members stay, as members of the classic protocol, with what they are assigned. Those whose JoinGroup or SyncGroup
waits are told to rejoin. Source: Kafka's `GroupMetadataManager.convertToConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.assignors.assignment import Assignment, assignment_of
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.member import ClassicProtocols, ConsumerMember
from coordinator.core.consumer_group.subscription import hash_of_topics
from coordinator.core.events.model import Cause, RebalanceOutcome, Trigger
from coordinator.core.group.group import CONSUMER
from coordinator.core.group.parked_heartbeat import Release, release_all
from coordinator.core.group.progress import end_rebalance
from coordinator.core.group.rebalance import prepare_rebalance
from coordinator.core.group.responses import refuse_parked_join, refuse_parked_sync
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import STABLE
from protocol.consumer import decode_assignment, decode_subscription
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.consumer_group.change import ConsumerGroupChange
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from protocol.messages.consumer_protocol import TopicPartitions

UPGRADING: frozenset[str] = frozenset({"bidirectional", "upgrade"})  # values of group.consumer.migration.policy


def check_upgrade(classic: Group, context: Context) -> None:
    """Raise GroupError if a classic group with members must stay what it is."""
    config = context.config
    if config.group_consumer_migration_policy not in UPGRADING:
        reason = "the online upgrade is disabled"
    elif classic.protocol_type != CONSUMER:
        reason = "the group does not use the consumer embedded protocol"
    elif len(classic.members) > config.group_consumer_max_size:
        reason = "the group size exceeds the consumer group maximum size"
    else:
        return
    raise _refusal(classic, reason)


def _refusal(classic: Group, reason: str) -> GroupError:
    return GroupError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade the classic group {classic.group_id} to consumer group: {reason}.",
    )


def take_members(change: ConsumerGroupChange, classic: Group, topics: TopicsImage) -> None:
    """Give the members of a classic group to the new group of `change`. Raises GroupError.

    The classic group is not changed. A partition that two members have, by a defect of an assignor, stays with the
    first one to have joined.
    """
    group, generation = change.group, classic.generation
    change.upgraded = classic
    taken: set[tuple[bytes, int]] = set()
    members = []
    for member in classic.members.values():
        try:
            upgraded = _upgraded(member, classic, topics, taken)
        except DecodeError:
            raise _refusal(classic, "the embedded consumer protocol is malformed") from None
        members.append(upgraded)
        change.put(upgraded)
    change.write_members(members)
    change.set_epoch(generation, hash_of_topics(group, topics))
    for upgraded in members:
        change.set_target(upgraded.member_id, upgraded.assigned)
    change.set_assignment_epoch(generation, 0)
    for upgraded in members:
        change.write_current(upgraded)


def _upgraded(member: Member, classic: Group, topics: TopicsImage, taken: set[tuple[bytes, int]]) -> ConsumerMember:
    given = decode_assignment(member.assignment)
    if given.user_data:
        raise _refusal(classic, f"the assignment of member {member.member_id} has user data, which would be lost")
    protocol = classic.protocol_name if classic.protocol_name is not None else member.protocols[0][0]
    subscription = decode_subscription(member.metadata(protocol))
    assigned = {
        topic_id: free
        for topic_id, some in partitions_by_id(given.assigned_partitions, topics).items()
        if (free := tuple([each for each in some if (topic_id, each) not in taken]))
    }
    taken.update((topic_id, each) for topic_id, some in assigned.items() for each in some)
    generation = classic.generation
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, member.protocols),
        epoch=generation,
        previous_epoch=generation,
        assigned=assigned,
        assigned_epochs={topic_id: (generation,) * len(some) for topic_id, some in assigned.items()},
    )


def partitions_by_id(parts: Iterable[TopicPartitions], topics: TopicsImage) -> Assignment:
    """Return the partitions of a client's assignment; those of topics that do not exist are left out."""
    return assignment_of(
        (topic.topic_id, part.partitions) for part in parts if (topic := topics.by_name(part.topic)) is not None
    )


def dismiss(classic: Group, context: Context) -> None:
    """Answer the requests that wait in a classic group, because another one takes its place."""
    for member in classic.members.values():
        refuse_parked_join(classic, member, ErrorCode.REBALANCE_IN_PROGRESS, context, member.member_id)
        refuse_parked_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, context)
    release_all(classic, Release.REBALANCE, context, ErrorCode.REBALANCE_IN_PROGRESS)
    end_rebalance(classic, RebalanceOutcome.INTERRUPTED, context)


def resume(classic: Group, *, was_stable: bool, context: Context) -> None:
    """Go on with a classic group whose upgrade was not written: its members and sessions are there again."""
    for member in classic.members.values():
        if member.session is None:
            restart_session(classic, member, member.session_timeout_ms, context)
    if classic.state is STABLE and not was_stable:
        prepare_rebalance(classic, Trigger(Cause.APPEND_FAILED), context)

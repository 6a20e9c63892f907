"""Downgrade: a KIP-848 group becomes classic when its last member of that protocol is gone and others are left.

Each member keeps what its target gives it, as the assignment of a Stable generation. Unless only a static member came
back and the target is not behind, a rebalance follows. Source: Kafka's `GroupMetadataManager.convertToClassicGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.clients import change_of
from coordinator.core.consumer_group.progress import CAUSED_BY
from coordinator.core.events.model import Cause, Trigger
from coordinator.core.group.group import CONSUMER, Group
from coordinator.core.group.member import Member
from coordinator.core.group.rebalance import prepare_rebalance
from coordinator.core.group.records import group_record
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import STABLE
from protocol.consumer import LATEST_VERSION, Assignment, TopicPartitions, encode_assignment

if TYPE_CHECKING:
    from collections.abc import Collection

    from coordinator.core.consumer_group.assignors.assignment import Assignment as Partitions
    from coordinator.core.consumer_group.change import ConsumerGroupChange
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context

DOWNGRADING: frozenset[str] = frozenset({"bidirectional", "downgrade"})  # values of group.consumer.migration.policy
REASON = "the last member of the consumer protocol is gone"


def is_downgraded_without(group: ConsumerGroup, leaving: Collection[str], context: Context) -> bool:
    """Return whether a group becomes classic when these members leave it (`validateOnlineDowngrade...`)."""
    config, left = context.config, len(group.members) - len(leaving)
    return (
        0 < left == group.classic_count
        and all(group.members[member_id].classic is None for member_id in leaving)
        and left <= config.group_max_size
        and config.group_consumer_migration_policy in DOWNGRADING
    )


def is_downgraded_by(group: ConsumerGroup, instance_id: str | None, context: Context) -> bool:
    """Return whether a group becomes classic when its static member joins by the classic protocol.

    Source: `validateOnlineDowngradeWithReplacedMember`.
    """
    owner = None if instance_id is None else group.static_members.get(instance_id)
    config, size = context.config, len(group.members)
    return (
        owner is not None
        and group.members[owner].classic is None
        and group.classic_count == size - 1
        and size <= config.group_max_size
        and config.group_consumer_migration_policy in DOWNGRADING
    )


def downgrade(
    change: ConsumerGroupChange,
    leaving: Collection[str],
    generation: int,
    topics: TopicsImage,
    context: Context,
    *,
    rebalances: bool,
) -> None:
    """Put a classic group in the place of the group, without the members that leave."""
    group = change.group
    classic = Group(group.group_id, group.shard, context.wall_ms)
    classic.generation = generation
    for member_id, member in group.members.items():
        if member_id in leaving or member.classic is None:
            continue
        classic.add(
            Member(
                member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                CONSUMER,
                member.classic.protocols,
            )
        )
    classic.protocol_name = classic.select_protocol()
    for each in classic.members.values():
        metadata = each.metadata(classic.protocol_name)
        each.assignment = embedded_assignment(group.target_of(each.member_id), metadata, topics)
    classic.compute_subscribed_topics()
    classic.state = STABLE
    causes = [_trigger(change, group.members[member_id], context) for member_id in leaving]
    causes = causes or [Trigger(Cause.MEMBER_LEFT, reason=REASON)]
    change.become_classic(classic)
    change.records.append(group_record(classic))
    for each in classic.members.values():
        restart_session(classic, each, each.session_timeout_ms, context)
    if rebalances:
        prepare_rebalance(classic, causes[0], context, causes[1:])


def _trigger(change: ConsumerGroupChange, member: ConsumerMember, context: Context) -> Trigger:
    """Return the trigger of the rebalance that follows a member's departure."""
    reason = change.reasons.get(member.member_id, "")
    gone = change_of(change.how, change.group, member, context, reason=reason)
    cause = change.cause or CAUSED_BY[change.how]
    return Trigger(cause, gone.member, reason, gone.session_timeout_ms, gone.rebalance_timeout_ms)


def embedded_assignment(assigned: Partitions, metadata: bytes, topics: TopicsImage) -> bytes:
    """Return partitions as an assignment of the version of a member's metadata, without topics that are gone."""
    parts = [
        TopicPartitions(topic.name, list(partitions))
        for topic_id, partitions in assigned.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    version = min(max(int.from_bytes(metadata[:2], "big", signed=True), 0), LATEST_VERSION)
    return encode_assignment(Assignment(assigned_partitions=parts), version)

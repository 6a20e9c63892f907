"""The records of a KIP-848 group, from its values. Source: Kafka's `GroupCoordinatorRecordHelpers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from protocol.group_records import RecordKind, encode_key, encode_value
from protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    TargetPartitions,
)

if TYPE_CHECKING:
    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ResolvedRegex
    from coordinator.core.consumer_group.member import ConsumerMember

GroupRecord: TypeAlias = tuple[bytes, bytes | None]


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return encode_key(RecordKind.CONSUMER_GROUP, group_id), encode_value(value)


def member_record(group_id: str, member: ConsumerMember) -> GroupRecord:
    classic = None
    if member.classic is not None:
        classic = ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=name, metadata=metadata) for name, metadata in member.classic.protocols
            ],
        )
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=classic,
    )
    return encode_key(RecordKind.CONSUMER_MEMBER, group_id, member.member_id), encode_value(value)


def target_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> GroupRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=assignment_epoch, assignment_timestamp=timestamp_ms
    )
    return encode_key(RecordKind.CONSUMER_TARGET_EPOCH, group_id), encode_value(value)


def target_record(group_id: str, member_id: str, target: Assignment) -> GroupRecord:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TargetPartitions(topic_id=topic_id, partitions=list(partitions)) for topic_id, partitions in target.items()
        ]
    )
    return encode_key(RecordKind.CONSUMER_TARGET, group_id, member_id), encode_value(value)


def current_record(group_id: str, member: ConsumerMember) -> GroupRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_current(member.assigned, member.assigned_epochs),
        partitions_pending_revocation=_current(member.pending, member.pending_epochs),
    )
    return encode_key(RecordKind.CONSUMER_CURRENT, group_id, member.member_id), encode_value(value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> GroupRecord:
    value = ConsumerGroupRegularExpressionValue(
        topics=list(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return encode_key(RecordKind.CONSUMER_REGEX, group_id, regex), encode_value(value)


def tombstone(kind: RecordKind, group_id: str, second: str = "") -> GroupRecord:
    return encode_key(kind, group_id, second), None


def _current(assignment: Assignment, epochs: Mapping[bytes, tuple[int, ...]]) -> list[CurrentPartitions]:
    parts = []
    for topic_id, partitions in assignment.items():
        of_topic = epochs.get(topic_id)
        parts.append(
            CurrentPartitions(
                topic_id=topic_id,
                partitions=list(partitions),
                assignment_epochs=None if of_topic is None else list(of_topic),
            )
        )
    return parts

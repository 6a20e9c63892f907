"""Values of the records of KIP-848 consumer groups in `__consumer_offsets`, as Kafka 4.4 writes them.

Each is of version 0, which is flexible: newer releases append fields as tags. Use these classes through
`protocol.group_records`, which also has the keys.
"""

from __future__ import annotations

from protocol.schema import (
    BYTES,
    INT8,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    UUID,
    array,
    field,
    nullable_array,
    nullable_struct,
    record,
    struct,
)


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupMetadataValue:
    """The epoch of a group: it grows with each change of its members, their subscriptions or its topics."""

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64, tag=0)  # of the subscribed topics (KIP-1101)


@struct
class RackedPartition:
    """One partition and the racks of its replicas. Kafka wrote it before 4.0."""

    partition: int = field(INT32)
    racks: list[str] = field(array(STRING))


@struct
class SubscribedTopic:
    """One topic that a group subscribes to."""

    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[RackedPartition] = field(array(RackedPartition))


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupPartitionMetadataValue:
    """The topics that a group subscribes to. Kafka 4.1 and later write only its tombstone."""

    topics: list[SubscribedTopic] = field(array(SubscribedTopic))


@struct
class ClassicProtocol:
    """A protocol that a member of the classic protocol supports."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


@struct
class ClassicMemberMetadata:
    """The part of a member that uses the classic protocol within a consumer group."""

    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(array(ClassicProtocol))


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupMemberMetadataValue:
    """A member as its client describes it."""

    instance_id: str | None = field(NULLABLE_STRING)
    rack_id: str | None = field(NULLABLE_STRING)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(NULLABLE_STRING)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(NULLABLE_STRING)
    # Kafka takes a record without this field for one of a member of the classic protocol. Earlier builds of this
    # coordinator left it out where it is None, so that is what it means here.
    classic_member_metadata: ClassicMemberMetadata | None = field(
        nullable_struct(ClassicMemberMetadata), tag=0, default=None, writes_null=True
    )


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The group epoch from which the target assignment was computed."""

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, tag=0)


@struct
class TargetPartitions:
    """Some partitions of one topic."""

    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupTargetAssignmentMemberValue:
    """The partitions that a member has to own in the end."""

    topic_partitions: list[TargetPartitions] = field(array(TargetPartitions))


@struct
class CurrentPartitions:
    """Some partitions of one topic, and the epochs at which the member got them."""

    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))
    assignment_epochs: list[int] | None = field(nullable_array(INT32), tag=0, default=None, writes_null=True)


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupCurrentMemberAssignmentValue:
    """The partitions that a member owns now, those that it must still give up, and its epoch."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[CurrentPartitions] = field(array(CurrentPartitions))
    partitions_pending_revocation: list[CurrentPartitions] = field(array(CurrentPartitions))


@record(versions=(0, 0), flexible_since=0)
class ConsumerGroupRegularExpressionValue:
    """The topics that match a regular expression of a subscription."""

    topics: list[str] = field(array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)

"""Values of records of share groups (KIP-932) in `__consumer_offsets`: those that tell the members and partitions.

Each is of version 0, which is flexible. Use these classes through `protocol.group_records`, which also has the keys.
"""

from __future__ import annotations

from protocol.schema import INT8, INT32, NULLABLE_STRING, STRING, UUID, array, field, record, struct


@record(versions=(0, 0), flexible_since=0)
class ShareGroupMetadataValue:
    """The epoch of a group: it grows with each change of its members, their subscriptions or its topics."""

    epoch: int = field(INT32)


@record(versions=(0, 0), flexible_since=0)
class ShareGroupMemberMetadataValue:
    """A member as its client describes it."""

    rack_id: str | None = field(NULLABLE_STRING)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))


@record(versions=(0, 0), flexible_since=0)
class ShareGroupTargetAssignmentMetadataValue:
    """The group epoch from which the target assignment was computed."""

    assignment_epoch: int = field(INT32)


@struct
class SharedPartitions:
    """Some partitions of one topic. Other members may have the same ones."""

    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


@record(versions=(0, 0), flexible_since=0)
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that a member has to have in the end."""

    topic_partitions: list[SharedPartitions] = field(array(SharedPartitions))


@record(versions=(0, 0), flexible_since=0)
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions that a member has now, and its epoch."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[SharedPartitions] = field(array(SharedPartitions))

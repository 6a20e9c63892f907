"""ShareGroupHeartbeat: stay in a share group (KIP-932). Declared, not offered."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    INT16,
    INT32,
    NULLABLE_STRING,
    STRING,
    UUID,
    array,
    field,
    message,
    nullable_array,
    nullable_struct,
    struct,
)


@message(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(0, 0), flexible_since=0)
class ShareGroupHeartbeatRequest:
    """What changed for this member since its last heartbeat."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    rack_id: str | None = field(NULLABLE_STRING, default=None)
    subscribed_topic_names: list[str] | None = field(nullable_array(STRING), default=None)


@struct
class TopicPartitions:
    """Some partitions of one topic."""

    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


@struct
class Assignment:
    """The partitions a member has."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


@message(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(0, 0), flexible_since=0)
class ShareGroupHeartbeatResponse:
    """The epoch of the member, and its assignment if that changed."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    member_id: str | None = field(NULLABLE_STRING, default=None)
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    assignment: Assignment | None = field(nullable_struct(Assignment), default=None)

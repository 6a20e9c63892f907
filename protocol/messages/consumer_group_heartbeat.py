"""ConsumerGroupHeartbeat: join, stay in and leave a group under the newer protocol (KIP-848)."""

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


@struct
class TopicPartitions:
    """Some partitions of one topic."""

    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


@message(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible_since=0)
class ConsumerGroupHeartbeatRequest:
    """The changes of this member since its last heartbeat."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    instance_id: str | None = field(NULLABLE_STRING, default=None)
    rack_id: str | None = field(NULLABLE_STRING, default=None)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    subscribed_topic_names: list[str] | None = field(nullable_array(STRING), default=None)
    subscribed_topic_regex: str | None = field(NULLABLE_STRING, since=1, default=None)
    server_assignor: str | None = field(NULLABLE_STRING, default=None)
    topic_partitions: list[TopicPartitions] | None = field(nullable_array(TopicPartitions), default=None)


@struct
class Assignment:
    """The partitions a member has."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


@message(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible_since=0)
class ConsumerGroupHeartbeatResponse:
    """The epoch of the member, and its assignment if that changed."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    member_id: str | None = field(NULLABLE_STRING, default=None)
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    assignment: Assignment | None = field(nullable_struct(Assignment), default=None)

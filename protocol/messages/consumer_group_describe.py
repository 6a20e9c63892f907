"""ConsumerGroupDescribe: groups of the newer protocol (KIP-848)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    NULLABLE_STRING,
    STRING,
    UUID,
    array,
    field,
    message,
    struct,
    struct_of,
)


@message(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible_since=0)
class ConsumerGroupDescribeRequest:
    """Ask for the description of some groups."""

    group_ids: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL)


@struct
class TopicPartitions:
    """Some partitions of one topic."""

    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@struct
class Assignment:
    """The partitions a member has."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


@struct
class Member:
    member_id: str = field(STRING)
    instance_id: str | None = field(NULLABLE_STRING, default=None)
    rack_id: str | None = field(NULLABLE_STRING, default=None)
    member_epoch: int = field(INT32)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(NULLABLE_STRING, default=None)
    assignment: Assignment = field(struct_of(Assignment))
    target_assignment: Assignment = field(struct_of(Assignment))
    member_type: int = field(INT8, since=1, default=-1)  # 0 classic, 1 consumer, -1 unknown


@struct
class DescribedGroup:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    assignor_name: str = field(STRING)
    members: list[Member] = field(array(Member))
    authorized_operations: int = field(INT32, default=-2147483648)


@message(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), flexible_since=0)
class ConsumerGroupDescribeResponse:
    """A description for each group."""

    throttle_time_ms: int = field(INT32)
    groups: list[DescribedGroup] = field(array(DescribedGroup))

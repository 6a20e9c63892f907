"""DescribeTopicPartitions: the partitions of topics, page by page."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
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
class TopicRequest:
    name: str = field(STRING)


@struct
class Cursor:
    """The start of a page."""

    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


@message(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible_since=0)
class DescribeTopicPartitionsRequest:
    """Ask for a page of partitions."""

    topics: list[TopicRequest] = field(array(TopicRequest))
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(nullable_struct(Cursor), default=None)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1)
    replica_nodes: list[int] = field(array(INT32))
    isr_nodes: list[int] = field(array(INT32))
    eligible_leader_replicas: list[int] | None = field(nullable_array(INT32), default=None)
    last_known_elr: list[int] | None = field(nullable_array(INT32), default=None)
    offline_replicas: list[int] = field(array(INT32))


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int = field(INT16)
    name: str | None = field(NULLABLE_STRING)
    topic_id: bytes = field(UUID)
    is_internal: bool = field(BOOL)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(array(DescribeTopicPartitionsResponsePartition))
    topic_authorized_operations: int = field(INT32, default=-2147483648)


@message(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible_since=0)
class DescribeTopicPartitionsResponse:
    """The page, and the start of the next one."""

    throttle_time_ms: int = field(INT32)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = field(nullable_struct(Cursor), default=None)

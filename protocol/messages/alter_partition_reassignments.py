"""AlterPartitionReassignments: give partitions other replicas, or cancel such a change."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
    INT16,
    INT32,
    NULLABLE_STRING,
    STRING,
    array,
    field,
    message,
    nullable_array,
    struct,
)


@struct
class ReassignablePartition:
    partition_index: int = field(INT32)
    replicas: list[int] | None = field(nullable_array(INT32), default=None)


@struct
class ReassignableTopic:
    name: str = field(STRING)
    partitions: list[ReassignablePartition] = field(array(ReassignablePartition))


@message(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible_since=0)
class AlterPartitionReassignmentsRequest:
    """Reassign partitions; without replicas, cancel the reassignment of a partition."""

    timeout_ms: int = field(INT32, default=60000)
    allow_replication_factor_change: bool = field(BOOL, since=1, default=True)
    topics: list[ReassignableTopic] = field(array(ReassignableTopic))


@struct
class ReassignablePartitionResponse:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)


@struct
class ReassignableTopicResponse:
    name: str = field(STRING)
    partitions: list[ReassignablePartitionResponse] = field(array(ReassignablePartitionResponse))


@message(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible_since=0)
class AlterPartitionReassignmentsResponse:
    """The outcome for each partition."""

    throttle_time_ms: int = field(INT32)
    allow_replication_factor_change: bool = field(BOOL, since=1, default=True)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    responses: list[ReassignableTopicResponse] = field(array(ReassignableTopicResponse))

"""ListPartitionReassignments: the partitions whose replicas are being changed."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, NULLABLE_STRING, STRING, array, field, message, nullable_array, struct


@struct
class ListPartitionReassignmentsTopics:
    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


@message(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible_since=0)
class ListPartitionReassignmentsRequest:
    """Ask for the reassignments of some partitions, or for all."""

    timeout_ms: int = field(INT32, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(
        nullable_array(ListPartitionReassignmentsTopics), default=None
    )


@struct
class OngoingPartitionReassignment:
    partition_index: int = field(INT32)
    replicas: list[int] = field(array(INT32))
    adding_replicas: list[int] = field(array(INT32))
    removing_replicas: list[int] = field(array(INT32))


@struct
class OngoingTopicReassignment:
    name: str = field(STRING)
    partitions: list[OngoingPartitionReassignment] = field(array(OngoingPartitionReassignment))


@message(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible_since=0)
class ListPartitionReassignmentsResponse:
    """The reassignments that are going on."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    topics: list[OngoingTopicReassignment] = field(array(OngoingTopicReassignment))

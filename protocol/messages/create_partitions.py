"""CreatePartitions: give topics more partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, nullable_array, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int] = field(array(INT32))


@struct
class CreatePartitionsTopic:
    name: str = field(STRING)
    count: int = field(INT32)
    assignments: list[CreatePartitionsAssignment] | None = field(nullable_array(CreatePartitionsAssignment))


@message(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible_since=2)
class CreatePartitionsRequest:
    """Raise the number of partitions of some topics."""

    topics: list[CreatePartitionsTopic] = field(array(CreatePartitionsTopic))
    timeout_ms: int = field(INT32)
    validate_only: bool = field(BOOL)


@struct
class CreatePartitionsTopicResult:
    name: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)


@message(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible_since=2)
class CreatePartitionsResponse:
    """The outcome for each topic."""

    throttle_time_ms: int = field(INT32)
    results: list[CreatePartitionsTopicResult] = field(array(CreatePartitionsTopicResult))

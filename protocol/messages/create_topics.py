"""CreateTopics: create topics with their partitions and settings."""

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
    nullable_array,
    struct,
)


@struct
class CreatableReplicaAssignment:
    partition_index: int = field(INT32)
    broker_ids: list[int] = field(array(INT32))


@struct
class CreatableTopicConfig:
    name: str = field(STRING)
    value: str | None = field(NULLABLE_STRING)


@struct
class CreatableTopic:
    name: str = field(STRING)
    num_partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    assignments: list[CreatableReplicaAssignment] = field(array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(array(CreatableTopicConfig))


@message(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible_since=5)
class CreateTopicsRequest:
    """Create some topics, or only check whether that would work."""

    topics: list[CreatableTopic] = field(array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60000)
    validate_only: bool = field(BOOL, since=1)


@struct
class CreatableTopicConfigs:
    name: str = field(STRING)
    value: str | None = field(NULLABLE_STRING)
    read_only: bool = field(BOOL)
    config_source: int = field(INT8, default=-1)
    is_sensitive: bool = field(BOOL)


@struct
class CreatableTopicResult:
    name: str = field(STRING)
    topic_id: bytes = field(UUID, since=7)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, since=1)
    topic_config_error_code: int = field(INT16, since=5, tag=0)
    num_partitions: int = field(INT32, since=5, default=-1)
    replication_factor: int = field(INT16, since=5, default=-1)
    configs: list[CreatableTopicConfigs] | None = field(nullable_array(CreatableTopicConfigs), since=5)


@message(ApiKey.CREATE_TOPICS, versions=(0, 7), flexible_since=5)
class CreateTopicsResponse:
    """The outcome for each topic."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[CreatableTopicResult] = field(array(CreatableTopicResult))

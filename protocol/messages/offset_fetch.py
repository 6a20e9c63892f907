"""OffsetFetch: the committed offsets of a group. Several groups in one request from version 8 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
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
class OffsetFetchRequestTopic:
    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


@struct
class OffsetFetchRequestTopics:
    name: str = field(STRING, until=9)
    topic_id: bytes = field(UUID, since=10)
    partition_indexes: list[int] = field(array(INT32))


@struct
class OffsetFetchRequestGroup:
    group_id: str = field(STRING)
    member_id: str | None = field(NULLABLE_STRING, since=9, default=None)
    member_epoch: int = field(INT32, since=9, default=-1)
    topics: list[OffsetFetchRequestTopics] | None = field(nullable_array(OffsetFetchRequestTopics))


@message(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible_since=6)
class OffsetFetchRequest:
    """Ask for committed offsets; null topics mean all."""

    group_id: str = field(STRING, until=7)  # before v8; afterwards `groups`
    topics: list[OffsetFetchRequestTopic] | None = field(array(OffsetFetchRequestTopic), until=7, nullable_since=2)
    groups: list[OffsetFetchRequestGroup] = field(array(OffsetFetchRequestGroup), since=8)
    require_stable: bool = field(BOOL, since=7)


@struct
class OffsetFetchResponsePartition:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=5, default=-1)
    metadata: str | None = field(NULLABLE_STRING)
    error_code: int = field(INT16)


@struct
class OffsetFetchResponseTopic:
    name: str = field(STRING)
    partitions: list[OffsetFetchResponsePartition] = field(array(OffsetFetchResponsePartition))


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, default=-1)
    metadata: str | None = field(NULLABLE_STRING)
    error_code: int = field(INT16)


@struct
class OffsetFetchResponseTopics:
    name: str = field(STRING, until=9)
    topic_id: bytes = field(UUID, since=10)
    partitions: list[OffsetFetchResponsePartitions] = field(array(OffsetFetchResponsePartitions))


@struct
class OffsetFetchResponseGroup:
    group_id: str = field(STRING)
    topics: list[OffsetFetchResponseTopics] = field(array(OffsetFetchResponseTopics))
    error_code: int = field(INT16)


@message(ApiKey.OFFSET_FETCH, versions=(0, 10), flexible_since=6)
class OffsetFetchResponse:
    """The committed offsets; an unknown partition has offset -1 and no error."""

    throttle_time_ms: int = field(INT32, since=3)
    topics: list[OffsetFetchResponseTopic] = field(array(OffsetFetchResponseTopic), until=7)
    error_code: int = field(INT16, since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = field(array(OffsetFetchResponseGroup), since=8)

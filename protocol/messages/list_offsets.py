"""ListOffsets: the offset of a partition at its start, at its end or at a timestamp."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, INT64, STRING, array, field, message, struct


@struct
class ListOffsetsPartition:
    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=4, default=-1)
    timestamp: int = field(INT64)
    max_num_offsets: int = field(INT32, until=0, default=1)


@struct
class ListOffsetsTopic:
    name: str = field(STRING)
    partitions: list[ListOffsetsPartition] = field(array(ListOffsetsPartition))


@message(ApiKey.LIST_OFFSETS, versions=(0, 11), flexible_since=6)
class ListOffsetsRequest:
    """Ask for an offset of each of some partitions by timestamp; negative timestamps have special meanings."""

    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, since=2)
    topics: list[ListOffsetsTopic] = field(array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, since=10)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    old_style_offsets: list[int] = field(array(INT64), until=0)
    timestamp: int = field(INT64, since=1, default=-1)
    offset: int = field(INT64, since=1, default=-1)
    leader_epoch: int = field(INT32, since=4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = field(STRING)
    partitions: list[ListOffsetsPartitionResponse] = field(array(ListOffsetsPartitionResponse))


@message(ApiKey.LIST_OFFSETS, versions=(0, 11), flexible_since=6)
class ListOffsetsResponse:
    """The offset found for each partition."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[ListOffsetsTopicResponse] = field(array(ListOffsetsTopicResponse))

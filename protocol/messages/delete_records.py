"""DeleteRecords: delete the records of a partition before an offset."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, STRING, array, field, message, struct


@struct
class DeleteRecordsPartition:
    partition_index: int = field(INT32)
    offset: int = field(INT64)


@struct
class DeleteRecordsTopic:
    name: str = field(STRING)
    partitions: list[DeleteRecordsPartition] = field(array(DeleteRecordsPartition))


@message(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible_since=2)
class DeleteRecordsRequest:
    """Delete the records before an offset in each of some partitions."""

    topics: list[DeleteRecordsTopic] = field(array(DeleteRecordsTopic))
    timeout_ms: int = field(INT32)


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = field(INT32)
    low_watermark: int = field(INT64)
    error_code: int = field(INT16)


@struct
class DeleteRecordsTopicResult:
    name: str = field(STRING)
    partitions: list[DeleteRecordsPartitionResult] = field(array(DeleteRecordsPartitionResult))


@message(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible_since=2)
class DeleteRecordsResponse:
    """The first offset each partition still has."""

    throttle_time_ms: int = field(INT32)
    topics: list[DeleteRecordsTopicResult] = field(array(DeleteRecordsTopicResult))

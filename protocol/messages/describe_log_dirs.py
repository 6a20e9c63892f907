"""DescribeLogDirs: the sizes of the partitions in each log directory."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, INT64, STRING, array, field, message, nullable_array, struct


@struct
class DescribableLogDirTopic:
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@message(ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 5), flexible_since=2)
class DescribeLogDirsRequest:
    """Ask for the log directories, of some topics or of all."""

    topics: list[DescribableLogDirTopic] | None = field(nullable_array(DescribableLogDirTopic))


@struct
class DescribeLogDirsPartition:
    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    is_future_key: bool = field(BOOL)


@struct
class DescribeLogDirsTopic:
    name: str = field(STRING)
    partitions: list[DescribeLogDirsPartition] = field(array(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult:
    error_code: int = field(INT16)
    log_dir: str = field(STRING)
    topics: list[DescribeLogDirsTopic] = field(array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, since=4, default=-1)
    usable_bytes: int = field(INT64, since=4, default=-1)
    is_cordoned: bool = field(BOOL, since=5)


@message(ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 5), flexible_since=2)
class DescribeLogDirsResponse:
    """The directories with their partitions."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, since=3)
    results: list[DescribeLogDirsResult] = field(array(DescribeLogDirsResult))

"""AlterReplicaLogDirs: move the logs of partitions to another directory of the broker."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, STRING, array, field, message, struct


@struct
class AlterReplicaLogDirTopic:
    name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@struct
class AlterReplicaLogDir:
    path: str = field(STRING)
    topics: list[AlterReplicaLogDirTopic] = field(array(AlterReplicaLogDirTopic))


@message(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible_since=2)
class AlterReplicaLogDirsRequest:
    """Move partitions to directories."""

    dirs: list[AlterReplicaLogDir] = field(array(AlterReplicaLogDir))


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: str = field(STRING)
    partitions: list[AlterReplicaLogDirPartitionResult] = field(array(AlterReplicaLogDirPartitionResult))


@message(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible_since=2)
class AlterReplicaLogDirsResponse:
    """The outcome for each partition."""

    throttle_time_ms: int = field(INT32)
    results: list[AlterReplicaLogDirTopicResult] = field(array(AlterReplicaLogDirTopicResult))

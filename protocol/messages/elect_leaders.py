"""ElectLeaders: make the preferred replica, or any live one, the leader of partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, nullable_array, struct


@struct
class TopicPartitions:
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@message(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible_since=2)
class ElectLeadersRequest:
    """Elect leaders of some partitions, or of all."""

    election_type: int = field(INT8, since=1)
    topic_partitions: list[TopicPartitions] | None = field(nullable_array(TopicPartitions))
    timeout_ms: int = field(INT32, default=60000)


@struct
class PartitionResult:
    partition_id: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)


@struct
class ReplicaElectionResult:
    topic: str = field(STRING)
    partition_result: list[PartitionResult] = field(array(PartitionResult))


@message(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible_since=2)
class ElectLeadersResponse:
    """The outcome for each partition."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, since=1)
    replica_election_results: list[ReplicaElectionResult] = field(array(ReplicaElectionResult))

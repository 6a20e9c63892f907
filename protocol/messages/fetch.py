"""Fetch: read records, waiting a limited time when there are none. Topics have ids instead of names from version 13."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    NULLABLE_STRING,
    RECORDS,
    STRING,
    UUID,
    array,
    field,
    message,
    nullable_array,
    struct,
    struct_of,
)


@struct
class ReplicaState:
    """The follower that fetches; -1 for a consumer."""

    replica_id: int = field(INT32, default=-1)
    replica_epoch: int = field(INT64, default=-1)


@struct
class FetchPartition:
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=9, default=-1)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, since=12, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: bytes = field(UUID, since=17, tag=0)
    high_watermark: int = field(INT64, since=18, tag=1, default=9223372036854775807)


@struct
class FetchTopic:
    topic: str = field(STRING, until=12)
    topic_id: bytes = field(UUID, since=13)
    partitions: list[FetchPartition] = field(array(FetchPartition))


@struct
class ForgottenTopic:
    """Partitions that a fetch session no longer reads (KIP-227)."""

    topic: str = field(STRING, until=12)
    topic_id: bytes = field(UUID, since=13)
    partitions: list[int] = field(array(INT32))


@message(ApiKey.FETCH, versions=(0, 18), flexible_since=12)
class FetchRequest:
    """Read from some partitions, within limits of time and size."""

    cluster_id: str | None = field(NULLABLE_STRING, since=12, tag=0, default=None)
    replica_id: int = field(INT32, until=14, default=-1)
    replica_state: ReplicaState = field(struct_of(ReplicaState), since=15, tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, since=3, default=2147483647)
    isolation_level: int = field(INT8, since=4)
    session_id: int = field(INT32, since=7)
    session_epoch: int = field(INT32, since=7, default=-1)
    topics: list[FetchTopic] = field(array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(array(ForgottenTopic), since=7)
    rack_id: str = field(STRING, since=11)


@struct
class EpochEndOffset:
    """The newest epoch common to both logs, and the offset of its end."""

    epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)


@struct
class LeaderIdAndEpoch:
    """The leader to which a client should send its requests."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


@struct
class SnapshotId:
    """The snapshot a follower should load instead."""

    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


@struct
class AbortedTransaction:
    """A transaction whose records a reader of committed data must skip."""

    producer_id: int = field(INT64)
    first_offset: int = field(INT64)


@struct
class PartitionData:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, since=4, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    diverging_epoch: EpochEndOffset = field(struct_of(EpochEndOffset), since=12, tag=0)
    current_leader: LeaderIdAndEpoch = field(struct_of(LeaderIdAndEpoch), since=12, tag=1)
    snapshot_id: SnapshotId = field(struct_of(SnapshotId), since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field(nullable_array(AbortedTransaction), since=4)
    preferred_read_replica: int = field(INT32, since=11, default=-1)
    records: bytes | None = field(RECORDS)


@struct
class FetchableTopicResponse:
    topic: str = field(STRING, until=12)
    topic_id: bytes = field(UUID, since=13)
    partitions: list[PartitionData] = field(array(PartitionData))


@struct
class NodeEndpoint:
    """The address of a node."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(NULLABLE_STRING, default=None)


@message(ApiKey.FETCH, versions=(0, 18), flexible_since=12)
class FetchResponse:
    """The batches found; the last of a partition may be cut off."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16, since=7)
    session_id: int = field(INT32, since=7)
    responses: list[FetchableTopicResponse] = field(array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), since=16, tag=0)

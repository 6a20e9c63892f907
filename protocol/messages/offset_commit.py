"""OffsetCommit: store the offsets that a group has read up to. Topics have ids instead of names from version 10 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, NULLABLE_STRING, STRING, UUID, array, field, message, struct


@struct
class OffsetCommitRequestPartition:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=6, default=-1)
    commit_timestamp: int = field(INT64, since=1, until=1, default=-1)  # v1 only
    committed_metadata: str | None = field(NULLABLE_STRING)


@struct
class OffsetCommitRequestTopic:
    name: str = field(STRING, until=9)
    topic_id: bytes = field(UUID, since=10)
    partitions: list[OffsetCommitRequestPartition] = field(array(OffsetCommitRequestPartition))


@message(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible_since=8)
class OffsetCommitRequest:
    """Commit offsets for a group, as a member of a generation or as a consumer that manages its own partitions."""

    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, since=1, default=-1)
    member_id: str = field(STRING, since=1)
    group_instance_id: str | None = field(NULLABLE_STRING, since=7, default=None)
    retention_time_ms: int = field(INT64, since=2, until=4, default=-1)  # -1: as configured in the server
    topics: list[OffsetCommitRequestTopic] = field(array(OffsetCommitRequestTopic))


@struct
class OffsetCommitResponsePartition:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class OffsetCommitResponseTopic:
    name: str = field(STRING, until=9)
    topic_id: bytes = field(UUID, since=10)
    partitions: list[OffsetCommitResponsePartition] = field(array(OffsetCommitResponsePartition))


@message(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible_since=8)
class OffsetCommitResponse:
    """The outcome for each partition."""

    throttle_time_ms: int = field(INT32, since=3)
    topics: list[OffsetCommitResponseTopic] = field(array(OffsetCommitResponseTopic))

"""TxnOffsetCommit: commit offsets of a group as part of a transaction. Topics have ids instead of names from 6 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, NULLABLE_STRING, STRING, UUID, array, field, message, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=2, default=-1)
    committed_metadata: str | None = field(NULLABLE_STRING)


@struct
class TxnOffsetCommitRequestTopic:
    name: str = field(STRING, until=5)
    topic_id: bytes = field(UUID, since=6)
    partitions: list[TxnOffsetCommitRequestPartition] = field(array(TxnOffsetCommitRequestPartition))


@message(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 6), flexible_since=3)
class TxnOffsetCommitRequest:
    """Commit offsets that become visible with the transaction."""

    transactional_id: str = field(STRING)
    group_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    generation_id: int = field(INT32, since=3, default=-1)
    member_id: str = field(STRING, since=3)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field(array(TxnOffsetCommitRequestTopic))


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class TxnOffsetCommitResponseTopic:
    name: str = field(STRING, until=5)
    topic_id: bytes = field(UUID, since=6)
    partitions: list[TxnOffsetCommitResponsePartition] = field(array(TxnOffsetCommitResponsePartition))


@message(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 6), flexible_since=3)
class TxnOffsetCommitResponse:
    """The outcome for each partition."""

    throttle_time_ms: int = field(INT32)
    topics: list[TxnOffsetCommitResponseTopic] = field(array(TxnOffsetCommitResponseTopic))

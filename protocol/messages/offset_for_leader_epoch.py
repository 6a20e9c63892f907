"""OffsetForLeaderEpoch: the end of a leader epoch, by which a client detects that the log was truncated."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, STRING, array, field, message, struct


@struct
class OffsetForLeaderPartition:
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=2, default=-1)
    leader_epoch: int = field(INT32)


@struct
class OffsetForLeaderTopic:
    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartition] = field(array(OffsetForLeaderPartition))


@message(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible_since=4)
class OffsetForLeaderEpochRequest:
    """Ask for the end of an epoch in each of some partitions."""

    replica_id: int = field(INT32, since=3, default=-2)
    topics: list[OffsetForLeaderTopic] = field(array(OffsetForLeaderTopic))


@struct
class EpochEndOffset:
    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, since=1, default=-1)
    end_offset: int = field(INT64, default=-1)


@struct
class OffsetForLeaderTopicResult:
    topic: str = field(STRING)
    partitions: list[EpochEndOffset] = field(array(EpochEndOffset))


@message(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible_since=4)
class OffsetForLeaderEpochResponse:
    """The end of the epoch in each partition."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[OffsetForLeaderTopicResult] = field(array(OffsetForLeaderTopicResult))

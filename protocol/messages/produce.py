"""Produce: write records to partitions. With acks = 0 there is no response."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
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
    struct,
    struct_of,
)


@struct
class PartitionProduceData:
    index: int = field(INT32)
    records: bytes | None = field(RECORDS)


@struct
class TopicProduceData:
    name: str = field(STRING, until=12)
    topic_id: bytes = field(UUID, since=13)
    partition_data: list[PartitionProduceData] = field(array(PartitionProduceData))


@message(ApiKey.PRODUCE, versions=(0, 13), flexible_since=9)
class ProduceRequest:
    """Append one record batch to each of some partitions."""

    transactional_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    acks: int = field(INT16)
    timeout_ms: int = field(INT32)
    topic_data: list[TopicProduceData] = field(array(TopicProduceData))


@struct
class BatchIndexAndErrorMessage:
    batch_index: int = field(INT32)
    batch_index_error_message: str | None = field(NULLABLE_STRING, default=None)


@struct
class LeaderIdAndEpoch:
    """The leader to which a client should send its requests."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


@struct
class PartitionProduceResponse:
    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    log_append_time_ms: int = field(INT64, since=2, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = field(array(BatchIndexAndErrorMessage), since=8)
    error_message: str | None = field(NULLABLE_STRING, since=8, default=None)
    current_leader: LeaderIdAndEpoch = field(struct_of(LeaderIdAndEpoch), since=10, tag=0)


@struct
class TopicProduceResponse:
    name: str = field(STRING, until=12)
    topic_id: bytes = field(UUID, since=13)
    partition_responses: list[PartitionProduceResponse] = field(array(PartitionProduceResponse))


@struct
class NodeEndpoint:
    """The address of a node."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(NULLABLE_STRING, default=None)


@message(ApiKey.PRODUCE, versions=(0, 13), flexible_since=9)
class ProduceResponse:
    """The base offset of each batch, or the error."""

    responses: list[TopicProduceResponse] = field(array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, since=1)
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), since=10, tag=0)

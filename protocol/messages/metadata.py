"""Metadata: the nodes of the cluster, and the leaders of partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, NULLABLE_STRING, STRING, UUID, array, field, message, struct


@struct
class MetadataRequestTopic:
    topic_id: bytes = field(UUID, since=10)
    name: str | None = field(STRING, nullable_since=10)


@message(ApiKey.METADATA, versions=(0, 13), flexible_since=9)
class MetadataRequest:
    """Ask about some topics; an empty list means all in version 0 and none later, where null means all."""

    topics: list[MetadataRequestTopic] | None = field(
        array(MetadataRequestTopic), nullable_since=1
    )  # v0: empty means all; later null does
    allow_auto_topic_creation: bool = field(BOOL, since=4, default=True)
    include_cluster_authorized_operations: bool = field(BOOL, since=8, until=10)
    include_topic_authorized_operations: bool = field(BOOL, since=8)


@struct
class MetadataResponseBroker:
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(NULLABLE_STRING, since=1, default=None)


@struct
class MetadataResponsePartition:
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, since=7, default=-1)
    replica_nodes: list[int] = field(array(INT32))
    isr_nodes: list[int] = field(array(INT32))
    offline_replicas: list[int] = field(array(INT32), since=5)


@struct
class MetadataResponseTopic:
    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable_since=12)
    topic_id: bytes = field(UUID, since=10)
    is_internal: bool = field(BOOL, since=1)
    partitions: list[MetadataResponsePartition] = field(array(MetadataResponsePartition))
    topic_authorized_operations: int = field(INT32, since=8, default=-2147483648)


@message(ApiKey.METADATA, versions=(0, 13), flexible_since=9)
class MetadataResponse:
    """Nodes, topics and partitions."""

    throttle_time_ms: int = field(INT32, since=3)
    brokers: list[MetadataResponseBroker] = field(array(MetadataResponseBroker))
    cluster_id: str | None = field(NULLABLE_STRING, since=2, default=None)
    controller_id: int = field(INT32, since=1, default=-1)
    topics: list[MetadataResponseTopic] = field(array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(INT32, since=8, until=10, default=-2147483648)
    error_code: int = field(INT16, since=13)

"""DescribeCluster: the nodes of the cluster and its controller."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible_since=0)
class DescribeClusterRequest:
    """Ask for the nodes."""

    include_cluster_authorized_operations: bool = field(BOOL)
    endpoint_type: int = field(INT8, since=1, default=1)
    include_fenced_brokers: bool = field(BOOL, since=2)


@struct
class DescribeClusterBroker:
    broker_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(NULLABLE_STRING, default=None)
    is_fenced: bool = field(BOOL, since=2)


@message(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible_since=0)
class DescribeClusterResponse:
    """The nodes, the controller and the id of the cluster."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    endpoint_type: int = field(INT8, since=1, default=1)
    cluster_id: str = field(STRING)
    controller_id: int = field(INT32, default=-1)
    brokers: list[DescribeClusterBroker] = field(array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(INT32, default=-2147483648)

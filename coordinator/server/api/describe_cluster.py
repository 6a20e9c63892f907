"""DescribeCluster (key 60): all nodes, up or not, and the controller among them.

From version 2 on a client may ask for fenced brokers as well. No node is ever fenced here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.describe import ALL_CLUSTER_OPERATIONS, NOT_ASKED
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(node: Node, request: DescribeClusterRequest, ticket: Ticket, now_ms: int) -> None:
    response = DescribeClusterResponse(endpoint_type=request.endpoint_type, cluster_id=node.cluster_id)
    if request.endpoint_type == BROKERS:
        response.controller_id = node.cluster.controller.id
        response.brokers = [
            DescribeClusterBroker(broker_id=each.id, host=each.host, port=each.port)
            for each in map(node.seen_by(ticket), node.cluster.nodes.values())
        ]
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS
        else:
            response.cluster_authorized_operations = NOT_ASKED
    elif request.endpoint_type == CONTROLLERS:
        response.error_code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        response.error_message = "this is the endpoint of a broker, not of a controller"
    else:
        response.error_code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        response.error_message = f"there are no endpoints of type {request.endpoint_type}"
    node.reply(ticket, response)


API = Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, handle, does="All nodes, up or not; none is fenced.")

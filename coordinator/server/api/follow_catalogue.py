"""FollowCatalogue, a request of this package between nodes: compare the facts of both, then return the catalogue.

If the facts differ, the answer is a sentence that names the difference, and no catalogue. This node logs the sentence
once as well, so that it is in the logs of both nodes. The catalogue: `coordinator.core.topics.feed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.cluster import ClusterIdentity, ClusterNode, why_different
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: FollowCatalogueRequest, ticket: Ticket, now_ms: int) -> None:
    cluster = node.cluster
    if not node.is_node(ticket):
        stranger = (
            f"{ticket.session.principal} is no node of the cluster for node {cluster.node_id}; add it to super.users "
            "there, if it is one"
        )
        node.node_checked(-1, stranger)
        node.reply(ticket, _refusal(node, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, stranger))
        return
    theirs = ClusterIdentity(
        request.cluster_id,
        tuple(ClusterNode(each.node_id, each.host, each.port) for each in request.nodes),
        request.offsets_partitions,
        request.transaction_partitions,
    )
    me, who = f"node {cluster.node_id}", f"node {request.node_id}"
    reason = why_different(node.identity, theirs, (me, who))
    if reason is None and request.asked_node_id != cluster.node_id:
        reason = f"node {request.asked_node_id} was asked, but this is {me}"
    if reason is None and request.node_id == cluster.node_id:
        reason = f"{who} runs already"
    if reason is None and request.node_id not in cluster.nodes:
        reason = f"{who} is not in cluster.nodes"
    node.node_checked(request.node_id, reason)
    if reason is None:
        node.execute_topics(node.topics.follow(request, ticket, now_ms))
        return
    node.reply(ticket, _refusal(node, ErrorCode.INCONSISTENT_CLUSTER_ID, reason))


def _refusal(node: Node, error: ErrorCode, reason: str) -> FollowCatalogueResponse:
    return FollowCatalogueResponse(error_code=error, error_message=reason, node_id=node.cluster.node_id, revision=-1)


API = Api(
    ApiKey.FOLLOW_CATALOGUE,
    0,
    0,
    handle,
    max_elements=2_000,
    section=Section.OTHERS,
    does="Between the nodes of a cluster; not advertised to clients.",
)

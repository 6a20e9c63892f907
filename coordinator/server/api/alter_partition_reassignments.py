"""AlterPartitionReassignments (key 45), versions 0 and 1. Version 0 may always change the replication factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.placement import alter_partition_reassignments
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: AlterPartitionReassignmentsRequest, ticket: Ticket, now_ms: int) -> None:
    response = AlterPartitionReassignmentsResponse()
    steps = alter_partition_reassignments(request, node.topics.catalogue, node.cluster, response)
    answer_in_steps(node, ticket, response, steps)


API = Api(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    0,
    1,
    handle,
    max_elements=12_000,
    chunked=((0, Array("responses", is_owned=True, of=Array("partitions", is_owned=True))),),
    amplifies=True,
    does="Partitions stay where they are; to name the node that a partition is on changes nothing and succeeds.",
    refuses=(
        "Any other node, and more than one: INVALID_REPLICA_ASSIGNMENT; more than one, where the number of replicas "
        "must not change: INVALID_REPLICATION_FACTOR. To cancel: NO_REASSIGNMENT_IN_PROGRESS."
    ),
)

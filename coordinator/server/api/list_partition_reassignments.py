"""ListPartitionReassignments (key 46), version 0: the list is empty, because partitions stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ListPartitionReassignmentsRequest, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, ListPartitionReassignmentsResponse(error_message=None))


API = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    0,
    0,
    handle,
    max_elements=12_000,
    does="There are none: the list is empty.",
)

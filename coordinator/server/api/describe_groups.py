"""DescribeGroups (key 15), handled by `coordinator.core.group.describe`.

An unknown group is an error from 6 on (KIP-1043); before, it is a group in state Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.group.describe import DescribeGroups
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.describe_groups import DescribeGroupsRequest

FIRST_WITH_OPERATIONS: Final = 3  # four bytes behind the members
FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 6


def handle(node: Node, request: DescribeGroupsRequest, ticket: Ticket, now_ms: int) -> None:
    command = DescribeGroups(request, ticket.version >= FIRST_WITH_GROUP_ID_NOT_FOUND)
    node.execute(node.core.handle(command, ticket, now_ms))


API = Api(
    ApiKey.DESCRIBE_GROUPS,
    0,
    6,
    handle,
    max_elements=50_000,
    chunked=(
        (0, Array("groups", of=Array("members", long_field="member_metadata"))),
        (FIRST_WITH_OPERATIONS, Array("groups", of=Array("members", tail_bytes=4, long_field="member_metadata"))),
    ),
    amplifies=True,
    section=Section.GROUPS,
    does="Classic groups. One of the consumer protocol is answered as a group that is not there, as in Kafka.",
)

"""DescribeOwners, a request of this package: who owned which partitions of a group in its newest generations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.owners import encode
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_owners import DescribeOwnersRequest, DescribeOwnersResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeOwnersRequest, ticket: Ticket, now_ms: int) -> None:
    error = node.core.refusal(request.group_id)
    owners = encode(node.core.owners(request.group_id, now_ms)) if error is ErrorCode.NONE else None
    node.reply(ticket, DescribeOwnersResponse(error_code=int(error), owners=owners))


API = Api(
    ApiKey.DESCRIBE_OWNERS,
    0,
    0,
    handle,
    amplifies=True,
    section=Section.OTHERS,
    does="For the console; not advertised to clients.",
)

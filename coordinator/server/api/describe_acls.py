"""DescribeAcls (key 29), versions 1 to 3 (KIP-140, KIP-290): the access rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.security.acl.changes import describe, is_request
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.server.api.steps import answer_in_steps
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

NO_AUTHORIZER = "No Authorizer is configured on the broker"  # another text than that of the other two, as in Kafka


def handle(node: Node, request: DescribeAclsRequest, ticket: Ticket, now_ms: int) -> None:
    if not is_request(request):
        node.disconnect(
            ticket, "DescribeAcls with the number 0, which no operation, permission or kind of resource has"
        )
    elif node.acls is None:
        node.reply(ticket, DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
    else:
        response = DescribeAclsResponse(error_message="")
        answer_in_steps(node, ticket, response, describe(request, node.acls.content, response))


API = Api(
    ApiKey.DESCRIBE_ACLS,
    1,
    3,
    handle,
    chunked=((0, Array("resources", is_owned=True, of=Array("acls", is_owned=True))),),
    amplifies=True,
    section=Section.OTHERS,
    does="The access rules that match a filter.",
    refuses="Without `authorizer.class.name`: SECURITY_DISABLED.",
)

"""DeleteAcls (key 31), versions 1 to 3 (KIP-140, KIP-290). Answers when the access rules are durable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from coordinator.security.acl.changes import NO_AUTHORIZER, delete, is_request, refuse_deletions
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.storage.documents.store import DocumentChange
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_acls import DeleteAclsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DeleteAclsRequest, ticket: Ticket, now_ms: int) -> None:
    if not is_request(request):
        node.disconnect(ticket, "DeleteAcls with the number 0, which no operation, permission or kind of resource has")
    elif node.acls is None:
        node.reply(ticket, refuse_deletions(request, *NO_AUTHORIZER))
    elif node.acls.is_followed:
        node.ask_controller(request, ticket)
    else:
        node.acls.change(
            DocumentChange(
                partial(delete, request), partial(refuse_deletions, request, ErrorCode.KAFKA_STORAGE_ERROR), ticket
            )
        )


API = Api(
    ApiKey.DELETE_ACLS,
    1,
    3,
    handle,
    max_elements=1_000,
    chunked=((0, Array("filter_results", is_owned=True, of=Array("matching_acls", is_owned=True))),),
    amplifies=True,
    section=Section.OTHERS,
    does="Removes access rules, for all nodes.",
    refuses=(
        "Without `authorizer.class.name`: SECURITY_DISABLED. More than 10,000 matches: INVALID_REQUEST. If the rules "
        "cannot be written: KAFKA_STORAGE_ERROR."
    ),
)

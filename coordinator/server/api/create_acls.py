"""CreateAcls (key 30), versions 1 to 3 (KIP-140, KIP-290). Answers when the access rules are durable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from coordinator.security.acl.changes import NO_AUTHORIZER, create, is_request, refuse_creations
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.storage.documents.store import DocumentChange
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import CreateAclsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: CreateAclsRequest, ticket: Ticket, now_ms: int) -> None:
    if not is_request(request):
        node.disconnect(ticket, "CreateAcls with the number 0, which no operation, permission or kind of resource has")
    elif node.acls is None:
        node.reply(ticket, refuse_creations(request, *NO_AUTHORIZER))
    elif node.acls.is_followed:
        node.ask_controller(request, ticket)
    else:
        node.acls.change(
            DocumentChange(
                partial(create, request, node.config.max_acls),
                partial(refuse_creations, request, ErrorCode.KAFKA_STORAGE_ERROR),
                ticket,
            )
        )


API = Api(
    ApiKey.CREATE_ACLS,
    1,
    3,
    handle,
    max_elements=10_000,
    chunked=((0, Array("results")),),
    section=Section.OTHERS,
    does="Adds access rules, for all nodes.",
    refuses=(
        "Without `authorizer.class.name`: SECURITY_DISABLED. Beyond `max.acls`: POLICY_VIOLATION. A name, principal or "
        "host of more than 1,024 characters: INVALID_REQUEST. If the rules cannot be written: KAFKA_STORAGE_ERROR."
    ),
)

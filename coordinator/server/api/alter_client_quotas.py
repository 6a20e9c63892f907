"""AlterClientQuotas (key 49), versions 0 to 1 (KIP-546). Answers when the quotas are durable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from coordinator.security.quotas.changes import MAX_ENTITIES, alter, refuse
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.storage.documents.store import DocumentChange
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: AlterClientQuotasRequest, ticket: Ticket, now_ms: int) -> None:
    if node.quota_store.is_followed:
        node.ask_controller(request, ticket)
        return
    node.quota_store.change(
        DocumentChange(
            partial(alter, request, MAX_ENTITIES), partial(refuse, request, ErrorCode.KAFKA_STORAGE_ERROR), ticket
        )
    )


API = Api(
    ApiKey.ALTER_CLIENT_QUOTAS,
    0,
    1,
    handle,
    max_elements=2_000,
    chunked=((0, Array("entries")),),
    section=Section.OTHERS,
    does="Sets and removes quotas, for all nodes. `request_rate` is ours: requests per second.",
    refuses=(
        f"Beyond {MAX_ENTITIES:,} entities: POLICY_VIOLATION. Names of more than 1,024 characters, and names of hosts "
        "as `ip`: INVALID_REQUEST. If the quotas cannot be written: KAFKA_STORAGE_ERROR."
    ),
)

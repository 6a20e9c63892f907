"""AlterUserScramCredentials (key 51), version 0 (KIP-554). Answers when the users are durable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from coordinator.security.scram_changes import alter, refuse
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api, Section
from coordinator.storage.documents.store import DocumentChange
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: AlterUserScramCredentialsRequest, ticket: Ticket, now_ms: int) -> None:
    if node.users.is_followed:
        node.ask_controller(request, ticket)
        return
    node.users.change(
        DocumentChange(
            partial(alter, request, node.config.max_users),
            partial(refuse, request, ErrorCode.KAFKA_STORAGE_ERROR),
            ticket,
        )
    )


API = Api(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    0,
    0,
    handle,
    max_elements=1_000,
    chunked=((0, Array("results")),),
    section=Section.OTHERS,
    does="Sets and removes the passwords of users, for all nodes.",
    refuses=(
        "Beyond `max.users`, a name of more than 1,024 characters, a salt of more than 1,024 bytes: "
        "UNACCEPTABLE_CREDENTIAL. If the users cannot be written: KAFKA_STORAGE_ERROR."
    ),
)

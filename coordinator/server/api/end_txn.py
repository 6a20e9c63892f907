"""EndTxn (key 26): commits or aborts a transaction. From version 5 on the answer has the producer of the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.transactions.commands import EndTxn
from coordinator.server.api.add_partitions_to_txn import FENCED_SINCE
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

RAISES_EPOCH_SINCE: Final = 5


def handle(node: Node, request: EndTxnRequest, ticket: Ticket, now_ms: int) -> None:
    if node.transactions is None:
        node.reply(ticket, EndTxnResponse(error_code=int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)))
        return
    node.transactions.handle(EndTxn(request, ticket.version >= RAISES_EPOCH_SINCE), ticket)


def shape(response: EndTxnResponse, version: int) -> EndTxnResponse:
    if version < FENCED_SINCE and response.error_code == ErrorCode.PRODUCER_FENCED:
        response.error_code = int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return response


API = Api(
    ApiKey.END_TXN,
    0,
    5,
    handle,
    shape,
    does="Answered when the markers are written, so that a reader sees the outcome.",
)

"""AddOffsetsToTxn (key 25): the partition of the offsets log of a group becomes part of a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.transactions.commands import AddToTransaction
from coordinator.server.api.add_partitions_to_txn import FENCED_SINCE
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: AddOffsetsToTxnRequest, ticket: Ticket, now_ms: int) -> None:
    if node.transactions is None:
        node.reply(ticket, _answer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    partition = OFFSETS_TOPIC, node.core.partition_for(request.group_id)
    command = AddToTransaction(
        request.transactional_id, request.producer_id, request.producer_epoch, frozenset({partition}), 0, _answer
    )
    node.transactions.handle(command, ticket)


def _answer(error: ErrorCode) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=int(error))


def shape(response: AddOffsetsToTxnResponse, version: int) -> AddOffsetsToTxnResponse:
    if version < FENCED_SINCE and response.error_code == ErrorCode.PRODUCER_FENCED:
        response.error_code = int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return response


API = Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, handle, shape, section=Section.GROUPS)

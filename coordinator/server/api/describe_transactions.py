"""DescribeTransactions (key 65): state, producer and partitions of transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: DescribeTransactionsRequest, ticket: Ticket, now_ms: int) -> None:
    if node.transactions is not None:
        node.transactions.handle(request, ticket)
        return
    error = int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    unknown = [TransactionState(error, transactional_id) for transactional_id in request.transactional_ids]
    node.reply(ticket, DescribeTransactionsResponse(transaction_states=unknown))


API = Api(
    ApiKey.DESCRIBE_TRANSACTIONS,
    0,
    0,
    handle,
    max_elements=5_000,
    chunked=((0, Array("transaction_states")),),
    amplifies=True,
)

"""ListTransactions (key 66): the transactional ids of this node, by state, producer, age or a pattern of RE2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coordinator.core.consumer_group.regex import InvalidRegularExpressionError, compile_regex
from coordinator.server.api.chunked_responses import Array
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ListTransactionsRequest, ticket: Ticket, now_ms: int) -> None:
    transactions, pattern = node.transactions, None
    if request.transactional_id_pattern:
        try:
            pattern = compile_regex(request.transactional_id_pattern)
        except InvalidRegularExpressionError:
            node.reply(ticket, ListTransactionsResponse(error_code=int(ErrorCode.INVALID_REGULAR_EXPRESSION)))
            return
    if transactions is None:
        node.reply(ticket, ListTransactionsResponse())
        return

    def steps(later_ms: int) -> Iterator[None]:
        response = yield from transactions.core.listing(request, later_ms, pattern)
        node.answer_later(ticket, response)

    transactions.listing(steps, ticket)


API = Api(
    ApiKey.LIST_TRANSACTIONS,
    0,
    2,
    handle,
    max_elements=12_000,
    chunked=((0, Array("transaction_states")),),
    amplifies=True,
)

"""ListOpenTransactions, a request of this package: the oldest open transactions of a node, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.transactions.open_rows import encode, open_rows
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey
from protocol.messages.list_open_transactions import ListOpenTransactionsRequest, ListOpenTransactionsResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node


def handle(node: Node, request: ListOpenTransactionsRequest, ticket: Ticket, now_ms: int) -> None:
    answer = ListOpenTransactionsResponse()
    if node.transactions is not None:
        opened = node.transactions.core.open
        answer.total, answer.oldest = len(opened), encode(open_rows(opened))
    node.reply(ticket, answer)


API = Api(
    ApiKey.LIST_OPEN_TRANSACTIONS,
    0,
    0,
    handle,
    amplifies=True,
    section=Section.OTHERS,
    does="For the console; not advertised to clients.",
)

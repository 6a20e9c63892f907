"""AddPartitionsToTxn (key 24): partitions become part of a transaction.

A client (versions 0 to 3) adds partitions of one transaction: if one cannot be added, none is. Another node (from 4 on)
adds or verifies partitions that it leads, of many transactions in one request.
Source: `KafkaApis.handleAddPartitionsToTxnRequest`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.names import is_internal
from coordinator.core.transactions.add_partitions import command_of, partitions_of, topic_results
from coordinator.core.transactions.commands import AddToTransaction
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.transactions.metadata import TopicPartition
    from coordinator.server.api.node import Node

FENCED_SINCE: Final = 2  # before, PRODUCER_FENCED was not known
OF_NODES_SINCE: Final = 4


def handle(node: Node, request: AddPartitionsToTxnRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version >= OF_NODES_SINCE:
        _handle_of_node(node, request, ticket)
        return
    topics = request.v3_and_below_topics
    partitions = partitions_of(topics)

    def respond(errors: dict[TopicPartition, ErrorCode]) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topic_results(topics, errors))

    refused = {each: error for each in partitions if (error := _refusal(node, each)) is not ErrorCode.NONE}
    if refused:
        others = dict.fromkeys(partitions - refused.keys(), ErrorCode.OPERATION_NOT_ATTEMPTED)
        node.reply(ticket, respond(refused | others))
        return
    if node.transactions is None:
        node.reply(ticket, respond(dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)))
        return
    command = AddToTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        partitions,
        0,
        lambda error: respond(dict.fromkeys(partitions, error)),
    )
    node.transactions.handle(command, ticket)


def _handle_of_node(node: Node, request: AddPartitionsToTxnRequest, ticket: Ticket) -> None:
    """Handle a request of another node, of which each transaction has an answer of its own."""
    transactions = node.transactions
    if transactions is None or not request.transactions:
        error = ErrorCode.NONE if transactions is not None else ErrorCode.COORDINATOR_NOT_AVAILABLE
        node.reply(ticket, AddPartitionsToTxnResponse(error_code=int(error)))
        return
    results: dict[int, AddPartitionsToTxnResult] = {}

    def answered(number: int, response: AddPartitionsToTxnResponse | None) -> None:
        if response is None:
            ticket.session.close("the lease of this node ended while partitions were verified")
            return
        (results[number],) = response.results_by_transaction
        if len(results) == len(request.transactions):
            in_order = [results[each] for each in range(len(results))]
            node.reply(ticket, AddPartitionsToTxnResponse(results_by_transaction=in_order))

    for number, transaction in enumerate(request.transactions):
        transactions.handle(command_of(transaction), node.inner_ticket(partial(answered, number)))


def _refusal(node: Node, partition: TopicPartition) -> ErrorCode:
    if is_internal(partition[0]):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if node.topics.partition_exists(*partition) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def shape(response: AddPartitionsToTxnResponse, version: int) -> AddPartitionsToTxnResponse:
    if version < FENCED_SINCE:
        for topic in response.results_by_topic_v3_and_below:
            for result in topic.results_by_partition:
                if result.partition_error_code == ErrorCode.PRODUCER_FENCED:
                    result.partition_error_code = int(ErrorCode.INVALID_PRODUCER_EPOCH)
    return response


API = Api(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    0,
    5,
    handle,
    shape,
    max_elements=12_000,
    does="From version 4 on between nodes: adds or verifies partitions of many transactions.",
    refuses="An internal topic: TOPIC_AUTHORIZATION_FAILED.",
)

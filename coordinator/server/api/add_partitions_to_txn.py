"""AddPartitionsToTxn (key 24): versions 0 to 3, those of clients.

If one partition cannot be added, none is. Source: `KafkaApis.handleAddPartitionsToTxnRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.names import is_internal
from coordinator.core.transactions.add_partitions import partitions_of, topic_results
from coordinator.core.transactions.commands import AddToTransaction
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.transactions.metadata import TopicPartition
    from coordinator.server.api.node import Node

FENCED_SINCE = 2  # before, PRODUCER_FENCED was not known


def handle(node: Node, request: AddPartitionsToTxnRequest, ticket: Ticket, now_ms: int) -> None:
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
    3,
    handle,
    shape,
    max_elements=12_000,
    does="Versions 4 and 5 are for brokers.",
    refuses="An internal topic: TOPIC_AUTHORIZATION_FAILED.",
)

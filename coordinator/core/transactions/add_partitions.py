"""AddPartitionsToTxn (key 24): its messages, and the commands of the transaction coordinator.

A client adds partitions of one transaction (versions 0 to 3). A broker adds or verifies those of several (from 4 on):
so does a partition of this node before it takes records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from coordinator.core.transactions.commands import AddToTransaction, VerifyPartitions
from coordinator.core.transactions.metadata import EPOCH_BUMPS
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from coordinator.core.transactions.metadata import TopicPartition


def partitions_of(topics: Iterable[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    """Return the partitions that are named."""
    return frozenset((topic.name, partition) for topic in topics for partition in topic.partitions)


def topic_results(
    topics: Iterable[AddPartitionsToTxnTopic], errors: Mapping[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    """Return the results of the partitions, in the order of the request."""
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(partition, int(errors[topic.name, partition]))
                for partition in topic.partitions
            ],
        )
        for topic in topics
    ]


def command_of(transaction: AddPartitionsToTxnTransaction) -> AddToTransaction | VerifyPartitions:
    """Return the command for one transaction of a request of a broker. Its answer has the result of this one."""
    partitions = partitions_of(transaction.topics)

    def answer(errors: Mapping[TopicPartition, ErrorCode]) -> AddPartitionsToTxnResponse:
        result = AddPartitionsToTxnResult(transaction.transactional_id, topic_results(transaction.topics, errors))
        return AddPartitionsToTxnResponse(results_by_transaction=[result])

    producer = transaction.transactional_id, transaction.producer_id, transaction.producer_epoch
    if transaction.verify_only:
        return VerifyPartitions(*producer, partitions, answer)
    return AddToTransaction(*producer, partitions, EPOCH_BUMPS, lambda error: answer(dict.fromkeys(partitions, error)))

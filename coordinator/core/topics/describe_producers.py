"""DescribeProducers: the producers that a partition remembers, and where their open transactions begin.

A producer that was dropped for others while its transaction is open is listed with what is left of it, because it still
holds the last stable offset. A partition may be named once only, so that the response is bounded by max.producers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.partition import Partition

_UNKNOWN: Final = -1


def describe_producers(request: DescribeProducersRequest, catalogue: Catalogue) -> DescribeProducersResponse:
    """Return the response to one request."""
    response = DescribeProducersResponse()
    times = Counter((topic.name, index) for topic in request.topics for index in topic.partition_indexes)
    for topic in request.topics:
        results: list[PartitionResponse] = []
        response.topics.append(TopicResponse(name=topic.name, partitions=results))
        for index in topic.partition_indexes:
            result = PartitionResponse(partition_index=index)
            results.append(result)
            partition = catalogue.partition(topic.name, index)
            if times[topic.name, index] > 1:
                result.error_code = ErrorCode.INVALID_REQUEST
                result.error_message = "the partition is in the request more than once"
            elif partition is None:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif not partition.is_local:
                result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif partition.is_offline:
                result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            else:
                result.active_producers = _active_producers(partition)
    return response


def _active_producers(partition: Partition) -> list[ProducerState]:
    ongoing = {} if partition.transactions is None else dict(partition.transactions.ongoing)
    found = []
    for producer in partition.sequences.active():
        transaction = ongoing.pop(producer.producer_id, None)
        found.append(
            ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=_UNKNOWN if transaction is None else transaction.first_offset,
            )
        )
    for producer_id, transaction in ongoing.items():
        found.append(
            ProducerState(
                producer_id=producer_id,
                producer_epoch=transaction.epoch,
                coordinator_epoch=_UNKNOWN,
                current_txn_start_offset=transaction.first_offset,
            )
        )
    return found

"""Records of a transaction that is aborted: an application that processes one of them reads uncommitted records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from coordinator.testing.errors import CoordinatorTestingError
from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch

if TYPE_CHECKING:
    from coordinator.testing.host import ServerHost
    from coordinator.torture.watch import TopicPartition

TRANSACTIONAL_ID: Final = "torture-aborted"
TIMEOUT_MS: Final = 10_000


async def append_aborted(host: ServerHost, partitions: Iterable[TopicPartition], values: Sequence[str]) -> None:
    """Append values to each partition in a transaction, and abort it. Raises CoordinatorTestingError."""
    producer = await host.call(
        InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=TIMEOUT_MS)
    )
    _check(producer.error_code)
    batch = bytes(
        build_batch(
            [(None, value.encode()) for value in values],
            timestamp_ms=time.time_ns() // 1_000_000,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
    )
    for topic, partition in partitions:
        topic_id = host.runtime.topics.catalogue.topics[topic].topic_id
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=TRANSACTIONAL_ID,
            acks=-1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])],
        )
        _check((await host.call(request)).responses[0].partition_responses[0].error_code)
    end = EndTxnRequest(TRANSACTIONAL_ID, producer.producer_id, producer.producer_epoch, committed=False)
    _check((await host.call(end)).error_code)


def _check(error_code: int) -> None:
    if error_code:
        raise CoordinatorTestingError(f"no transaction can be aborted: {ErrorCode(error_code).name}")

"""A transaction coordinator in a few lines, and short helpers for tests of transactions in the embedded topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coordinator.core.effects import Ticket
from coordinator.server.api.handler import Api
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from protocol.messages.produce import PartitionProduceResponse
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.support.topics_wire import batch, produced, send_batch
from tests.support.topics_world import TopicsWorld


def _write_txn_markers(node: Any, request: WriteTxnMarkersRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute_topics(
        node.topics.write_txn_markers(request, ticket, now_ms, wall_ms=getattr(node, "wall_ms", now_ms))
    )


MARKERS = Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, _write_txn_markers)


@dataclass
class FakeTransactionCoordinator:
    """Answers the verification of partitions; `partitions` are those in the transaction of one transactional id."""

    producer_id: int = 7
    epoch: int = 0
    partitions: set[tuple[str, int]] = field(default_factory=set)
    error: ErrorCode = ErrorCode.NONE  # of all partitions
    top_error: ErrorCode = ErrorCode.NONE
    asked: list[AddPartitionsToTxnRequest] = field(default_factory=list)

    def verify(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        self.asked.append(request)
        if self.top_error is not ErrorCode.NONE:
            return AddPartitionsToTxnResponse(error_code=self.top_error)
        [transaction] = request.transactions
        topics = []
        for topic in transaction.topics:
            results = []
            for index in topic.partitions:
                error = self.error
                if transaction.producer_id != self.producer_id:
                    error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
                elif transaction.producer_epoch != self.epoch:
                    error = ErrorCode.PRODUCER_FENCED
                elif not transaction.verify_only and error is ErrorCode.NONE:
                    self.partitions.add((topic.name, index))
                elif error is ErrorCode.NONE and (topic.name, index) not in self.partitions:
                    error = ErrorCode.INVALID_TXN_STATE
                results.append(AddPartitionsToTxnPartitionResult(index, error))
            topics.append(AddPartitionsToTxnTopicResult(topic.name, results))
        return AddPartitionsToTxnResponse(
            results_by_transaction=[AddPartitionsToTxnResult(transaction.transactional_id, topics)]
        )


def transactional_world(**about: Any) -> tuple[TopicsWorld, FakeTransactionCoordinator]:
    """Return a world with the topic "orders" of two partitions, and its transaction coordinator."""
    world = TopicsWorld(**about)
    world.topics.serves_transactions = True
    coordinator = FakeTransactionCoordinator()
    world.verify = coordinator.verify
    world.create("orders", 2)
    return world, coordinator


def send_transactional(
    world: TopicsWorld,
    sequence: int,
    *values: bytes,
    producer: int = 7,
    epoch: int = 0,
    version: int = 9,
    partition: int = 0,
    transactional_id: str | None = "tx",
    acks: int = -1,
) -> Ticket:
    """Send one transactional batch; return its ticket."""
    records = batch(*values, producer=(producer, epoch, sequence), is_transactional=True)
    return send_batch(
        world, records, version=version, partition=partition, transactional_id=transactional_id, acks=acks
    )


def produce_transactional(world: TopicsWorld, sequence: int, *values: bytes, **about: Any) -> PartitionProduceResponse:
    """Produce one transactional batch; return its result."""
    return produced(world.answers[send_transactional(world, sequence, *values, **about)])


def send_marker(
    world: TopicsWorld,
    *,
    commit: bool,
    producer: int = 7,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
    partitions: tuple[tuple[str, int], ...] = (("orders", 0),),
) -> Ticket:
    """Send one marker for some partitions; return its ticket."""
    marker = WritableTxnMarker(
        producer_id=producer,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name, [index]) for name, index in partitions],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )
    return world.send(MARKERS, WriteTxnMarkersRequest([marker]), 2)


def marked(answer: Any) -> list[ErrorCode]:
    """Return the error of each partition of a WriteTxnMarkers response."""
    return [
        ErrorCode(partition.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for partition in topic.partitions
    ]


def write_marker(world: TopicsWorld, **about: Any) -> ErrorCode:
    """Write one marker into one partition; return its error."""
    [error] = marked(world.answers[send_marker(world, **about)])
    return error

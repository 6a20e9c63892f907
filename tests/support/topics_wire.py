"""Short helpers for the requests that tests of the embedded topics send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coordinator.core.effects import Ticket
from coordinator.server.api import fetch as fetch_api
from coordinator.server.api import list_offsets as list_offsets_api
from coordinator.server.api import produce as produce_api
from protocol.compression import Codec
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from protocol.record_batch import build_batch, iter_batches, read_records
from tests.support.topics_world import TopicsWorld

TIMESTAMP = 1_700_000_000_000


def batch(
    *values: bytes,
    timestamp: int = TIMESTAMP,
    producer: tuple[int, int, int] = (-1, -1, -1),
    codec: Codec = Codec.NONE,
    is_transactional: bool = False,
) -> bytes:
    """Build a record batch; `producer` is id, epoch and first sequence."""
    producer_id, epoch, sequence = producer
    return bytes(
        build_batch(
            [(None, value) for value in values or (b"value",)],
            timestamp_ms=timestamp,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
    )


def produce_request(
    records: bytes | None,
    topic: str = "orders",
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
        ],
    )


def send_batch(world: TopicsWorld, records: bytes | None = None, *, version: int = 9, **about: Any) -> Ticket:
    """Send one batch to one partition; return its ticket."""
    return world.send(produce_api.API, produce_request(batch() if records is None else records, **about), version)


def produced(answer: Any) -> PartitionProduceResponse:
    """Return the only partition of a Produce response."""
    [topic] = answer.responses
    [partition] = topic.partition_responses
    assert isinstance(partition, PartitionProduceResponse)
    return partition


def produce(world: TopicsWorld, records: bytes | None = None, **about: Any) -> PartitionProduceResponse:
    """Produce one batch to one partition; return its result."""
    return produced(world.answers[send_batch(world, records, **about)])


def fetch_request(
    offsets: dict[tuple[str, int], int],
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    partition_max_bytes: int = 1 << 20,
    isolation_level: int = 0,
    session: tuple[int, int] = (0, -1),
    ids: dict[str, bytes] | None = None,
    leader_epoch: int = -1,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                topic="" if ids else topic,
                topic_id=ids[topic] if ids else bytes(16),
                partitions=[
                    FetchPartition(
                        partition=partition,
                        fetch_offset=offset,
                        partition_max_bytes=partition_max_bytes,
                        current_leader_epoch=leader_epoch,
                    )
                ],
            )
            for (topic, partition), offset in offsets.items()
        ],
    )


def send_fetch(
    world: TopicsWorld, offset: int = 0, topic: str = "orders", partition: int = 0, *, version: int = 11, **about: Any
) -> Ticket:
    """Send a Fetch for one partition; return its ticket."""
    return world.send(fetch_api.API, fetch_request({(topic, partition): offset}, **about), version)


def fetched(answer: Any) -> PartitionData:
    """Return the only partition of a Fetch response."""
    [topic] = answer.responses
    [partition] = topic.partitions
    assert isinstance(partition, PartitionData)
    return partition


def fetch(world: TopicsWorld, offset: int = 0, **about: Any) -> PartitionData:
    """Fetch from one partition without waiting; return its result."""
    return fetched(world.answers[send_fetch(world, offset, max_wait_ms=0, **about)])


def values(data: bytes | None) -> list[bytes | None]:
    """Return the values of all records in fetched data."""
    return [
        record.value
        for position, header in iter_batches(data or b"")
        for record in read_records(data or b"", position, header)
    ]


def base_offsets(data: bytes | None) -> list[int]:
    return [header.base_offset for _, header in iter_batches(data or b"")]


def list_offsets(
    world: TopicsWorld, timestamps: Sequence[int], topic: str = "orders", *, version: int = 8, leader_epoch: int = -1
) -> list[ListOffsetsPartitionResponse]:
    """List the offset of one timestamp for each of the first partitions of a topic."""
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=leader_epoch)
                    for index, timestamp in enumerate(timestamps)
                ],
            )
        ],
    )
    answer = world.call(list_offsets_api.API, request, version)
    partitions: list[ListOffsetsPartitionResponse] = answer.topics[0].partitions
    return partitions

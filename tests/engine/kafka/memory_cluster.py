"""A small cluster in memory, for what a real Kafka does not do on request: refusals, lost leaders, gaps, late answers.

It stands behind `KafkaClient` in place of connections. Its rules are those of Kafka as far as the engine depends on
them: a batch of a producer that repeats a sequence number is kept once, and nothing is checked beyond that.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast

from coordinator.config.values import Address
from coordinator.core.cluster import ClusterNode
from coordinator.engine.kafka.client import EARLIEST, Connect, KafkaClient, TopicPlace
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.connection import BrokerConnectError, BrokerConnection
from coordinator.engine.kafka.directory import KafkaDirectory
from coordinator.engine.kafka.documents import KafkaDocuments
from coordinator.engine.kafka.store import KafkaLogStore
from coordinator.engine.kafka.topics import EngineTopics
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.record_batch import build_batch, read_header, read_records

BROKERS = (Address("broker-0", 9092), Address("broker-1", 9092))
TOPICS = EngineTopics("log", 1 << 20)
LOG = TOPICS.log(0)
NO_LEADER = -1
LEASE_S = 10.0


class Refusal(NamedTuple):
    """Answer to the next batch for the offsets log."""

    code: ErrorCode
    is_written: bool = False


class MemoryCluster:
    """The cluster. Tests set its fields."""

    def __init__(self) -> None:
        self.leader = 0  # of all partitions
        self.dead: set[Address] = set()  # a connection to these never comes about
        self.refusing: set[Address] = set()  # these refuse connections at once
        self.connects: list[Address] = []
        self.refusals: list[Refusal] = []
        self.sent: list[bytes] = []  # batches for the offsets log, as they came
        self.lost: tuple[bytes, bool] | None = (
            None  # part of the next batch without an answer, and whether it is written
        )
        self.empty_fetches = 0  # of the offsets log, that are answered without records
        self.batches: dict[TopicPlace, list[bytes]] = defaultdict(list)
        self._ends: dict[TopicPlace, int] = defaultdict(int)
        self._kept: dict[tuple[int, int, int], int] = {}  # offset by producer and sequence number
        self._epochs: dict[str, int] = defaultdict(lambda: -1)
        self._grown = asyncio.Condition()

    def connect(self, may_fetch: asyncio.Event | None = None) -> Connect:
        """Return the `connect` of a client, whose fetches are answered while the event is set."""

        async def connect(address: Address) -> BrokerConnection:
            self.connects.append(address)
            if address in self.refusing:
                raise BrokerConnectError(f"{address} refuses connections")
            if address in self.dead:
                await asyncio.Event().wait()
            return cast(BrokerConnection, _Connection(self, may_fetch))

        return connect

    def client(self, timeout_s: float = 5.0, may_fetch: asyncio.Event | None = None) -> KafkaClient:
        return KafkaClient(BROKERS, timeout_s, self.connect(may_fetch))

    async def answer(self, request: Any) -> Any:
        acts: dict[type, Callable[[Any], Awaitable[Any]]] = {
            MetadataRequest: self._metadata,
            ProduceRequest: self._produce,
            FetchRequest: self._fetch,
            ListOffsetsRequest: self._offsets,
            FindCoordinatorRequest: self._coordinator,
            InitProducerIdRequest: self._producer,
        }
        return await acts[type(request)](request)

    async def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        brokers = [MetadataResponseBroker(node_id=n, host=each.host, port=each.port) for n, each in enumerate(BROKERS)]
        partitions = [MetadataResponsePartition(partition_index=n, leader_id=self.leader) for n in range(4)]
        topics = [MetadataResponseTopic(name=each.name, partitions=partitions) for each in request.topics or ()]
        return MetadataResponse(brokers=brokers, topics=topics)

    async def _produce(self, request: ProduceRequest) -> ProduceResponse:
        (topic,) = request.topic_data
        answers = []
        for each in topic.partition_data:
            place, batch = TopicPlace(topic.name, each.index), each.records or b""
            if self.lost is not None and self.lost[0] in batch:
                (_, is_written), self.lost = self.lost, None
                if is_written:
                    await self.write(place, batch)
                raise ConnectionResetError("the connection was lost")
            is_row = place.topic == TOPICS.offsets and read_header(batch).base_sequence > 0
            refusal = self.refusals.pop(0) if is_row and self.refusals else Refusal(ErrorCode.NONE, is_written=True)
            if is_row:
                self.sent.append(batch)
            offset = await self.write(place, batch) if refusal.is_written else -1
            answers.append(PartitionProduceResponse(index=each.index, error_code=refusal.code, base_offset=offset))
        return ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=answers)])

    async def write(self, place: TopicPlace, batch: bytes) -> int:
        header = read_header(batch)
        key = (header.producer_id, header.producer_epoch, header.base_sequence)
        if header.producer_id >= 0 and key in self._kept:
            return self._kept[key]
        offset = self._kept[key] = self._ends[place]
        self.batches[place].append(offset.to_bytes(8, "big") + batch[8:])
        self._ends[place] += header.record_count
        async with self._grown:
            self._grown.notify_all()
        return offset

    def compact(self, place: TopicPlace) -> None:
        """Remove what a later record replaces, and deletions, as Kafka does some time later; the last record stays."""
        records = [record for batch in self.batches[place] for record in read_records(batch, 0, read_header(batch))]
        newest = {record.key: record.offset for record in records}
        self.batches[place] = [
            bytes(build_batch([(record.key, record.value)], base_offset=record.offset, timestamp_ms=0))
            for record in records
            if record is records[-1] or (record.offset == newest[record.key] and record.value is not None)
        ]

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        (asked,) = topic.partitions
        place = TopicPlace(topic.topic, asked.partition)
        try:
            async with asyncio.timeout(request.max_wait_ms / 1000), self._grown:
                await self._grown.wait_for(lambda: self._ends[place] > asked.fetch_offset)
        except TimeoutError:
            pass
        records = b"".join(each for each in self.batches[place] if read_header(each).last_offset >= asked.fetch_offset)
        if place.topic == TOPICS.offsets and self.empty_fetches:
            self.empty_fetches -= 1
            records = b""
        data = PartitionData(partition_index=place.partition, high_watermark=self._ends[place], records=records)
        return FetchResponse(responses=[FetchableTopicResponse(topic=place.topic, partitions=[data])])

    async def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        (topic,) = request.topics
        (asked,) = topic.partitions
        place = TopicPlace(topic.name, asked.partition_index)
        offset = 0 if asked.timestamp == EARLIEST else self._ends[place]
        found = ListOffsetsPartitionResponse(partition_index=place.partition, offset=offset)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=[found])])

    async def _coordinator(self, _: FindCoordinatorRequest) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(host=BROKERS[0].host, port=BROKERS[0].port)

    async def _producer(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        name = request.transactional_id or ""
        self._epochs[name] += 1
        return InitProducerIdResponse(producer_id=1, producer_epoch=self._epochs[name])


class _Connection:
    """A connection as `BrokerConnection` is one."""

    is_usable = True

    def __init__(self, kafka: MemoryCluster, may_fetch: asyncio.Event | None) -> None:
        self._cluster = kafka
        self._may_fetch = may_fetch

    async def call(self, request: Any, within_s: float) -> Any:
        async with asyncio.timeout(within_s):
            answer = await self._cluster.answer(request)
            if isinstance(request, FetchRequest) and self._may_fetch is not None:
                await self._may_fetch.wait()
            return answer

    def close(self) -> None:
        self.is_usable = False


class MemoryClusterNode:
    """A node on such a cluster, with a clock that the test moves. Create it with `open`."""

    def __init__(self, kafka: MemoryCluster, node_id: int, timeout_s: float) -> None:
        self.id = node_id
        self.now_s = 0.0
        self.may_fetch = asyncio.Event()
        self.may_fetch.set()
        self.client = kafka.client(timeout_s, self.may_fetch)
        self.cluster = ClusterTopic(self.client, TOPICS.nodes, lambda: self.now_s)
        self.store = KafkaLogStore(self.client, TOPICS, self.cluster, node_id)
        self.directory = KafkaDirectory(self.cluster, self.store, lease_s=LEASE_S, heartbeat_s=1.0)
        self.documents = KafkaDocuments(self.client, TOPICS, self.cluster)

    @classmethod
    async def open(cls, kafka: MemoryCluster, node_id: int = 1, *, timeout_s: float = 5.0) -> MemoryClusterNode:
        node = cls(kafka, node_id, timeout_s)
        node.cluster.start()
        await node.directory.announce(ClusterNode(node_id, "host", 1), f"run-{node_id}")
        return node

    async def close(self) -> None:
        self.may_fetch.set()
        await self.directory.close()
        await self.store.close()

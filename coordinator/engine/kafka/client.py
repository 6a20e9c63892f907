"""A client of a Kafka cluster for one event loop: brokers, leaders of partitions, and the few requests of the engine.

Each broker has a pool of connections with one request at a time each, so that a long poll or a slow append delays no
other request. `BrokerError` carries an error code of Kafka. Requests that may be repeated are repeated after retriable
errors until the time limit; then LogStoreError says so. An append of the offsets log is not repeated here.

A broker that has refused a login is not asked again for a second, so that a wrong password locks no account.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from coordinator.config.values import Address
from coordinator.engine.kafka.connection import BrokerConnectError, BrokerConnection, BrokerLinkError
from coordinator.storage.log_store import LogStoreError
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

T = TypeVar("T")
Connect = Callable[[Address], Awaitable[BrokerConnection]]

EARLIEST: Final = -2  # timestamps with a special meaning in ListOffsets
LATEST: Final = -1
CONSUMER: Final = -1  # as replica id
ALL_IN_SYNC: Final = -1  # as acks
TRANSACTIONAL_ID: Final = 1  # as key type of FindCoordinator
TRANSACTION_TIMEOUT_MS: Final = 60_000  # no transaction is ever begun
FIRST_RETRY_S: Final = 0.01
LAST_RETRY_S: Final = 0.25
ANY_BROKER_S: Final = 1.0  # for a question that any broker can answer, before the next one is asked
REFUSED_LOGIN_S: Final = 1.0  # before a broker that has refused a login, or its certificate, is tried again
TROUBLE: Final = (OSError, BrokerLinkError)  # TimeoutError is an OSError


class BrokerError(Exception):
    """A broker answered with an error."""

    def __init__(self, code: int, message: str | None = None) -> None:
        self.code = ErrorCode(code)
        super().__init__(f"{self.code.name}: {message or self.code.message}")


class ProducerIdentity(NamedTuple):
    """The identity under which batches are appended."""

    id: int
    epoch: int


class TopicPlace(NamedTuple):
    """A partition of a topic on the cluster."""

    topic: str
    partition: int


def may_pass(error: Exception) -> bool:
    """Return whether a later try may succeed without a change of settings."""
    return not isinstance(error, BrokerConnectError) or error.may_pass


def raise_for(code: int, message: str | None = None) -> None:
    """Raise BrokerError unless the code means success."""
    if code:
        raise BrokerError(code, message)


class KafkaClient:
    """Connections to the cluster. `timeout_s` limits each call with its repetitions."""

    def __init__(
        self, bootstrap: Sequence[Address], timeout_s: float, connect: Connect = BrokerConnection.connect
    ) -> None:
        self._connect = connect
        self.timeout_s = timeout_s
        self.address = ",".join(f"{each.host}:{each.port}" for each in bootstrap)
        self._bootstrap = tuple(bootstrap)
        self._brokers: dict[int, Address] = {}
        self._leaders: dict[TopicPlace, Address] = {}
        self._idle: dict[Address, list[BrokerConnection]] = defaultdict(list)
        self._refusals: dict[Address, tuple[float, str]] = {}  # until when it is not asked, and why
        self._is_closed = False

    async def close(self) -> None:
        """Close all idle connections; those in use are closed when their request ends."""
        self._is_closed = True
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    # -- one request ---------------------------------------------------------------------------------------------

    async def ask(self, address: Address, request: Any, within_s: float | None = None) -> Any:
        """Send a request to a broker and return its response. The time limit includes connecting.

        Raises BrokerConnectError if nothing was sent; OSError or BrokerLinkError.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.timeout_s if within_s is None else within_s)
        connection = self._idle_connection(address) or await self._connected(address, deadline)
        try:
            answer = await connection.call(request, deadline - loop.time())
        except BaseException:
            connection.close()
            raise
        if self._is_closed:
            connection.close()
        else:
            self._idle[address].append(connection)
        return answer

    def _idle_connection(self, address: Address) -> BrokerConnection | None:
        idle = self._idle[address]
        while idle:
            connection = idle.pop()
            if connection.is_usable:
                return connection
            connection.close()
        return None

    async def _connected(self, address: Address, deadline: float) -> BrokerConnection:
        if self._is_closed:
            raise BrokerConnectError("the client is closed")
        loop = asyncio.get_running_loop()
        until, sentence = self._refusals.get(address, (0.0, ""))
        if loop.time() < until:
            raise BrokerConnectError(sentence, may_pass=False)
        try:
            async with asyncio.timeout_at(deadline):
                connection = await self._connect(address)
        except TimeoutError:
            raise BrokerConnectError(f"{address} took no connection in time; check that this broker runs") from None
        except BrokerConnectError as error:
            if not error.may_pass:
                self._refusals[address] = loop.time() + REFUSED_LOGIN_S, str(error)
            raise
        self._refusals.pop(address, None)
        return connection

    # -- where to send it ----------------------------------------------------------------------------------------

    async def metadata(self, topics: Sequence[str] = ()) -> MetadataResponse:
        """Ask the first broker that answers for the brokers and some topics. Raises OSError or BrokerLinkError."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False
        )
        answer: MetadataResponse = await self._ask_any(request)
        self._brokers = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        for topic in answer.topics:
            for each in topic.partitions:
                if each.leader_id in self._brokers:
                    self._leaders[TopicPlace(topic.name or "", each.partition_index)] = self._brokers[each.leader_id]
        return answer

    async def _ask_any(self, request: Any) -> Any:
        """Ask the first broker that answers. If none does, a refusal says more than silence."""
        failure: Exception = BrokerConnectError("there is no broker")
        for address in dict.fromkeys((*self._brokers.values(), *self._bootstrap)):
            try:
                return await self.ask(address, request, min(self.timeout_s, ANY_BROKER_S))
            except TROUBLE as error:
                if may_pass(failure):
                    failure = error
        raise failure

    def broker(self, node_id: int) -> Address:
        """Return the address of a broker that the last metadata named."""
        return self._brokers[node_id]

    async def leader(self, place: TopicPlace) -> Address:
        """Return the broker that leads a partition. Raises BrokerError, OSError or BrokerLinkError."""
        if place not in self._leaders:
            await self.metadata([place.topic])
        if place not in self._leaders:
            raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE)
        return self._leaders[place]

    def forget_leader(self, place: TopicPlace) -> None:
        """Have the leader of a partition looked up again."""
        self._leaders.pop(place, None)

    async def repeat(self, act: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `act`, which is called again after errors that may pass.

        Raises BrokerError if it does not pass; LogStoreError at the time limit.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_s
        pause_s = FIRST_RETRY_S
        while True:
            try:
                return await act()
            except TROUBLE as error:
                last: Exception = error
            except BrokerError as error:
                if not error.code.retriable and error.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                    raise
                last = error
            if loop.time() + pause_s >= deadline:
                raise self.too_late(last)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_RETRY_S)

    def too_late(self, last: Exception) -> LogStoreError:
        """Return the error for a request that did not succeed within the time limit."""
        if not may_pass(last):
            return LogStoreError(str(last), may_pass=False)
        reason = str(last) or "no answer in time"
        return LogStoreError(
            f"Kafka at {self.address} did not do it within log.engine.timeout.ms ({reason}); check that its brokers run"
        )

    async def at_leader(self, place: TopicPlace, request: Any, within_s: float | None = None) -> Any:
        """Send a request to the leader of a partition. An error makes the leader be looked up again.

        So does a cancellation, which may be a time limit of the caller. Raises BrokerError, OSError, BrokerLinkError.
        """
        address = await self.leader(place)
        try:
            return await self.ask(address, request, within_s)
        except (*TROUBLE, asyncio.CancelledError):
            self.forget_leader(place)
            raise

    def _check(self, place: TopicPlace, code: int) -> None:
        if code:
            self.forget_leader(place)
            raise BrokerError(code)

    # -- requests that may be repeated ---------------------------------------------------------------------------

    async def init_producer(self, transactional_id: str) -> ProducerIdentity:
        """Take the next epoch of a transactional id. Raises BrokerError, LogStoreError."""

        async def act() -> ProducerIdentity:
            found = await self._ask_any(FindCoordinatorRequest(key=transactional_id, key_type=TRANSACTIONAL_ID))
            raise_for(found.error_code, found.error_message)
            request = InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
            )
            answer = await self.ask(Address(found.host, found.port), request)
            raise_for(answer.error_code)
            return ProducerIdentity(answer.producer_id, answer.producer_epoch)

        return await self.repeat(act)

    async def produce(self, place: TopicPlace, batch: bytes | bytearray) -> int:
        """Append a batch with acks=all and return its offset; a repetition may append it twice, unless it has a
        producer. Raises BrokerError, LogStoreError."""

        async def act() -> int:
            answer = await self.at_leader(place, produce_request({place: batch}, self.timeout_s))
            (partition,) = answer.responses[0].partition_responses
            self._check(place, partition.error_code)
            return int(partition.base_offset)

        return await self.repeat(act)

    async def fetch(
        self, place: TopicPlace, offset: int, max_bytes: int, *, wait_ms: int = 0, within_s: float | None = None
    ) -> PartitionData:
        """Read batches once, from the one that holds an offset on. Raises BrokerError, OSError, BrokerLinkError."""
        partition = FetchPartition(partition=place.partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=max_bytes,
            topics=[FetchTopic(topic=place.topic, partitions=[partition])],
        )
        answer = await self.at_leader(place, request, within_s)
        self._check(place, answer.error_code)
        data: PartitionData = answer.responses[0].partitions[0]
        self._check(place, data.error_code)
        return data

    async def fetch_records(self, place: TopicPlace, offset: int, max_bytes: int) -> bytes:
        """Read at least one batch below the high watermark. Raises BrokerError, LogStoreError.

        A new leader may have a lower high watermark for a short time and answers without a batch then.
        """

        async def act() -> bytes:
            found = (await self.fetch(place, offset, max_bytes)).records
            if not found:
                raise BrokerError(ErrorCode.OFFSET_NOT_AVAILABLE)
            return found

        return await self.repeat(act)

    async def offset_at(self, place: TopicPlace, timestamp: int) -> int:
        """Return the offset at a timestamp, or at EARLIEST or LATEST; -1 if no record is so late.

        Raises BrokerError, LogStoreError.
        """

        async def act() -> int:
            partition = ListOffsetsPartition(partition_index=place.partition, timestamp=timestamp)
            request = ListOffsetsRequest(
                replica_id=CONSUMER, topics=[ListOffsetsTopic(name=place.topic, partitions=[partition])]
            )
            answer = (await self.at_leader(place, request)).topics[0].partitions[0]
            self._check(place, answer.error_code)
            return int(answer.offset)

        return await self.repeat(act)

    async def delete_records(self, place: TopicPlace, below: int) -> None:
        """Delete the records below an offset. Raises BrokerError, LogStoreError."""

        async def act() -> None:
            partition = DeleteRecordsPartition(partition_index=place.partition, offset=below)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=place.topic, partitions=[partition])],
                timeout_ms=int(self.timeout_s * 1000),
            )
            answer = (await self.at_leader(place, request)).topics[0].partitions[0]
            self._check(place, answer.error_code)

        await self.repeat(act)


def produce_request(batches: dict[TopicPlace, bytes | bytearray], timeout_s: float) -> ProduceRequest:
    """Return a request that appends a batch to each of some partitions of one topic, with acks=all."""
    (topic,) = {place.topic for place in batches}
    data = [PartitionProduceData(index=place.partition, records=bytes(batch)) for place, batch in batches.items()]
    return ProduceRequest(
        acks=ALL_IN_SYNC,
        timeout_ms=int(timeout_s * 1000),
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )

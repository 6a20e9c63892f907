"""Timed work of a test with a client: the first assignment with three Python libraries, and a whole small test.

A consumer has the defaults of its library. Its first assignment is timed from before its constructor until its callback
is called with all partitions of the topic.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka import ConsumerRebalanceListener as AioListener
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaException, Producer
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError

from bench.measure import BenchError
from bench.testing_servers import PARTITIONS, TestServer

WITHIN_S: Final = 60.0
POLL_S: Final = 1.0  # kafka-python 3.0 can forget a join between two short polls
RECORD: Final = b"one"


def with_confluent_kafka(address: str, topic: str) -> float:
    """Return the ms until a consumer of confluent-kafka has its partitions."""
    assigned: list[float] = []

    def on_assign(_: Any, partitions: list[Any]) -> None:
        if len(partitions) == PARTITIONS:
            assigned.append(time.perf_counter())

    begun = time.perf_counter()
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic], on_assign=on_assign)
        while not assigned:
            consumer.poll(POLL_S)
            check_time("confluent-kafka", begun)
    finally:
        consumer.close()
    return (assigned[0] - begun) * 1000


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, assigned: list[float]) -> None:
        self._assigned = assigned

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    def on_partitions_assigned(self, assigned: Any) -> None:
        if len(assigned) == PARTITIONS:
            self._assigned.append(time.perf_counter())


def with_kafka_python(address: str, topic: str) -> float:
    """Return the ms until a consumer of kafka-python has its partitions."""
    assigned: list[float] = []
    begun = time.perf_counter()
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=topic, auto_offset_reset="earliest")
    try:
        consumer.subscribe([topic], listener=_Listener(assigned))
        while not assigned:
            consumer.poll(timeout_ms=int(POLL_S * 1000))
            check_time("kafka-python", begun)
    finally:
        consumer.close()
    return (assigned[0] - begun) * 1000


class _AioListener(AioListener):  # type: ignore[misc]
    def __init__(self, assigned: asyncio.Future[float]) -> None:
        self._assigned = assigned

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    def on_partitions_assigned(self, assigned: Any) -> None:
        if len(assigned) == PARTITIONS and not self._assigned.done():
            self._assigned.set_result(time.perf_counter())


def with_aiokafka(address: str, topic: str) -> float:
    """Return the ms until a consumer of aiokafka has its partitions."""

    async def run() -> float:
        assigned: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        begun = time.perf_counter()
        consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id=topic, auto_offset_reset="earliest")
        consumer.subscribe([topic], listener=_AioListener(assigned))
        try:
            await consumer.start()
            ended = await asyncio.wait_for(assigned, WITHIN_S)
        finally:
            await consumer.stop()
        return (ended - begun) * 1000

    return asyncio.run(run())


def first_assignment(library: str, server: TestServer, topic: str) -> float:
    """Return the ms until a consumer of a library has its partitions. Raises BenchError with what the library said."""
    try:
        return LIBRARIES[library](f"127.0.0.1:{server.port}", topic)
    except (KafkaError, AioKafkaError, KafkaException, TimeoutError) as error:
        raise BenchError(f"{library} on {server.name}: {error!r}") from None


LIBRARIES: Final[dict[str, Callable[[str, str], float]]] = {
    "confluent-kafka": with_confluent_kafka,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
}


def whole_test(server: TestServer, topic: str) -> float:
    """Return the ms of a test: server, topic, one record produced, consumed and committed, everything closed."""
    begun = time.perf_counter()
    server.begin_test()
    try:
        server.create(topic, 1)
        address = f"127.0.0.1:{server.port}"
        producer = Producer({"bootstrap.servers": address})
        producer.produce(topic, RECORD)
        if producer.flush(WITHIN_S):
            raise BenchError(f"{server.name}: the record was not produced within {WITHIN_S:g} s")
        settings = {"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        try:
            consumer.subscribe([topic])
            while (message := consumer.poll(POLL_S)) is None or message.error():
                check_time(f"{server.name}: the record", begun)
            if message.value() != RECORD:
                raise BenchError(f"{server.name}: another record was read: {message.value()!r}")
            consumer.commit(message, asynchronous=False)
        finally:
            consumer.close()
        del producer
    finally:
        server.end_test(topic)
    return (time.perf_counter() - begun) * 1000


def check_time(what: str, begun: float) -> None:
    if time.perf_counter() - begun > WITHIN_S:
        raise BenchError(f"{what}: nothing within {WITHIN_S:g} s")

"""The programs of the Python libraries for the matrix of transactions.

`python -m tests.clients.transactions_python LIBRARY ...`; transactions_programs.py describes what they are told and
what they say.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any, NamedTuple, Protocol


class Settings(NamedTuple):
    """The settings of the command line."""

    bootstrap: str
    topic: str
    transactional_id: str
    timeout_ms: int
    patience_s: float


class Producer(Protocol):
    """A transactional producer."""

    def init(self) -> None: ...

    def begin(self) -> None: ...

    def send(self, partition: int, value: bytes) -> None: ...

    def offsets(self, group: str, offset: int) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...


class Librdkafka:
    """The producer of confluent-kafka."""

    def __init__(self, settings: Settings) -> None:
        import confluent_kafka

        self.settings = settings
        self.library = confluent_kafka
        self.producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": settings.bootstrap,
                "transactional.id": settings.transactional_id,
                "transaction.timeout.ms": settings.timeout_ms,
                "linger.ms": 0,
                "reconnect.backoff.max.ms": 500,
                "metadata.recovery.strategy": "none",  # see docs/exactly-once.md
                "log_level": 0,
            }
        )

    def init(self) -> None:
        self.producer.init_transactions(self.settings.patience_s)

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, partition: int, value: bytes) -> None:
        errors: list[Any] = []
        self.producer.produce(
            self.settings.topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error)
        )
        self.producer.flush(self.settings.patience_s)
        if errors != [None]:
            raise RuntimeError(f"{errors[0] if errors else 'not delivered in time'}")

    def offsets(self, group: str, offset: int) -> None:
        consumer = self.library.Consumer({"bootstrap.servers": self.settings.bootstrap, "group.id": group})
        place = self.library.TopicPartition(self.settings.topic, 0, offset)
        try:
            self.producer.send_offsets_to_transaction(
                [place], consumer.consumer_group_metadata(), self.settings.patience_s
            )
        finally:
            consumer.close()

    def commit(self) -> None:
        self.producer.commit_transaction(self.settings.patience_s)

    def abort(self) -> None:
        self.producer.abort_transaction(self.settings.patience_s)


class KafkaPython:
    """The producer of kafka-python."""

    def __init__(self, settings: Settings) -> None:
        from kafka import KafkaProducer

        self.settings = settings
        self.producer = KafkaProducer(
            bootstrap_servers=settings.bootstrap,
            transactional_id=settings.transactional_id,
            transaction_timeout_ms=settings.timeout_ms,
            max_block_ms=int(settings.patience_s * 1000),
            reconnect_backoff_max_ms=500,
        )

    def init(self) -> None:
        self.producer.init_transactions()

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, partition: int, value: bytes) -> None:
        self.producer.send(self.settings.topic, value, partition=partition).get(self.settings.patience_s)

    def offsets(self, group: str, offset: int) -> None:
        from kafka import ConsumerGroupMetadata
        from kafka.structs import OffsetAndMetadata, TopicPartition

        place = TopicPartition(self.settings.topic, 0)
        self.producer.send_offsets_to_transaction(
            {place: OffsetAndMetadata(offset, "", -1)}, ConsumerGroupMetadata(group, -1, "", None)
        )

    def commit(self) -> None:
        self.producer.commit_transaction()

    def abort(self) -> None:
        self.producer.abort_transaction()


class Aiokafka:
    """The producer of aiokafka. Its loop runs while a call waits."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.loop = asyncio.new_event_loop()
        self.producer: Any = None

    def _wait(self, work: Any) -> None:
        self.loop.run_until_complete(asyncio.wait_for(work, self.settings.patience_s))

    def init(self) -> None:
        async def start() -> None:
            from aiokafka import AIOKafkaProducer

            settings = self.settings
            self.producer = AIOKafkaProducer(
                bootstrap_servers=settings.bootstrap,
                transactional_id=settings.transactional_id,
                transaction_timeout_ms=settings.timeout_ms,
            )
            await self.producer.start()

        self._wait(start())

    def begin(self) -> None:
        self._wait(self.producer.begin_transaction())

    def send(self, partition: int, value: bytes) -> None:
        self._wait(self.producer.send_and_wait(self.settings.topic, value, partition=partition))

    def offsets(self, group: str, offset: int) -> None:
        from aiokafka import TopicPartition

        self._wait(self.producer.send_offsets_to_transaction({TopicPartition(self.settings.topic, 0): offset}, group))

    def commit(self) -> None:
        self._wait(self.producer.commit_transaction())

    def abort(self) -> None:
        self._wait(self.producer.abort_transaction())


LIBRARIES = {"confluent-kafka": Librdkafka, "kafka-python": KafkaPython, "aiokafka": Aiokafka}


def act(producer: Producer, words: list[str]) -> None:
    """Do what a line says."""
    match words:
        case ["send", partition, value]:
            producer.send(int(partition), value.encode())
        case ["offsets", group, offset]:
            producer.offsets(group, int(offset))
        case [("init" | "begin" | "commit" | "abort") as name]:
            getattr(producer, name)()
        case _:
            raise ValueError(f"{words} is not known")


def main() -> None:
    logging.disable(logging.CRITICAL)
    library, bootstrap, topic, transactional_id, timeout_ms, patience_ms = sys.argv[1:]
    settings = Settings(bootstrap, topic, transactional_id, int(timeout_ms), int(patience_ms) / 1000)
    producer = LIBRARIES[library](settings)
    for line in sys.stdin:
        try:
            act(producer, line.split())
            print("ok", flush=True)
        except Exception as error:
            print("error", f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()

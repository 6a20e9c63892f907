"""A producer that sends numbered values and notes where each was acknowledged.

`python -m tests.cluster.workload.producer LIBRARY ADDRESS TOPIC PARTITIONS DIARY`. One value is under way at a time, to
each partition in turn: the rate is modest, and the order of the diary is the order of the acknowledgements. A value
that was not acknowledged may be there all the same; it is not a promise. Ends on SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tests.cluster.workload.diary import Diary

PAUSE_S = 0.05
ANSWER_S = 120.0  # a node may be away for a while


class Producing(ABC):
    """A library's producer, as seen from here: send one value and wait for its offset."""

    @abstractmethod
    def send(self, topic: str, partition: int, value: bytes) -> int: ...


class AioKafkaProducing(Producing):
    def __init__(self, address: str) -> None:
        from aiokafka import AIOKafkaProducer

        self._loop = asyncio.new_event_loop()

        async def start() -> Any:
            producer = AIOKafkaProducer(
                bootstrap_servers=address, enable_idempotence=True, metadata_max_age_ms=5000, retry_backoff_ms=200
            )
            await producer.start()
            return producer

        self._producer = self._loop.run_until_complete(start())

    def send(self, topic: str, partition: int, value: bytes) -> int:
        done = self._loop.run_until_complete(self._producer.send_and_wait(topic, value, partition=partition))
        return int(done.offset)


class KafkaPythonProducing(Producing):
    def __init__(self, address: str) -> None:
        from kafka import KafkaProducer

        self._producer = KafkaProducer(
            bootstrap_servers=address.split(","),
            linger_ms=0,
            delivery_timeout_ms=int(ANSWER_S * 1000),
            metadata_max_age_ms=5000,
            reconnect_backoff_max_ms=500,
        )

    def send(self, topic: str, partition: int, value: bytes) -> int:
        return int(self._producer.send(topic, value, partition=partition).get(timeout=ANSWER_S).offset)


class ConfluentProducing(Producing):
    def __init__(self, address: str) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 0,
                "delivery.timeout.ms": int(ANSWER_S * 1000),
                "topic.metadata.refresh.interval.ms": 5000,
                "reconnect.backoff.max.ms": 500,
                "error_cb": lambda error: None,
                "log_level": 2,
            }
        )

    def send(self, topic: str, partition: int, value: bytes) -> int:
        answers: list[Any] = []
        self._producer.produce(
            topic, value, partition=partition, on_delivery=lambda error, message: answers.append(error or message)
        )
        deadline = time.monotonic() + ANSWER_S + 5
        while not answers and time.monotonic() < deadline:
            self._producer.poll(0.5)
        if not answers or not hasattr(answers[0], "offset"):
            raise RuntimeError(str(answers or "no answer"))
        return int(answers[0].offset())


PRODUCING = {
    "aiokafka": AioKafkaProducing,
    "kafka-python": KafkaPythonProducing,
    "confluent-kafka": ConfluentProducing,
}


def main() -> None:
    library, address, topic, partitions, diary_path = sys.argv[1:]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    diary = Diary(Path(diary_path))
    diary.note("start", pid=os.getpid())
    producing = PRODUCING[library](address)
    number = 0
    while not stop.wait(PAUSE_S):
        partition = number % int(partitions)
        value = f"{library}-{os.getpid()}-{number}"
        number += 1
        try:
            offset = producing.send(topic, partition, value.encode())
        except Exception as error:
            diary.note("not acknowledged", value=value, why=repr(error)[:200])
        else:
            diary.note("acknowledged", topic=topic, partition=partition, offset=offset, value=value)
    diary.note("stop")


if __name__ == "__main__":
    main()

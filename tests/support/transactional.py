"""A transactional producer and readers of librdkafka, for tests of transactions."""

from __future__ import annotations

import uuid
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

LIMIT_S = 60


def transactional_producer(address: str, transactional_id: str = "tx", **settings: Any) -> Producer:
    """Return a producer whose transactional id is initialised."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": transactional_id,
            "linger.ms": 0,
            "log_level": 0,
            **settings,
        }
    )
    producer.init_transactions(LIMIT_S)
    return producer


def read(address: str, topic: str, partition: int = 0, *, isolation: str = "read_committed") -> list[str]:
    """Read a partition up to its end, as a reader of this isolation level sees it."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found = []
    try:
        while (message := consumer.poll(LIMIT_S)) is not None:
            error = message.error()
            if error is None:
                found.append((message.value() or b"").decode())
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
    raise AssertionError(f"no end of {topic}-{partition} within {LIMIT_S} s; read so far: {found}")


def committed(address: str, group: str, topic: str = "in") -> int:
    """Return the committed offset of partition 0, as a reader that waits for stable offsets is told."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "log_level": 0})
    try:
        (found,) = consumer.committed([TopicPartition(topic, 0)], LIMIT_S)
    finally:
        consumer.close()
    return int(found.offset)

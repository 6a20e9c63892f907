"""Producing with each library's own producer, with its defaults (idempotent where that is the default)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


def produce_with(library: str, address: str, topic: str, values: Sequence[bytes], compression: str = "none") -> None:
    """Send the values to partition 0 in order and wait until all are acknowledged."""
    if library == "aiokafka":
        asyncio.run(_with_aiokafka(address, topic, values, compression))
    elif library == "kafka-python":
        _with_kafka_python(address, topic, values, compression)
    else:
        _with_confluent(address, topic, values, compression)


async def _with_aiokafka(address: str, topic: str, values: Sequence[bytes], compression: str) -> None:
    from aiokafka import AIOKafkaProducer

    kind = None if compression == "none" else compression
    async with AIOKafkaProducer(bootstrap_servers=address, compression_type=kind, enable_idempotence=True) as producer:
        for waiting in [await producer.send(topic, value, partition=0) for value in values]:
            await waiting


def _with_kafka_python(address: str, topic: str, values: Sequence[bytes], compression: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=address, compression_type=None if compression == "none" else compression)
    try:
        for waiting in [producer.send(topic, value, partition=0) for value in values]:
            waiting.get(timeout=20)
    finally:
        producer.close()


def _with_confluent(address: str, topic: str, values: Sequence[bytes], compression: str) -> None:
    from confluent_kafka import Producer

    failures: list[object] = []
    producer = Producer(
        {"bootstrap.servers": address, "compression.type": compression, "enable.idempotence": True, "log_level": 2}
    )
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, message: failures.append(error) if error else None
        )
    unsent = producer.flush(20)
    assert unsent == 0 and not failures, (unsent, failures)

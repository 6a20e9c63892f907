"""A real client that joins a group and waits for its first partition, as the measure of "it works"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer

from tests.support.eventually import eventually


@contextmanager
def consumer_with_all(address: str, topic: str, partitions: int, group: str = "shop") -> Iterator[Consumer]:
    """Yield a consumer that has been assigned all partitions of the topic."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        eventually(
            lambda: consumer.poll(0.05) or len(consumer.assignment()) == partitions,
            f"all partitions of {topic} at {address}",
            within_s=60,
        )
        yield consumer
    finally:
        consumer.close()

"""confluent-kafka: a member whose session has ended must not commit what it had in hand.

pip install kafka-group-coordinator confluent-kafka pytest
pytest test_confluent_kafka.py
"""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from coordinator.testing import Coordinator

BATCH = 10


class BatchWriter:
    """The application: it writes orders ten at a time, and commits after each write."""

    def __init__(self, servers: str) -> None:
        self.batch: list[str] = []
        self.written: list[list[str]] = []
        self.dropped: list[str] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "client.id": "writer",
                "group.id": "shop",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
            }
        )
        self.consumer.subscribe(["orders"], on_lost=self.on_lost)

    def step(self) -> None:
        message = self.consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.take(message)

    def take(self, message: Message) -> None:
        self.batch.append((message.value() or b"").decode())
        if len(self.batch) == BATCH:
            self.written.append(self.batch)
            self.batch = []
            self.consumer.commit(message=message, asynchronous=False)

    def on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget the open batch, because another member reads it now."""
        self.dropped, self.batch = self.batch, []


@pytest.mark.coordinator(topics={"orders": 1})
def test_partitions_that_are_lost(coordinator: Coordinator) -> None:
    orders = [f"order {number}" for number in range(BATCH)]
    coordinator.produce("orders", orders[:3])
    writer = BatchWriter(coordinator.bootstrap_servers)
    while len(writer.batch) < 3:
        writer.step()

    coordinator.expire("writer")  # as if it had been silent for longer than its session timeout

    while not writer.dropped:
        writer.step()
    assert writer.dropped == orders[:3]
    assert coordinator.committed("shop") == {}

    coordinator.produce("orders", orders[3:])  # it joins again, and reads all of them
    while not writer.written:
        writer.step()
    assert writer.written == [orders]
    assert coordinator.committed("shop") == {("orders", 0): BATCH}
    writer.consumer.close()

"""kafka-python: a worker goes on while the coordinator of its group moves to another node.

pip install kafka-group-coordinator kafka-python pytest
pytest test_kafka_python.py
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

from coordinator.testing import Coordinator


def handled_orders(servers: str, last: str) -> Iterator[str]:
    """The application: handle an order, commit it, and end with the order `last`."""
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=servers, group_id="shop", auto_offset_reset="earliest", enable_auto_commit=False
    )
    for record in consumer:
        order = record.value.decode()
        yield order
        consumer.commit({TopicPartition(record.topic, record.partition): OffsetAndMetadata(record.offset + 1, "", -1)})
        if order == last:
            break
    consumer.close()


@pytest.mark.coordinator(topics={"orders": 1})
def test_goes_on_at_another_node(coordinator: Coordinator) -> None:
    producer = KafkaProducer(bootstrap_servers=coordinator.bootstrap_servers)
    with ThreadPoolExecutor() as threads:
        worker = threads.submit(lambda: list(handled_orders(coordinator.bootstrap_servers, last="order 5")))
        for number in range(3):
            producer.send("orders", f"order {number}".encode()).get(timeout=10)
        coordinator.wait_committed("shop", "orders", 3)

        coordinator.move_coordinator("shop")  # the node that it knows answers NOT_COORDINATOR from now on

        for number in range(3, 6):
            producer.send("orders", f"order {number}".encode()).get(timeout=10)
        assert worker.result(timeout=10) == [f"order {number}" for number in range(6)]
    producer.close()
    assert coordinator.committed("shop") == {("orders", 0): 6}

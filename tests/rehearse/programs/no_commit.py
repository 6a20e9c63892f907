"""An application that commits every few seconds, and not when partitions are taken from it.

It writes the values that it has processed to the output topic.
"""

from __future__ import annotations

import time
from typing import Any

from app import TOPIC, commit, consume, settings, told
from confluent_kafka import Consumer, Producer

EVERY_S = 2.0
consumer = Consumer(settings())
producer = Producer({"bootstrap.servers": told["KAFKA_BOOTSTRAP_SERVERS"]})
committed_s = [time.monotonic()]


def process(records: list[Any]) -> None:
    for each in records:
        producer.produce(told["KAFKA_OUTPUT_TOPIC"], each.value())
    producer.flush()
    if time.monotonic() - committed_s[0] > EVERY_S:
        committed_s[:] = [time.monotonic()]
        commit(consumer)


consumer.subscribe([TOPIC])
consume(consumer, process)

"""An application that commits in the wrong callback: what it had of revoked partitions, when it gets others."""

from __future__ import annotations

import time

from app import TOPIC, commit, consume, numbers, settings
from confluent_kafka import Consumer, TopicPartition

consumer = Consumer(settings())
revoked_s: list[float] = []
to_commit: list[TopicPartition] = []


def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    print("revoked", numbers(partitions), flush=True)
    to_commit[:] = [each for each in consumer.position(partitions) if each.offset > 0]
    revoked_s[:] = [time.monotonic()]


def process(records: list[object]) -> None:
    if to_commit and time.monotonic() - revoked_s[0] > 0.5:
        consumer.commit(offsets=list(to_commit), asynchronous=True)
        to_commit.clear()
    if records:
        commit(consumer)


consumer.subscribe([TOPIC], on_revoke=revoked)
consume(consumer, process)

"""An application that finishes a long job in the callback that takes partitions from it."""

from __future__ import annotations

import time

from app import TOPIC, commit, consume, settings
from confluent_kafka import Consumer

consumer = Consumer(settings())


def revoked(consumer: Consumer, partitions: list[object]) -> None:
    time.sleep(2.3)
    commit(consumer)


consumer.subscribe([TOPIC], on_revoke=revoked)
consume(consumer, lambda records: commit(consumer) if records else None)

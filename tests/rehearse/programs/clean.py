"""An application that is ready: it commits what it has processed, and once more when partitions are taken from it."""

from __future__ import annotations

from app import TOPIC, commit, consume, numbers, settings
from confluent_kafka import Consumer

consumer = Consumer(settings())


def revoked(consumer: Consumer, partitions: list[object]) -> None:
    print("on_revoke", numbers(partitions), flush=True)
    commit(consumer)


consumer.subscribe([TOPIC], on_assign=lambda _, new: print("on_assign", numbers(new), flush=True), on_revoke=revoked)
consume(consumer, lambda records: commit(consumer) if records else None)

"""An application that sets the timeouts of the classic protocol whatever its protocol is."""

from __future__ import annotations

from app import CLASSIC, TOPIC, commit, consume, settings
from confluent_kafka import Consumer

consumer = Consumer(settings(**CLASSIC))
consumer.subscribe([TOPIC])
consume(consumer, lambda records: commit(consumer) if records else None)

"""Subscriptions and assignments of consumers: decoded, counted, or refused with a DecodeError."""

from __future__ import annotations

from random import Random
from typing import Final

from coordinator.core.group.group import topics_of
from coordinator.core.group.ownership import count_partitions
from protocol import consumer
from protocol.errors import DecodeError
from tests.fuzz import codecs

ROWS: Final = [
    codecs.Codec(cls, version, lambda message, e=encode, v=version: e(message, v), decode)  # type: ignore[misc]
    for cls, encode, decode in (
        (consumer.Subscription, consumer.encode_subscription, consumer.decode_subscription),
        (consumer.Assignment, consumer.encode_assignment, consumer.decode_assignment),
    )
    for version in range(consumer.LATEST_VERSION + 1)
]


def check(data: bytes) -> None:
    for row in (ROWS[consumer.LATEST_VERSION], ROWS[-1]):  # a value of any version, as the newest one holds it
        try:
            message = row.decode(data)
        except DecodeError:
            continue
        assert row.decode(row.encode(message)) == message
    for read in (consumer.subscribed_topics, topics_of, count_partitions):
        try:
            read(data)
        except DecodeError:
            continue
    assert consumer.topic_count(data) < 2**32


def seeds() -> list[bytes]:
    return [each[codecs.ROW_BYTES :] for each in codecs.seeds(ROWS, 2)]


def mutate(data: bytes, chance: Random) -> bytes:
    number = chance.randrange(len(ROWS))
    return codecs.mutate(ROWS, number.to_bytes(codecs.ROW_BYTES, "big") + data, chance)[codecs.ROW_BYTES :]

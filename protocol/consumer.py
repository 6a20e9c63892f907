"""The consumer protocol: subscriptions in JoinGroup and assignments in SyncGroup (Kafka's `ConsumerProtocol`).

The coordinator passes both on without decoding them, with one exception: `subscribed_topics`, because the offsets of
topics that a group reads must neither expire nor be deleted. It reads only the part that all versions share, since some
clients send a version number without the fields which that version requires.

A version above 3 is read as version 3, because later versions only append fields.
"""

from __future__ import annotations

import struct
from typing import Final

from protocol.errors import DecodeError
from protocol.generated import consumer_protocol
from protocol.messages.consumer_protocol import Assignment, Subscription, TopicPartitions

__all__ = [
    "Assignment",
    "Subscription",
    "TopicPartitions",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
    "subscribed_topics",
    "topic_count",
]

LATEST_VERSION: Final = 3

_VERSION: Final = struct.Struct(">h")


def decode_subscription(data: bytes) -> Subscription:
    """Decode a subscription of any version."""
    return consumer_protocol.DECODE_SUBSCRIPTION[_version(data)](data, 2)


def encode_subscription(subscription: Subscription, version: int = LATEST_VERSION) -> bytes:
    """Encode a subscription, its version first."""
    return consumer_protocol.ENCODE_SUBSCRIPTION[version](subscription)


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment of any version; empty data means no partitions."""
    if not data:
        return Assignment()
    return consumer_protocol.DECODE_ASSIGNMENT[_version(data)](data, 2)


def encode_assignment(assignment: Assignment, version: int = LATEST_VERSION) -> bytes:
    """Encode an assignment, its version first."""
    return consumer_protocol.ENCODE_ASSIGNMENT[version](assignment)


def topic_count(metadata: bytes) -> int:
    """Return the number of topics that a subscription declares; the data may be too short to hold them."""
    return int.from_bytes(metadata[2:6], "big")


def topics_end(metadata: bytes) -> int:
    """Return the position behind the topics of a subscription that could be decoded."""
    position = 6
    for _ in range(topic_count(metadata)):
        position += 2 + int.from_bytes(metadata[position : position + 2], "big")
    return position


def subscribed_topics(metadata: bytes) -> list[str]:
    """Return the topics of a subscription of any version, read as version 0; DecodeError if they cannot be read."""
    if len(metadata) < 2:
        raise DecodeError("a subscription without a version")
    return consumer_protocol.DECODE_SUBSCRIPTION[0](metadata, 2).topics


def _version(data: bytes) -> int:
    if len(data) < 2:
        raise DecodeError("consumer protocol data without a version")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise DecodeError(f"consumer protocol data of version {version}")
    return int(min(version, LATEST_VERSION))

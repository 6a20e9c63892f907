"""What consumers carry inside JoinGroup and SyncGroup: their subscriptions and assignments.

The coordinator passes these on unread, with one exception: it wants to know which topics a group reads, so that it
neither expires nor deletes their offsets. For that `subscribed_topics` reads the part that all versions have in common;
real clients send newer versions without the fields they promise, and those must not matter (wire spec 9).

A reader takes a version above 3 as 3: later versions only append.
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
    """A subscription of any version."""
    return consumer_protocol.DECODE_SUBSCRIPTION[_version(data)](data, 2)


def encode_subscription(subscription: Subscription, version: int = LATEST_VERSION) -> bytes:
    """A subscription with its version in front."""
    return consumer_protocol.ENCODE_SUBSCRIPTION[version](subscription)


def decode_assignment(data: bytes) -> Assignment:
    """An assignment of any version; no bytes at all mean no partitions."""
    if not data:
        return Assignment()
    return consumer_protocol.DECODE_ASSIGNMENT[_version(data)](data, 2)


def encode_assignment(assignment: Assignment, version: int = LATEST_VERSION) -> bytes:
    """An assignment with its version in front."""
    return consumer_protocol.ENCODE_ASSIGNMENT[version](assignment)


def topic_count(metadata: bytes) -> int:
    """How many topics a subscription claims to name; it may hold fewer bytes than that."""
    return int.from_bytes(metadata[2:6], "big")


def subscribed_topics(metadata: bytes) -> list[str]:
    """The topics of a subscription of any version, read as version 0; DecodeError if that is not possible."""
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

"""The consumer protocol inside of classic requests, as scripts name it: subscriptions and assignments of their topics.

`$meta:1:t0,t1:m0` is a subscription of version 1 to two topics of the script by slot m0, which owns what its newest
SyncGroup gave it. `$given:1:t0=0,2;t1=1` is an assignment. What a server answers is told in words, since topics have
another prefix in each run, and Kafka takes their order from a hash table.
"""

from __future__ import annotations

from typing import Final

from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.errors import ProtocolError

META: Final = "$meta:"
GIVEN: Final = "$given:"
Owned = dict[str, list[int]]  # topic -> partitions


def subscription_of(name: str) -> str:
    """Return the slot whose subscription a name is."""
    return name.rpartition(":")[2]


def encoded_subscription(name: str, prefix: str, owned: Owned) -> str:
    """Return a subscription, as text with one character for each byte."""
    version, topics, _ = name.removeprefix(META).split(":")
    subscription = Subscription(topics=[prefix + each for each in topics.split(",") if each])
    subscription.owned_partitions = [TopicPartitions(topic, partitions) for topic, partitions in owned.items()]
    return encode_subscription(subscription, int(version)).decode("latin-1")


def encoded_assignment(name: str, prefix: str) -> str:
    """Return an assignment, as text with one character for each byte."""
    version, _, listed = name.removeprefix(GIVEN).partition(":")
    parts = [each.partition("=") for each in listed.split(";") if each]
    given = [TopicPartitions(prefix + topic, [int(each) for each in some.split(",")]) for topic, _, some in parts]
    return encode_assignment(Assignment(assigned_partitions=given), int(version)).decode("latin-1")


def assigned(text: str) -> Owned:
    """Return the partitions of an assignment; none if it is not one."""
    try:
        found = decode_assignment(text.encode("latin-1"))
    except (ProtocolError, UnicodeEncodeError):
        return {}
    return {each.topic: sorted(each.partitions) for each in found.assigned_partitions}


def in_words(text: str, prefix: str) -> str | None:
    """Return what a subscription or an assignment says; None if the text is neither."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return None
    version = int.from_bytes(data[:2], "big")
    try:
        given = decode_assignment(data)
        if encode_assignment(given, version) == data:
            parts = _parts(given.assigned_partitions, prefix)
            return f"assignment of version {version}: {parts}, {given.user_data!r}"
    except (ProtocolError, KeyError):
        pass
    try:
        told = decode_subscription(data)
    except (ProtocolError, KeyError):
        return None
    topics = sorted(each.replace(prefix, "$") for each in told.topics)
    return f"subscription of version {version}: {topics}, it owns {_parts(told.owned_partitions, prefix)}"


def _parts(listed: list[TopicPartitions], prefix: str) -> list[tuple[str, list[int]]]:
    return sorted((each.topic.replace(prefix, "$"), sorted(each.partitions)) for each in listed)

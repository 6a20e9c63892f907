"""Subscriptions and assignments: all versions, those of clients that leave fields out, and random bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from protocol.errors import DecodeError
from protocol.messages.join_group import JoinGroupRequest
from tests.protocol.definitions import definition
from tests.protocol.messages import build
from tests.protocol.vectors import data_of, message_of, plain_values, vectors

VECTORS = [pytest.param(each, id=each["id"]) for each in vectors()["consumer_protocol"]]


@pytest.mark.parametrize("vector", VECTORS)
def test_data_decodes_to_its_fields_and_they_encode_to_its_bytes(vector: dict[str, Any]) -> None:
    subscription = vector["kind"] == "subscription"
    name = "ConsumerProtocolSubscription" if subscription else "ConsumerProtocolAssignment"
    fields = definition(name, vector["version"]).fields
    expected = build(Subscription if subscription else Assignment, fields, plain_values(fields, vector["fields"]))
    data = data_of(vector)
    if subscription:
        assert decode_subscription(data) == expected
        assert encode_subscription(expected, vector["version"]) == data
        assert subscribed_topics(data) == expected.topics
    else:
        assert decode_assignment(data) == expected
        assert encode_assignment(expected, vector["version"]) == data


@pytest.mark.parametrize("vector", VECTORS)
def test_data_cut_at_any_byte_is_a_decode_error(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    decode = decode_subscription if vector["kind"] == "subscription" else decode_assignment
    for length in range(1, len(data)):
        with pytest.raises(DecodeError):
            decode(data[:length])


@pytest.mark.parametrize("vector", VECTORS)
def test_a_version_above_the_newest_known_is_read_as_that_one(vector: dict[str, Any]) -> None:
    if vector["version"] == 3:
        data = b"\x00\x09" + data_of(vector)[2:] + b"fields that we do not know"
        decode = decode_subscription if vector["kind"] == "subscription" else decode_assignment
        assert decode(data) == decode(data_of(vector))


def captured_subscriptions() -> list[Any]:
    found = []
    for vector in vectors()["captured"]:
        if vector["api"] == "JoinGroup":
            request: JoinGroupRequest = message_of(vector)
            found += [pytest.param(each.metadata, id=f"{vector['id']}-{each.name}") for each in request.protocols]
    return found


@pytest.mark.parametrize("metadata", captured_subscriptions())
def test_the_topics_of_every_real_client_can_be_read(metadata: bytes) -> None:
    assert subscribed_topics(metadata) == ["t"] or all(subscribed_topics(metadata))


def test_topics_of_a_version_1_without_its_partitions_are_read() -> None:
    # kafka-go and @platformatic/kafka send this.
    short = bytes.fromhex("0001" + "00000001" + "0001" + "74" + "00000000")
    assert subscribed_topics(short) == ["t"]
    with pytest.raises(DecodeError):
        decode_subscription(short)


def test_empty_data_is_an_empty_assignment_but_not_a_subscription() -> None:
    assert decode_assignment(b"") == Assignment()
    for decode in (decode_subscription, subscribed_topics):
        with pytest.raises(DecodeError):
            decode(b"")


@given(st.binary(max_size=40))
def test_any_bytes_decode_or_are_a_decode_error(data: bytes) -> None:
    for decode in (decode_subscription, decode_assignment, subscribed_topics):
        try:
            decode(data)
        except DecodeError:
            continue


@given(st.lists(st.tuples(st.text(max_size=5), st.lists(st.integers(0, 2**31 - 1), max_size=3)), max_size=3))
def test_any_assignment_round_trips(assigned: list[tuple[str, list[int]]]) -> None:
    assignment = Assignment([TopicPartitions(topic, partitions) for topic, partitions in assigned], b"user data")
    for version in range(4):
        assert decode_assignment(encode_assignment(assignment, version)) == assignment

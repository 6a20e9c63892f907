"""Requests exactly as fifteen client builds sent them, and hostile ones, over a real socket.

The captured bytes come with the protocol's vectors. Each is understood and answered with its own correlation id and an
answer that its version can decode, or its version is not served and the connection is closed; which of the two it must
be follows from what ApiVersions says.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.messages.api_versions import ApiVersionsRequest
from tests.protocol.vectors import data_of, vectors
from tests.support.daemon import Daemon
from tests.support.questions import produce
from tests.support.wire import call, decode_answer, encode_frame, is_closed, receive_frame

pytestmark = pytest.mark.integration

CAPTURED = {each["id"]: each for each in vectors()["captured"]}
HOSTILE = {each["id"]: each for each in vectors()["hostile"]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with the topic that the captures are about, and records for their fetches."""
    overrides = ("group.initial.rebalance.delay.ms=0",)
    with Daemon(tmp_path_factory.mktemp("served"), overrides=overrides, topics=("t:2",)) as running:
        for partition in (0, 1):
            produce(running.port, "t", partition, [b"record"])
        yield running


@pytest.fixture(scope="module")
def ranges(served: Daemon) -> dict[int, tuple[int, int]]:
    response = call(served.port, ApiVersionsRequest(), 0)
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


@pytest.mark.parametrize("vector", CAPTURED.values(), ids=CAPTURED.keys())
def test_a_captured_request_is_answered_or_its_version_is_not_served(
    served: Daemon, ranges: dict[int, tuple[int, int]], vector: dict[str, Any]
) -> None:
    key, version = vector["api_key"], vector["version"]
    lowest, highest = ranges.get(key, (0, -1))
    data = data_of(vector)
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.settimeout(10)
        connection.sendall(len(data).to_bytes(4, "big") + data)
        if not lowest <= version <= highest:
            assert is_closed(connection)
            return
        if vector["fields"].get("Acks") == 0:  # the one request without an answer: the next one is answered
            connection.sendall(encode_frame(ApiVersionsRequest(), 0, 77))
            assert decode_answer(18, 0, receive_frame(connection))[0] == 77
            return
        correlation_id, _ = decode_answer(key, version, receive_frame(connection))
        assert correlation_id == vector["header"]["correlation_id"]


def test_the_captures_are_of_versions_that_are_served_but_for_a_few_that_no_client_needs(
    ranges: dict[int, tuple[int, int]],
) -> None:
    refused = {
        f"{each['api']} {each['version']}"
        for each in CAPTURED.values()
        if not ranges.get(each["api_key"], (0, -1))[0] <= each["version"] <= ranges.get(each["api_key"], (0, -1))[1]
    }
    assert refused <= {
        *("ConsumerGroupHeartbeat 1", "GetTelemetrySubscriptions 0", "InitProducerId 5", "Fetch 17", "Metadata 13"),
        *("ListOffsets 9", "ListOffsets 10", "Produce 12"),
    }


@pytest.mark.parametrize("vector", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_request_ends_as_its_vector_says(served: Daemon, vector: dict[str, Any]) -> None:
    data = data_of(vector)
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.settimeout(10)
        connection.sendall(len(data).to_bytes(4, "big") + data)
        if vector["expect"].startswith("reject"):
            assert is_closed(connection)
        elif vector["id"] == "apiversions-v99":
            correlation_id, answer = decode_answer(18, 0, receive_frame(connection))
            assert (correlation_id, answer.error_code) == (7, 35)
            assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [(18, 0, 5)]
        else:  # a Heartbeat of an unknown member, with something added that is to be skipped
            correlation_id, answer = decode_answer(12, 4, receive_frame(connection))
            assert (correlation_id, answer.error_code) == (1, 25)

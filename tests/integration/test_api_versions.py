"""ApiVersions over a real socket: the request with rules of its own (KIP-511, Kafka's ApiVersionsRequest)."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from tests.support.daemon import Daemon
from tests.support.wire import Wire, call, decode_answer, encode_frame, receive_frame

pytestmark = pytest.mark.integration

NEWEST = ApiVersionsRequest(client_software_name="wire-test", client_software_version="1.0")


@pytest.mark.parametrize("version", [6, 99, -1])
def test_a_version_we_do_not_know_is_answered_in_v0_with_the_true_range_and_the_connection_goes_on(
    daemon: Daemon, version: int
) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.settimeout(10)
        request = struct.pack(">hhi", 18, version, 7) + b"\0\4abcd" + b"\xff\xff what only the future can read"
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = receive_frame(connection)
        assert answer == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 5)
        connection.sendall(encode_frame(NEWEST, 5, 8))
        correlation_id, retried = decode_answer(18, 5, receive_frame(connection))
        assert (correlation_id, retried.error_code) == (8, 0)


@pytest.mark.parametrize(
    ("name", "version", "error"),
    [
        ("apache-kafka-java", "4.0.0", 0),
        ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0", 0),
        ("k", "1", 0),
        ("", "1.0", 42),
        ("client", "", 42),
        ("-client", "1.0", 42),
        ("client.", "1.0", 42),
        ("two words", "1.0", 42),
        ("client", "1_0", 42),
        ("kliënt", "1.0", 42),
    ],
)
async def test_a_software_name_must_be_well_formed_and_the_connection_stays_open(
    wire: Wire, name: str, version: str, error: int
) -> None:
    response = await wire.request(ApiVersionsRequest(client_software_name=name, client_software_version=version), 3)
    assert (response.error_code, response.api_keys == []) == (error, error != 0)
    assert (await wire.request(NEWEST, 3)).error_code == 0


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, 0),
        ("its own", 1, 0),
        ("another", 1, 129),
        ("its own", 2, 129),
        ("its own", -2, 129),
        ("", 1, 129),
        ("another", -1, 42),
        ("its own", -1, 42),
        (None, 1, 42),
    ],
)
async def test_a_client_at_the_wrong_node_is_told_to_begin_again(
    wire: Wire, cluster_id: str | None, node_id: int, error: int
) -> None:
    known = (await wire.request(MetadataRequest(topics=[]), 2)).cluster_id
    asked = ApiVersionsRequest("c", "1", known if cluster_id == "its own" else cluster_id, node_id)
    response = await wire.request(asked, 5)
    assert (response.error_code, response.api_keys == []) == (error, error != 0)
    assert (await wire.request(NEWEST, 5)).error_code == 0, "the connection stays open"


@pytest.mark.parametrize("version", range(6))
def test_every_version_names_the_same_ranges(daemon: Daemon, version: int) -> None:
    response = call(daemon.port, NEWEST, version)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    # ranges that real clients accept; the minima are what the oldest supported clients need
    wanted = {
        0: (0, 13),
        1: (4, 18),
        2: (1, 11),
        3: (0, 13),
        8: (2, 10),
        9: (1, 10),
        10: (0, 6),
        11: (0, 9),
        12: (0, 4),
        13: (0, 5),
        14: (0, 5),
        15: (0, 6),
        16: (0, 5),
        18: (0, 5),
        22: (0, 5),
        23: (2, 4),
        24: (0, 5),
        25: (0, 4),
        26: (0, 5),
        27: (1, 2),
        28: (0, 6),
        42: (0, 3),
        47: (0, 0),
        61: (0, 0),
        65: (0, 0),
        66: (0, 2),
        71: (0, 0),
        72: (0, 0),
    }
    assert {key: each for key, each in ranges.items() if key in wanted} == wanted


def test_what_is_advertised_is_served(daemon: Daemon) -> None:
    """Nonsense closes the connection whether the version is served or not; the log line tells which it was."""
    ranges = call(daemon.port, NEWEST, 4).api_keys
    before = len(daemon.log_lines())
    for each in ranges:
        for version in range(max(each.min_version, 3 if each.api_key == 0 else 0), each.max_version + 1):
            with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
                request = struct.pack(">hhi", each.api_key, version, 1) + b"\xff\xff" + b"\xff" * 40
                connection.sendall(struct.pack(">i", len(request)) + request)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
    assert not [line for line in daemon.log_lines()[before:] if "not served" in line]


async def test_no_client_needs_to_ask_and_each_may_ask_twice(wire: Wire) -> None:
    assert (await wire.request(MetadataRequest(topics=None), 1)).brokers
    assert (await wire.request(ApiVersionsRequest(), 0)).error_code == 0
    assert (await wire.request(NEWEST, 4)).error_code == 0


@pytest.mark.parametrize(
    ("version", "supported"), [(2, []), (3, []), (4, [("group.version", 0, 1), ("transaction.version", 0, 2)])]
)
async def test_the_consumer_protocol_and_transactions_are_announced_as_features(
    wire: Wire, version: int, supported: list[tuple[str, int, int]]
) -> None:
    answer = await wire.request(NEWEST, version)
    assert [(each.name, each.min_version, each.max_version) for each in answer.supported_features] == supported
    finalized = [(each.name, each.min_version_level, each.max_version_level) for each in answer.finalized_features]
    assert finalized == ([("group.version", 1, 1), ("transaction.version", 2, 2)] if version >= 3 else [])
    assert answer.finalized_features_epoch == (0 if version >= 3 else -1)


def test_a_node_without_the_consumer_protocol_does_not_finalize_it(tmp_path: Path) -> None:
    with Daemon(tmp_path, overrides=["group.coordinator.rebalance.protocols=classic"]) as classic:
        answer = call(classic.port, NEWEST, 4)
    assert [each.name for each in answer.supported_features] == ["group.version", "transaction.version"]
    assert [each.name for each in answer.finalized_features] == ["transaction.version"]

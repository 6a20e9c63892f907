"""The software that ApiVersions names is known for the later requests of its connection, and has its known defects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Ticket
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.edge import Edge, Peer

tickets: list[Ticket] = []


def keep(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    tickets.append(ticket)
    node.reply(ticket, MetadataResponse())


@pytest.fixture
def edge() -> Iterator[Edge]:
    tickets.clear()
    yield Edge({ApiKey.API_VERSIONS: HANDLERS[ApiKey.API_VERSIONS].handle, ApiKey.METADATA: keep})
    tickets.clear()


def named(peer: Peer, name: str, software_version: str, *, version: int = 3) -> ClientSoftware:
    """Return the software of a request behind this ApiVersions."""
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software_version)
    peer.send(request, version=version)
    peer.send(MetadataRequest())
    return tickets[-1].client_software


def test_a_connection_without_api_versions_has_none(edge: Edge) -> None:
    edge.peer().send(MetadataRequest())
    assert tickets[-1].client_software is UNKNOWN_SOFTWARE


def test_name_and_version_are_remembered(edge: Edge) -> None:
    assert named(edge.peer(), "kgo", "1.22.2") == ClientSoftware("kgo", "1.22.2")


def test_equal_software_is_one_object(edge: Edge) -> None:
    assert named(edge.peer(), "kgo", "1.22.2") is named(edge.peer(), "kgo", "1.22.2")


def test_an_older_version_names_none(edge: Edge) -> None:
    assert named(edge.peer(), "", "", version=2) is UNKNOWN_SOFTWARE


def test_a_malformed_name_is_not_remembered(edge: Edge) -> None:
    assert named(edge.peer(), "two words", "1") is UNKNOWN_SOFTWARE


def test_a_long_name_is_cut(edge: Edge) -> None:
    most = edge.config.client_software_max_chars
    longest = ClientSoftware("n" * most, "1" * most)
    for length in (most, most + 1, 10_000):
        assert named(edge.peer(), "n" * length, "1" * length) == longest
    assert named(edge.peer(), "n", "1" * (most - 1)) == ClientSoftware("n", "1" * (most - 1))


@pytest.mark.parametrize(
    ("name", "version", "pushes"),
    [
        ("apache-kafka-java", "3.7.1", False),
        ("apache-kafka-java", "3.8.0", False),
        ("apache-kafka-java", "3.8.1", True),
        ("apache-kafka-java", "4.4.0", True),
        ("librdkafka", "3.7.1", True),
    ],
)
def test_a_client_that_waits_for_its_last_push_is_not_told_that_it_may_push(
    edge: Edge, name: str, version: str, pushes: bool
) -> None:
    """The close() of these consumers took up to 30 s: KAFKA-17731."""
    peer = edge.peer()
    peer.send(ApiVersionsRequest(client_software_name=name, client_software_version=version), version=3)
    keys = {each.api_key for each in peer.answers[-1].api_keys}
    assert (ApiKey.PUSH_TELEMETRY in keys) == pushes
    assert (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS in keys) == pushes

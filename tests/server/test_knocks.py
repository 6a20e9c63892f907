"""The table of clients that cannot be served, and the first bytes by which a connection knows them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.server.api.protocol_doc import KAFKA
from coordinator.server.api.table import HANDLERS
from coordinator.server.knocks import BY_API_KEY, BY_START, HTTP, SASL, http_answer, knock_of, sentence_of
from tests.support.edge import Edge

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PRI")


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[Edge]:
    yield Edge({}, log_dirs=str(tmp_path))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_http_is_known_by_its_first_bytes(method: str) -> None:
    assert knock_of(f"{method} / HTTP/1.1".encode()[:4]) is HTTP


def test_first_bytes_of_a_request_of_kafka_are_no_knock() -> None:
    largest = 0x1603_0000  # 369 MB, above socket.request.max.bytes unless that was raised
    for length in (0, 1, 100, 1 << 20, 104_857_600, largest - 1, -1):
        assert knock_of(length.to_bytes(4, "big", signed=True)) is None


def test_keys_of_the_table_are_requests_of_groups_that_are_not_served() -> None:
    assert not set(BY_API_KEY) & set(HANDLERS)
    for key in BY_API_KEY:
        assert KAFKA[key][0].startswith(("ConsumerGroup", "Share", "Streams")) or "ShareGroup" in KAFKA[key][0]


@pytest.mark.parametrize("http_address", ["", "127.0.0.1:9080", "[fe80::1%eth0]:9080", "{0}"])
def test_every_sentence_can_be_completed(http_address: str) -> None:
    for knock in {*BY_START.values(), *BY_API_KEY.values(), SASL}:
        sentence = sentence_of(knock, http_address)
        assert sentence.startswith("this ") and (http_address in sentence or knock is not HTTP)


def test_answer_of_http_is_complete() -> None:
    head, _, body = http_answer("été").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"Connection: close" in head
    assert f"Content-Length: {len(body)}".encode() in head and body.decode() == "été\n"


@pytest.mark.parametrize("step", [1, 3, 100])
def test_knock_is_known_however_its_bytes_arrive(edge: Edge, step: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    peer = edge.peer()
    data = b"GET / HTTP/1.1\r\n\r\n"
    for start in range(0, len(data), step):
        peer.connection.data_received(data[start : start + step])
    assert peer.transport.received == http_answer(sentence_of(HTTP, "")) and peer.transport.is_closed
    assert len([record for record in caplog.records if "HTTP client" in record.message]) == 1

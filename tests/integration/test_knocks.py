"""Clients that the Kafka port cannot serve: each gets one line that says what to set, however often it tries again."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import queue
import re
import socket
import ssl
import struct
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from confluent_kafka import Consumer

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.wire import Wire, is_closed

pytestmark = pytest.mark.integration

PASSWORD = "correct-horse"  # must not occur in the log
TLS_LINE = "reason=this is a TLS client, and TLS is not on here; set security.protocol=PLAINTEXT in the client"
HTTP_SENTENCE = "this is an HTTP client, and this port serves the Kafka protocol; "
SASL_REASON = (
    "this client wants to log in with SASL, which is not on here; set security.protocol=PLAINTEXT in the client"
)
ILLEGAL_SASL_STATE = 34


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon of the test's own: the limit of lines counts from its start."""
    with Daemon(tmp_path, topics=("orders:2",), http="127.0.0.1:0") as running:
        yield running


def warnings(daemon: Daemon) -> list[str]:
    return [line for line in daemon.log_lines() if " WARNING " in line]


def one_warning(daemon: Daemon, about: str) -> str:
    """Wait for a warning and return it; there must be no other."""
    (line,) = eventually(lambda: warnings(daemon), f"a warning about {about}")
    return line


def http_address(daemon: Daemon) -> str:
    found = re.search(r"http listen=(\S+)", daemon.log_text())
    assert found
    return found[1]


def request_of(key: int, client_id: bytes = b"pod-7") -> bytes:
    """Return the frame of a request with this API key and no body that matters."""
    body = struct.pack(">hhih", key, 0, 1, len(client_id)) + client_id + bytes(20)
    return struct.pack(">i", len(body)) + body


# -- TLS and HTTP ------------------------------------------------------------------------------------------------------


def test_tls_client_is_named_as_one(daemon: Daemon) -> None:
    context = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        peer = f"peer=127.0.0.1:{connection.getsockname()[1]} "
        with pytest.raises(OSError):  # ssl.SSLError, or the connection was reset
            context.wrap_socket(connection, server_hostname="localhost")
    line = one_warning(daemon, "TLS")
    assert peer in line and line.endswith(TLS_LINE)


def test_librdkafka_with_tls_causes_one_line_although_it_tries_again_at_once(daemon: Daemon) -> None:
    failures: queue.Queue[object] = queue.Queue()
    consumer = Consumer(
        {
            "bootstrap.servers": daemon.address,
            "group.id": "g",
            "security.protocol": "SSL",
            "log_level": 0,
            "error_cb": failures.put,
            "reconnect.backoff.ms": 10,
        }
    )
    eventually(lambda: consumer.poll(0.1) is None and failures.qsize() > 5, "librdkafka tries again")
    consumer.close()
    assert one_warning(daemon, "TLS").endswith(TLS_LINE)


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("POST", b"x" * 100_000), ("OPTIONS", None)])
def test_http_client_is_told_where_http_is(daemon: Daemon, method: str, body: bytes | None) -> None:
    client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    client.request(method, "/metrics", body)
    response = client.getresponse()
    said = response.read().decode().removesuffix("\n")
    client.close()
    url = f"http://{http_address(daemon)}/"
    assert (response.status, said) == (400, f"{HTTP_SENTENCE}HTTP is at {url}")
    assert one_warning(daemon, "HTTP").endswith(f"reason={said}")
    with urllib.request.urlopen(f"{url}healthz", timeout=10) as answer:
        assert answer.status == 200


def test_http_client_is_told_if_http_is_off(tmp_path: Path) -> None:
    with Daemon(tmp_path, http="off") as daemon:
        client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        client.request("GET", "/")
        assert client.getresponse().read().decode() == f"{HTTP_SENTENCE}HTTP is not on here (http.listen)\n"
        client.close()


def test_http_client_of_a_worker_is_told_where_the_http_of_all_workers_is(tmp_path: Path) -> None:
    with Daemon(tmp_path, http="127.0.0.1:0", arguments=("--workers", "2")) as daemon:
        client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        client.request("GET", "/")
        assert client.getresponse().read().decode() == f"{HTTP_SENTENCE}HTTP is at http://{http_address(daemon)}/\n"
        client.close()


def test_bytes_of_a_knock_behind_a_request_are_no_knock(daemon: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.sendall(request_of(18) + b"GET / HTTP/1.1\r\n\r\n")
        received = b""
        while data := connection.recv(65_536):
            received += data
    assert received and b"HTTP" not in received
    assert "reason=bad frame: a frame of 1195725856 bytes" in one_warning(daemon, "the frame")


# -- SASL --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
async def test_sasl_handshake_is_answered_as_by_kafka_without_sasl(daemon: Daemon, version: int) -> None:
    async with await Wire.connect(daemon.port, client_id="pod-7") as wire:
        answer = await wire.request(SaslHandshakeRequest(mechanism="PLAIN"), version)
        assert (answer.error_code, answer.mechanisms) == (ILLEGAL_SASL_STATE, [])
        assert (await wire.request(ApiVersionsRequest(), 0)).error_code == 0, "the connection stays open"
    line = one_warning(daemon, "SASL")
    assert "sasl refused peer=127.0.0.1:" in line and line.endswith(f"client=pod-7 reason={SASL_REASON}")


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_sasl_authenticate_is_answered_as_by_kafka_without_sasl(daemon: Daemon, version: int) -> None:
    async with await Wire.connect(daemon.port) as wire:
        answer = await wire.request(SaslAuthenticateRequest(auth_bytes=b"\0me\0" + PASSWORD.encode()), version)
        assert answer.error_code == ILLEGAL_SASL_STATE
        assert answer.error_message == "SaslAuthenticate request received after successful authentication"
        assert (await wire.request(ApiVersionsRequest(), 0)).error_code == 0, "the connection stays open"
    assert SASL_REASON in one_warning(daemon, "SASL")
    assert PASSWORD not in daemon.log_text()


def librdkafka(address: str) -> str:
    failures: queue.Queue[object] = queue.Queue()
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "g",
            "client.id": "pod-7",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "me",
            "sasl.password": PASSWORD,
            "log_level": 0,
            "error_cb": failures.put,
        }
    )
    eventually(lambda: consumer.poll(0.1) is None and failures.qsize() > 3, "librdkafka fails and tries again")
    consumer.close()
    return str(failures.get())


def aiokafka(address: str) -> str:
    async def start() -> None:
        consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=address,
            group_id="g",
            client_id="pod-7",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username="me",
            sasl_plain_password=PASSWORD,
        )
        try:
            await consumer.start()
        finally:
            await consumer.stop()

    with pytest.raises(KafkaError) as failure:
        asyncio.run(start())
    return str(failure.value)


def kafka_python(address: str) -> str:
    import kafka  # here, because of its warnings
    from kafka.errors import KafkaError as KafkaPythonError

    with pytest.raises(KafkaPythonError) as failure:
        kafka.KafkaConsumer(
            "orders",
            bootstrap_servers=address,
            group_id="g",
            client_id="pod-7",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username="me",
            sasl_plain_password=PASSWORD,
            bootstrap_timeout_ms=2000,
        )
    return str(failure.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("client", [librdkafka, aiokafka, kafka_python])
def test_sasl_client_is_named_once_and_its_password_never(daemon: Daemon, client: Callable[[str], str]) -> None:
    assert client(daemon.address)
    line = one_warning(daemon, "SASL")
    assert "client=pod-7 " in line and line.endswith(SASL_REASON)
    assert PASSWORD not in daemon.log_text()


# -- protocols of groups that are not served ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (76, "a share group (KIP-932), which is not served here; use a consumer group"),
        (88, "(KIP-1071, group.protocol=streams), which is not served here; set group.protocol=classic"),
    ],
)
def test_request_of_a_newer_group_protocol_is_named(daemon: Daemon, key: int, said: str) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.sendall(request_of(key))
        assert is_closed(connection)
    line = one_warning(daemon, "the protocol")
    assert said in line and " client=pod-7 " in line


# -- many of them ------------------------------------------------------------------------------------------------------


def test_a_thousand_knocks_cause_few_lines(daemon: Daemon) -> None:
    kinds = (b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n", request_of(76), request_of(17))
    for number in range(1000):
        with socket.create_connection(("127.0.0.1", daemon.port)) as connection, contextlib.suppress(OSError):
            connection.sendall(kinds[number % len(kinds)])
            connection.settimeout(10)
            connection.recv(1000)
    assert len(warnings(daemon)) == len(kinds)


def test_many_client_ids_cause_few_lines(daemon: Daemon) -> None:
    for number in range(200):
        with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
            connection.sendall(request_of(76, f"pod-{number}".encode()))
            assert is_closed(connection)
    assert len(warnings(daemon)) == 5

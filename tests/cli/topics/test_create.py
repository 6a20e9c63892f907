"""`coordinator topics`, and the errors of every command if no broker answers."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.support.daemon import Daemon
from tests.support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.integration


class Broker(ScriptedBroker):
    """A single node with a few topics, which advertises an address that cannot be reached."""

    def __init__(self) -> None:
        super().__init__({MetadataRequest: self._metadata, CreateTopicsRequest: self._create})
        self.topics = {"orders": 3, "__consumer_offsets": 50}

    def _metadata(self, request: MetadataRequest, version: int) -> MetadataResponse:
        assert not request.allow_auto_topic_creation or version < 4
        names = sorted(self.topics) if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(7, "not-resolvable.invalid", 9092)],
            controller_id=7,
            topics=[
                MetadataResponseTopic(
                    name=name,
                    is_internal=name.startswith("__"),
                    partitions=[MetadataResponsePartition(replica_nodes=[7])] * self.topics[name],
                )
                for name in names
            ],
        )

    def _create(self, request: CreateTopicsRequest, version: int) -> CreateTopicsResponse:
        results = []
        for topic in request.topics:
            if topic.name in self.topics:
                results.append(CreatableTopicResult(name=topic.name, error_code=ErrorCode.TOPIC_ALREADY_EXISTS))
                continue
            self.topics[topic.name] = 1 if topic.num_partitions == -1 else topic.num_partitions
            results.append(CreatableTopicResult(name=topic.name))
        return CreateTopicsResponse(topics=results)

    def run(self, *words: str) -> int:
        return main(["topics", *words, "--bootstrap-server", self.address])


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    with broker:
        yield broker


def test_topics_are_listed(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert broker.run("list") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["TOPIC", "PARTITIONCOUNT", "REPLICATIONFACTOR", "INTERNAL"],
        ["__consumer_offsets", "50", "1", "True"],
        ["orders", "3", "1", "False"],
    ]


def test_topics_are_created_with_partitions_and_settings(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert broker.run("create", "a:4", "b", "--topic-config", "retention.ms=1000", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["topic"], row["partitioncount"]) for row in rows] == [("a", 4), ("b", 1)]
    (request,) = [each for each, _ in broker.seen if isinstance(each, CreateTopicsRequest)]
    assert [(topic.name, topic.num_partitions, topic.replication_factor) for topic in request.topics] == [
        ("a", 4, -1),
        ("b", -1, -1),
    ]
    assert [(config.name, config.value) for config in request.topics[0].configs] == [("retention.ms", "1000")]


def test_existing_topic_is_an_error_without_if_not_exists(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert broker.run("create", "orders:3") == 1
    said = capsys.readouterr().err
    assert "topic 'orders' was not created: TOPIC_ALREADY_EXISTS" in said and "with --if-not-exists" in said
    assert broker.run("create", "orders:3", "--if-not-exists") == 0
    assert capsys.readouterr().err == ""
    assert broker.run("create", "orders:6", "--if-not-exists") == 0
    assert "topic 'orders' already exists with 3 partitions and keeps them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["create", "a:b"], "'a:b' must give a number of partitions of at least 1, as in orders:12"),
        (["create", "a:1", "a:2"], "the topic 'a' is named twice; give each topic once"),
        (["create", "a b"], "'a b' is not a topic name"),
        (["create", "a", "--topic-config", "x"], "--config 'x' has no value; write --config key=value"),
    ],
)
def test_wrong_call_is_one_sentence_and_sends_nothing(
    broker: Broker, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert broker.run(*words) == 2
    assert sentence in capsys.readouterr().err
    assert broker.seen == []


def test_missing_api_of_a_broker_is_named(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.versions[ApiKey.METADATA] = (20, 30)
    assert broker.run("list") == 1
    assert f"{broker.address} does not offer METADATA in a version known here" in capsys.readouterr().err


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_refused_connection_says_how_to_start_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert main(["topics", "list", "--bootstrap-server", address]) == 2
    assert capsys.readouterr().err == (
        f"coordinator: cannot connect to {address} (Connection refused); "
        "start it with `coordinator serve`, or name another with --bootstrap-server host:port\n"
    )


def test_the_next_bootstrap_address_is_tried(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap-server", f"127.0.0.1:{free_port()},{broker.address}"]) == 0
    assert "orders" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", ",", "nowhere", "a:b"])
def test_invalid_bootstrap_address_is_a_wrong_call(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap-server", text]) == 2
    assert "write host:port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not answer as a Kafka broker: it is an HTTP server; give"),
        (b"\x15\x03\x01\x00\x02\x02\x46" + b"\x00" * 20, "does not answer as a Kafka broker: it speaks TLS"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x63", "does not answer as a Kafka broker"),  # a frame that ends too early
        (b"", "ended the connection (closed without an answer)"),
    ],
    ids=["http", "tls", "short", "closed"],
)
def test_server_of_another_protocol_is_detected(
    answer: bytes, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port: Any = listener.getsockname()[1]
        assert main(["topics", "list", "--bootstrap-server", f"127.0.0.1:{port}"]) == 2
        thread.join(10)
    assert sentence in capsys.readouterr().err


def test_http_port_of_the_daemon_and_a_tls_port_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with Daemon(tmp_path, http=f"127.0.0.1:{port}"):
        assert main(["topics", "list", "-b", f"127.0.0.1:{port}", "--timeout", "0.5"]) == 2
    assert f"127.0.0.1:{port} does not answer as a Kafka broker: it is an HTTP server" in capsys.readouterr().err
    # This server has no certificate, so it refuses each handshake, in TLS.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    context.wrap_socket(connection, server_side=True)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        assert main(["topics", "list", "-b", f"127.0.0.1:{port}"]) == 2
        thread.join(10)
    assert f"127.0.0.1:{port} does not answer as a Kafka broker: it speaks TLS; set" in capsys.readouterr().err


def test_silent_broker_is_given_up_after_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert main(["topics", "list", "--bootstrap-server", address, "--timeout", "0.1"]) == 2
    assert f"{address} did not answer in time" in capsys.readouterr().err

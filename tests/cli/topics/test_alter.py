"""`coordinator topics describe`, `alter` and `delete` against a daemon."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.cli.command_line import CommandLine
from tests.support.admin import topic_metadata
from tests.support.daemon import Daemon
from tests.support.questions import produce
from tests.support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.integration

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def command(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(daemon.address, capsys)


@pytest.fixture
def topic(daemon: Daemon, command: CommandLine) -> str:
    """A topic of this test, with three partitions."""
    name = f"orders-{next(NUMBERS)}"
    command("topics", "create", "-t", name, "--partitions", "3", "--config", "retention.ms=1000")
    return name


def test_partitions_are_described_with_their_offsets(command: CommandLine, daemon: Daemon, topic: str) -> None:
    produce(daemon.port, topic, 1, [b"a", b"b"])
    said = command("topics", "describe", topic)
    assert said.err == f"topic {topic!r}: 3 partitions, replication factor 1\n"
    assert said.lines == [
        ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR", "LOG-START-OFFSET", "LOG-END-OFFSET"],
        [topic, "0", "1", "1", "1", "0", "0"],
        [topic, "1", "1", "1", "1", "0", "2"],
        [topic, "2", "1", "1", "1", "0", "0"],
    ]
    assert command("topics", "describe", "-t", topic, "--json").json[1]["replicas"] == [1]


def test_topics_are_described_all_at_once_without_a_name(command: CommandLine, topic: str) -> None:
    rows = command("topics", "describe", "--json").json
    assert {(topic, 2), ("__consumer_offsets", 0)} <= {(row["topic"], row["partition"]) for row in rows}
    listed = command("topics", "list", "--json", "--exclude-internal").json
    assert topic in [row["topic"] for row in listed] and "__consumer_offsets" not in [row["topic"] for row in listed]


def test_settings_are_altered_and_described(command: CommandLine, topic: str) -> None:
    wanted = ["--config", "retention.bytes=7000", "--config", "cleanup.policy=compact,delete"]
    command("topics", "alter", topic, *wanted, "--delete-config", "retention.ms")
    rows = command("topics", "describe", topic, "--configs", "--json").json
    assert [(row["key"], row["value"], row["source"]) for row in rows] == [
        ("cleanup.policy", "compact,delete", "topic"),
        ("retention.bytes", "7000", "topic"),
    ]
    whole = command("topics", "describe", topic, "--configs", "--verbose", "--json").json
    assert ("retention.ms", "default") in [(row["key"], row["source"]) for row in whole]


def test_partitions_are_added(command: CommandLine, daemon: Daemon, topic: str) -> None:
    said = command("topics", "alter", topic, "--partitions", "5", "-o", "yaml")
    assert said.out == f'- topic: "{topic}"\n  key: "partitions"\n  value: "5"\n'
    assert len(topic_metadata(daemon.port, topic).partitions) == 5
    said = command("topics", "alter", topic, "--partitions", "4", code=1)
    assert f"topic {topic!r} was not altered: INVALID_PARTITIONS" in said.err


def test_topics_are_deleted(command: CommandLine, daemon: Daemon, topic: str) -> None:
    said = command("topics", "delete", topic, "missing", "--json", code=1)
    assert said.json == [{"topic": topic, "deleted": True}]
    assert said.err.startswith("coordinator: there is no topic 'missing'; ")
    command("topics", "delete", topic, "--if-exists")
    assert topic not in command("topics", "list").out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["alter", "{topic}"], 2, "say what to change: --partitions N, --config KEY=VALUE or --delete-config KEY"),
        (["alter", "{topic}", "--config", "x"], 2, "--config 'x' has no value; write --config key=value"),
        (["alter", "{topic}", "--config", "x=1"], 1, "topic '{topic}' was not altered: INVALID_CONFIG"),
        (["alter", "{topic}x", "--partitions", "9"], 1, "there is no topic '{topic}x'; did you mean '{topic}'?"),
        (["alter", "--partitions", "9"], 2, "name a TOPIC or several"),
        (["delete"], 2, "name a TOPIC or several"),
        (["create"], 2, "name a topic or several"),
        (["create", "a", "--partitions", "0"], 2, "name a topic or several, each with at least 1 partition"),
        (["describe", "{topic}x"], 1, "there is no topic '{topic}x'; did you mean '{topic}'?"),
        (["describe", "a b"], 1, "topic 'a b' cannot be described: INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_wrong_call_is_one_sentence(
    command: CommandLine, topic: str, words: list[str], code: int, sentence: str
) -> None:
    said = command("topics", *(word.replace("{topic}", topic) for word in words), code=code)
    assert said.err.startswith(f"coordinator: {sentence.replace('{topic}', topic)}")
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_topics_of_an_old_broker_are_deleted_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    def delete(request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
        assert (request.topic_names, request.topics) == (["orders"], [])
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders", error_code=ErrorCode.NONE)])

    def metadata(request: MetadataRequest, version: int) -> MetadataResponse:
        return MetadataResponse(brokers=[MetadataResponseBroker(7, "not-resolvable.invalid", 9092)], controller_id=7)

    old = ScriptedBroker({DeleteTopicsRequest: delete, MetadataRequest: metadata}, {ApiKey.DELETE_TOPICS: (0, 1)})
    with old:
        assert CommandLine(old.address, capsys)("topics", "delete", "orders", "-o", "csv").out == (
            "topic,deleted\norders,True\n"
        )


def test_broker_without_single_settings_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Kafka before 2.3 has AlterConfigs, which would take all other settings back."""

    def metadata(request: MetadataRequest, version: int) -> MetadataResponse:
        return MetadataResponse(brokers=[MetadataResponseBroker(7, "not-resolvable.invalid", 9092)], controller_id=7)

    with ScriptedBroker({MetadataRequest: metadata}) as old:
        said = CommandLine(old.address, capsys)("topics", "alter", "orders", "--config", "retention.ms=1", code=1)
    assert "does not offer INCREMENTAL_ALTER_CONFIGS in a version known here" in said.err


def test_what_does_not_fit_the_protocol_is_one_sentence(command: CommandLine) -> None:
    said = command("topics", "create", "-t", "large", "--partitions", "3000000000", code=2)
    assert "does not fit Kafka's protocol" in said.err and said.err.count("\n") == 1

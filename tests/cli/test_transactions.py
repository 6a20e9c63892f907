"""`coordinator transactions list`, `describe` and `abort` against a daemon with a real producer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.cli.command_line import CommandLine
from tests.support.daemon import Daemon
from tests.support.transactional import LIMIT_S, read, transactional_producer

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def command(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(daemon.address, capsys)


def test_an_open_transaction_is_listed_described_and_aborted(command: CommandLine, daemon: Daemon) -> None:
    producer = transactional_producer(daemon.address, "open")
    transactional_producer(daemon.address, "idle")
    producer.begin_transaction()
    producer.produce("out", b"never", partition=0)
    producer.flush(LIMIT_S)

    listed = command("transactions", "list", "--json").json
    assert [(row["transactional_id"], row["transactionstate"]) for row in listed] == [
        ("idle", "Empty"),
        ("open", "Ongoing"),
    ]
    open_only = command("transactions", "list", "--state", "Ongoing", "--duration-filter", "0", "--json").json
    assert [row["transactional_id"] for row in open_only] == ["open"]
    idle_id = str(listed[0]["producerid"])
    assert command("transactions", "list", "--producer-id", idle_id).lines[1:] == [["idle", "1", idle_id, "Empty"]]

    (described,) = command("transactions", "describe", "open", "--json").json
    assert described["topicpartitions"] == ["out-0"]
    assert (described["producerid"], described["timeout_ms"]) == (listed[1]["producerid"], 60_000)
    assert described["duration_ms"] >= 0

    (aborted,) = command("transactions", "abort", "open", "--json").json
    assert aborted["aborted"] is True
    assert aborted["producerepoch"] > described["producerepoch"]
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(LIMIT_S)
    assert fenced.value.args[0].code() in {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
    assert read(daemon.address, "out") == []


def test_ids_that_are_not_known_or_not_open_are_named_and_the_others_are_shown(
    command: CommandLine, daemon: Daemon
) -> None:
    transactional_producer(daemon.address, "calm")
    said = command("transactions", "describe", "calm", "strange", code=1)
    assert said.lines[1][:1] == ["calm"]
    assert "transactional id 'strange' is not known" in said.err
    assert "`coordinator transactions list` shows those that are" in said.err
    said = command("transactions", "abort", "calm", code=1)
    assert said.out == ""
    assert "transactional id 'calm' has no open transaction: its state is Empty" in said.err
    said = command("transactions", "list", "--state", "Open", code=2)
    assert "--state: Open is no state; try Empty, Ongoing, " in said.err

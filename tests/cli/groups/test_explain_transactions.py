"""`coordinator groups explain` of groups that an open transaction holds back, with real clients and a real daemon."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from coordinator.explain import transactions
from tests.cli.command_line import CommandLine, Said
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.transactional import LIMIT_S, read, transactional_producer

pytestmark = pytest.mark.integration


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, topics=["in:2", "out:2"]) as running:
        yield running


@pytest.fixture
def command(daemon: Daemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setattr(transactions, "OPEN_FOR_MS", 0)  # each open transaction counts as a long one
    return CommandLine(daemon.address, capsys)


def read_and_commit(daemon: Daemon, group: str, topic: str, count: int, partition: int = 0) -> None:
    """Read some records as a group that reads committed records, and commit the offset behind the last one."""
    settings = {"bootstrap.servers": daemon.address, "group.id": group, "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, partition, 0)])
    last = None
    for _ in range(count):
        last = consumer.poll(LIMIT_S)
        assert last is not None and last.error() is None
    assert last is not None
    consumer.commit(last, asynchronous=False)
    consumer.close()


def write(producer: Producer, topic: str, *values: str, partition: int = 0) -> None:
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(LIMIT_S) == 0


def open_transaction(daemon: Daemon, transactional_id: str, *values: str) -> Producer:
    producer = transactional_producer(daemon.address, transactional_id)
    producer.begin_transaction()
    write(producer, "out", *values)
    return producer


def test_the_transaction_that_holds_a_group_back_is_named_and_its_abort_ends_it(
    daemon: Daemon, command: CommandLine
) -> None:
    done = open_transaction(daemon, "done", "1", "2")
    done.commit_transaction(LIMIT_S)
    stuck = open_transaction(daemon, "stuck", "3")
    later = open_transaction(daemon, "later", "4", "5")
    # The group commits offset 2, behind the last record. The marker of `done` lies between that and the transaction.
    read_and_commit(daemon, "readers", "out", 2)

    said = command("groups", "explain", "readers", "--json").json
    (held,) = said["story"]["held"]
    assert (held["topic"], held["committed"], held["last_stable_offset"], held["high_watermark"]) == ("out", 2, 3, 6)
    assert held["transaction"]["transactional_id"] == "stuck" and held["transaction"]["state"] == "Ongoing"
    assert said["verdicts"][0]["code"] == "held_back" and 0 < said["verdicts"][0]["at_most_ms"] <= 60_000

    lines = command("groups", "explain", "readers").out.splitlines()
    assert lines[0].startswith(
        "Readers of committed records are held back at offset 3 of out-0, the last stable offset, 3 offsets before "
        "the high watermark 6: transactional id 'stuck' has a transaction open for "
    )
    assert lines[1].startswith("  `coordinator transactions abort stuck` ")
    command("transactions", "abort", "stuck")
    assert "'later'" in command("groups", "explain", "readers").out
    command("transactions", "abort", "later")
    assert command("groups", "explain", "readers", "--json").json["verdicts"][0]["code"] == "empty"
    del stuck, later


def test_a_group_with_committed_records_to_read_is_not_held_back(daemon: Daemon, command: CommandLine) -> None:
    done = open_transaction(daemon, "done", "1", "2")
    done.commit_transaction(LIMIT_S)
    stuck = open_transaction(daemon, "stuck", "3")
    read_and_commit(daemon, "readers", "out", 1)
    said = command("groups", "explain", "readers", "--json").json
    assert "held" not in said["story"] and said["verdicts"][0]["code"] == "empty"
    del stuck


def test_the_transaction_with_pending_offsets_of_a_group_is_named(daemon: Daemon, command: CommandLine) -> None:
    plain = Producer({"bootstrap.servers": daemon.address, "log_level": 0})
    write(plain, "in", "a", "b")
    producer = transactional_producer(daemon.address, "mover")
    consumer = Consumer({"bootstrap.servers": daemon.address, "group.id": "movers", "log_level": 0})
    producer.begin_transaction()
    producer.send_offsets_to_transaction(
        [TopicPartition("in", 0, 1), TopicPartition("in", 1, 1)], consumer.consumer_group_metadata(), LIMIT_S
    )
    said = command("groups", "explain", "movers").out
    assert said.startswith("The offset of in-0 and 1 more is pending in a transaction, and a consumer that is given ")
    assert "(UNSTABLE_OFFSET_COMMIT): transactional id 'mover' has a transaction open for " in said
    assert "`coordinator transactions abort mover`" in said
    producer.commit_transaction(LIMIT_S)
    assert "UNSTABLE" not in command("groups", "explain", "movers").out
    consumer.close()


def test_a_hanging_transaction_is_named_and_ended_in_its_partition(daemon: Daemon, command: CommandLine) -> None:
    write(Producer({"bootstrap.servers": daemon.address, "log_level": 0}), "out", "1")
    lost = open_transaction(daemon, "lost", "2")
    read_and_commit(daemon, "readers", "out", 1)
    del lost  # its client would initialise the transactional id again
    daemon.kill()
    for folder in daemon.data_dir.glob("__transaction_state-*"):
        shutil.rmtree(folder)
    daemon.start()

    def explained() -> Said | None:
        said = command("groups", "explain", "readers")
        return said if "Readers of committed records" in said.out else None

    said = eventually(explained, "the group is explained by the transaction")
    assert ", which no transactional id has open, has a transaction open there, and wrote to it last " in said.out
    abort = ["transactions", "abort", "--topic", "out", "--partition", "0", "--start-offset"]
    assert f"`coordinator {' '.join(abort)} 1`" in said.out
    assert "its open ones begin at 1" in command(*abort, "0", code=1).err
    (row,) = command(*abort, "1", "--json").json
    assert (row["topic"], row["partition"], row["startoffset"], row["aborted"]) == ("out", 0, 1, True)
    assert "it has none open" in command(*abort, "1", code=1).err
    assert read(daemon.address, "out") == ["1"]
    assert "held back" not in command("groups", "explain", "readers").out


@pytest.mark.parametrize("words", [(), ("one", "--topic", "out"), ("--topic", "out", "--partition", "0")])
def test_abort_asks_for_ids_or_for_a_place_in_a_partition(command: CommandLine, words: tuple[str, ...]) -> None:
    said = command("transactions", "abort", *words, code=2)
    assert "name transactional ids, or else --topic, --partition and --start-offset together" in said.err

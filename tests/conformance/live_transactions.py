"""Logs with transactions change their owner: open, committed and aborted ones, from a Kafka to a daemon and back.

Needs a real Kafka, so `make interchange` runs it and `make test` does not. Each owner tells of transactional ids,
partitions and offsets what the other told, and the producers of open transactions go on with it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coordinator.core.cluster import PRODUCER_ID_BITS
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.conformance.consumer_exchange import write_catalogue
from tests.conformance.kafka import Kafka
from tests.conformance.transaction_exchange import (
    SEGMENT_BYTES,
    TOPICS,
    UNSTABLE,
    await_late,
    begin_late,
    differences,
    fill_transactional_ids,
    go_on,
    hand_over,
    told_of_ids,
    told_of_offsets,
    values,
)
from tests.conformance.transactions import await_coordinator
from tests.support.daemon import Daemon
from tests.support.transactional import transactional_producer
from tests.support.wire import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

KAFKA_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": str(SEGMENT_BYTES),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
OUR_OVERRIDES = [
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    f"log.segment.bytes={SEGMENT_BYTES}",
]
COMMITTED = [f"committed {number}" for number in range(3)]


def servers(directory: Path) -> tuple[Kafka, Daemon]:
    return Kafka(directory / "kafka", settings=KAFKA_SETTINGS), Daemon(directory / "ours", overrides=OUR_OVERRIDES)


def make_topics(kafka: Kafka, daemon: Daemon) -> None:
    """Make the topics of the Kafka, its internal ones too, and give a daemon that has not started yet their ids."""
    for name, partitions in TOPICS.items():
        kafka.create_topic(name, partitions)
    await_coordinator(kafka.port)
    write_catalogue(kafka.port, daemon.data_dir, TOPICS)


def end(server: Kafka | Daemon, how: str) -> None:
    server.kill() if how == "kill" else server.stop()


def has_nothing_undecided(port: int) -> None:
    """The readers see what is committed, and so do the groups, before the open transactions end."""
    assert values(port, "t", 0) == values(port, "t", 1) == values(port, "u", 0) == COMMITTED
    assert values(port, "large", 0) == [f"large {number}" for number in (0, 0, 2, 2, 4, 4)]
    assert told_of_offsets(port, stable=False)["of-open"] == {"t-0": 3, "u-0": -1}
    assert told_of_offsets(port, stable=True)["of-open"] == {"t-0": -UNSTABLE, "u-0": -UNSTABLE}


def has_decided_all(port: int) -> None:
    """The readers and the groups see what became of the open transactions."""
    assert values(port, "t", 0) == [*COMMITTED, "open 0", "open 1", "open 3"]
    assert values(port, "u", 0) == [*COMMITTED, "open 2", "newer 1"]
    assert values(port, "large", 0) == [f"large {number}" for number in (0, 0, 2, 2, 4, 4)]
    found = told_of_offsets(port, stable=True)
    assert found == told_of_offsets(port, stable=False)
    assert found["of-open"] == {"t-0": 7, "u-0": 8}
    assert found["of-newer"] == found["of-replaced"] == {"t-0": 3, "u-0": -1}


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_daemon_serves_the_transactions_of_a_kafka_and_gives_them_back(ends: str, tmp_path: Path) -> None:
    kafka, ours = servers(tmp_path)
    with kafka:
        make_topics(kafka, ours)
        opened = fill_transactional_ids(kafka.port)
        before = told_of_ids(kafka.port)
        end(kafka, ends)
        kafka.start()
        await_coordinator(kafka.port)
        expected = told_of_ids(kafka.port)
        assert not differences(before, expected)
        begin_late(kafka.port)
        end(kafka, ends)
    shutil.copytree(kafka.data_dir, ours.data_dir, dirs_exist_ok=True)
    with ours:
        assert not differences(expected, told_of_ids(ours.port))
        has_nothing_undecided(ours.port)
        await_late(ours.port)
        go_on(ours.port, opened)
        has_decided_all(ours.port)
        given = call(ours.port, InitProducerIdRequest("new at the daemon", 60_000), 4).producer_id
        assert given > 1 << PRODUCER_ID_BITS > max(each.id for each in opened.values())
        producer = transactional_producer(ours.address, "aborted")
        producer.begin_transaction()
        producer.produce("t", b"aborted at the daemon", partition=0)
        producer.flush(30)
        producer.abort_transaction(30)
        expected = told_of_ids(ours.port)
    hand_over(ours.data_dir, kafka.data_dir)
    with kafka:
        await_coordinator(kafka.port)
        assert not differences(expected, told_of_ids(kafka.port))
        has_decided_all(kafka.port)


@pytest.mark.parametrize(("ends", "kafka_ends"), [("stop", "stop"), ("kill", "stop"), ("stop", "kill")])
def test_a_kafka_serves_the_transactions_of_a_daemon(ends: str, kafka_ends: str, tmp_path: Path) -> None:
    """A Kafka that was stopped in order reads only the segments that it has a reason to doubt."""
    kafka, ours = servers(tmp_path)
    with kafka:
        make_topics(kafka, ours)
        end(kafka, kafka_ends)
    with ours:
        opened = fill_transactional_ids(ours.port)
        expected = told_of_ids(ours.port)
        has_nothing_undecided(ours.port)
        begin_late(ours.port)
        end(ours, ends)
    assert len([*(ours.data_dir / "large-0").glob("*.log")]) > 2
    hand_over(ours.data_dir, kafka.data_dir)
    with kafka:
        await_coordinator(kafka.port)
        assert not differences(expected, told_of_ids(kafka.port))
        has_nothing_undecided(kafka.port)
        await_late(kafka.port)
        go_on(kafka.port, opened)
        has_decided_all(kafka.port)
        given = call(kafka.port, InitProducerIdRequest("new at the Kafka", 60_000), 4).producer_id
        assert given < 1 << PRODUCER_ID_BITS < min(each.id for each in opened.values())

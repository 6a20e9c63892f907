"""Transactional producers of three libraries: committed records are read, aborted ones are not, zombies are fenced."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.transactional import LIMIT_S, committed, read, transactional_producer
from tests.support.wire import call

pytestmark = pytest.mark.integration


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, topics=("in:1", "out:2"), http="127.0.0.1:0") as daemon:
        yield daemon


def test_readers_of_committed_records_see_whole_transactions_only(daemon: Daemon) -> None:
    producer = transactional_producer(daemon.address)
    for name, ends in (("a", "commit"), ("b", "abort"), ("c", "commit")):
        producer.begin_transaction()
        for partition in (0, 1):
            for number in range(3):
                producer.produce("out", f"{name}{number}", partition=partition)
        producer.flush(LIMIT_S)
        assert f"{name}0" not in read(daemon.address, "out", 0)
        if ends == "commit":
            producer.commit_transaction(LIMIT_S)
        else:
            producer.abort_transaction(LIMIT_S)
    for partition in (0, 1):
        assert read(daemon.address, "out", partition) == ["a0", "a1", "a2", "c0", "c1", "c2"]
        assert len(read(daemon.address, "out", partition, isolation="read_uncommitted")) == 9


def test_offsets_and_records_become_visible_together(daemon: Daemon) -> None:
    source = Producer({"bootstrap.servers": daemon.address, "log_level": 0})
    for number in range(10):
        source.produce("in", str(number), partition=0)
    source.flush(LIMIT_S)
    consumer = Consumer(
        {
            "bootstrap.servers": daemon.address,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    consumer.subscribe(["in"])
    producer = transactional_producer(daemon.address)
    try:
        for ends in ("abort", "commit"):
            messages = []
            while len(messages) < 5:
                messages += [each for each in consumer.consume(5 - len(messages), 1) if each.error() is None]
            producer.begin_transaction()
            for message in messages:
                producer.produce("out", message.value(), partition=0)
            next_offset = TopicPartition("in", 0, messages[-1].offset() + 1)
            producer.send_offsets_to_transaction([next_offset], consumer.consumer_group_metadata(), LIMIT_S)
            if ends == "commit":
                producer.commit_transaction(LIMIT_S)
            else:
                producer.abort_transaction(LIMIT_S)
                assert committed(daemon.address, "g") < 0
                assert read(daemon.address, "out") == []
                consumer.seek(TopicPartition("in", 0, 0))
    finally:
        consumer.close()
    assert committed(daemon.address, "g") == 5
    assert read(daemon.address, "out") == ["0", "1", "2", "3", "4"]


def test_a_second_instance_fences_the_first(daemon: Daemon) -> None:
    first = transactional_producer(daemon.address)
    first.begin_transaction()
    first.produce("out", "of the first", partition=0)
    first.flush(LIMIT_S)
    second = transactional_producer(daemon.address)
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(LIMIT_S)
    assert caught.value.args[0].fatal(), caught.value
    second.begin_transaction()
    second.produce("out", "of the second", partition=0)
    second.commit_transaction(LIMIT_S)
    assert read(daemon.address, "out") == ["of the second"]


def test_a_transaction_outlives_a_kill_of_the_daemon(daemon: Daemon) -> None:
    producer = transactional_producer(daemon.address)
    producer.begin_transaction()
    producer.produce("out", "before", partition=0)
    producer.flush(LIMIT_S)
    daemon.kill()
    daemon.start()
    producer.produce("out", "after", partition=0)
    producer.commit_transaction(LIMIT_S)
    assert read(daemon.address, "out") == ["before", "after"]
    daemon.kill()
    daemon.start()
    assert read(daemon.address, "out") == ["before", "after"]


def test_an_open_transaction_is_described_and_aborted_by_the_command(daemon: Daemon) -> None:
    producer = transactional_producer(daemon.address, "orders")
    producer.begin_transaction()
    producer.produce("out", "held back", partition=1)
    producer.flush(LIMIT_S)
    assert "Ongoing" in command(daemon, "list")
    assert figure(daemon, "num_open") == 1
    assert "out-1" in command(daemon, "describe", "orders")
    assert "orders" in command(daemon, "abort", "orders")
    assert "Ongoing" not in command(daemon, "list")
    assert figure(daemon, "num_open") == 0
    assert figure(daemon, 'aborted_total{cause="fence"}') == 1
    assert read(daemon.address, "out", 1) == []
    with pytest.raises(KafkaException):
        producer.commit_transaction(LIMIT_S)


def figure(daemon: Daemon, name: str) -> float:
    """Return a figure of transactions from /metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.http_port}/metrics", timeout=LIMIT_S) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"kafka_coordinator_transaction_{name}"))


def command(daemon: Daemon, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "coordinator", "transactions", *words, "--bootstrap-server", daemon.address],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_aiokafka_commits_and_aborts(daemon: Daemon) -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka import TopicPartition as Partition

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=daemon.address, transactional_id="aio")
        await producer.start()
        try:
            async with producer.transaction():
                await producer.send_and_wait("out", b"kept", partition=0)
                await producer.send_offsets_to_transaction({Partition("in", 0): 7}, "aio-group")
            with pytest.raises(RuntimeError, match="on purpose"):
                async with producer.transaction():
                    await producer.send_and_wait("out", b"dropped", partition=0)
                    raise RuntimeError("on purpose")
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))
    assert read(daemon.address, "out") == ["kept"]
    assert committed(daemon.address, "aio-group") == 7


def test_kafka_python_commits_and_aborts(daemon: Daemon) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=daemon.address, transactional_id="python")
    try:
        producer.init_transactions()
        for value, ends in (("kept", "commit"), ("dropped", "abort")):
            producer.begin_transaction()
            producer.send("out", value.encode(), partition=0).get(LIMIT_S)
            if ends == "commit":
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    finally:
        producer.close()
    assert read(daemon.address, "out") == ["kept"]


def test_a_producer_that_comes_during_a_start_is_served(daemon: Daemon) -> None:
    transactional_producer(daemon.address).begin_transaction()
    daemon.kill()
    process = daemon.spawn()
    request = FindCoordinatorRequest(key="tx", key_type=1)
    error: Exception = AssertionError("the daemon has ended")
    while process.poll() is None:
        try:
            assert call(daemon.port, request, 3).error_code == 0
            break
        except OSError as refused:  # it does not listen yet
            error = refused
    else:
        raise error

    def is_served() -> bool:
        """Ask as clients do: again while the coordinator reads its log."""
        error = ErrorCode(call(daemon.port, InitProducerIdRequest("tx", 10_000), 4).error_code)
        assert error in (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return error is ErrorCode.NONE

    eventually(is_served, "an id for the producer")
    daemon.await_ready()
    assert "belong to no topic" not in daemon.log_text()

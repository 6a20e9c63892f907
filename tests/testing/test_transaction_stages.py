"""Transactions of a real producer that meet a fault at each of their stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from coordinator.testing import Coordinator, CoordinatorTestingError, FaultNotFiredError
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

PAYMENTS = "payments-1"
LIMIT_S = 30
OF_A_COMMIT = ("ProducerId", "Partitions", "Records", "Offsets", "PrepareCommit", "Markers", "CompleteCommit")


@contextmanager
def coordinator() -> Iterator[Coordinator]:
    with Coordinator(topics={"in": 1, "out": 2}) as running:
        running.produce("in", ["a", "b"])
        yield running


def producer(server: Coordinator, timeout_ms: int = 30_000) -> Producer:
    return Producer(
        {
            "bootstrap.servers": server.bootstrap_servers,
            "transactional.id": PAYMENTS,
            "transaction.timeout.ms": timeout_ms,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 200,
            "metadata.recovery.strategy": "none",  # see docs/transactions.md
            "log_level": 0,
        }
    )


def repeated(act: Callable[[], Any]) -> None:
    """Call a function of librdkafka again as long as it says that it may be."""
    until_s = time.monotonic() + LIMIT_S
    while True:
        try:
            act()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > until_s:
                raise


def transact(server: Coordinator, client: Producer) -> None:
    """Write a record to each partition of a topic and send offsets, in a transaction that is committed."""
    client.begin_transaction()
    for partition in range(2):
        client.produce("out", f"value-{partition}", partition=partition)
    reader = Consumer({"bootstrap.servers": server.bootstrap_servers, "group.id": "shop", "log_level": 0})
    try:
        metadata = reader.consumer_group_metadata()
        repeated(lambda: client.send_offsets_to_transaction([TopicPartition("in", 0, 2)], metadata, LIMIT_S))
    finally:
        reader.close()
    repeated(lambda: client.commit_transaction(LIMIT_S))


def committed_values(server: Coordinator, wanted: int) -> list[str]:
    """Return the values that a reader of committed records finds, up to the ends of both partitions."""
    reader = Consumer(
        {
            "bootstrap.servers": server.bootstrap_servers,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition("out", partition, 0) for partition in range(2)])
    found: list[str] = []
    ended: set[int] = set()
    until_s = time.monotonic() + LIMIT_S
    while (len(found) < wanted or len(ended) < 2) and time.monotonic() < until_s:
        message = reader.poll(0.1)
        if message is None:
            continue
        if message.error() is None:
            found.append(message.value().decode())
        else:
            ended.add(message.partition())
    reader.close()
    return sorted(found)


def has_crashed(server: Coordinator) -> bool:
    try:
        server.check_faults()
        server.groups()
    except CoordinatorTestingError:
        return False
    return True


@pytest.mark.parametrize("stage", OF_A_COMMIT)
def test_a_transaction_is_committed_once_although_the_server_crashes_at_a_stage(stage: str) -> None:
    with coordinator() as server:
        server.crash_at(stage, "payments-*", down=0.05)
        client = producer(server)
        repeated(lambda: client.init_transactions(LIMIT_S))
        transact(server, client)
        eventually(lambda: has_crashed(server), "the stage is reached, and the server is up again", within_s=LIMIT_S)
        assert server.wait_committed("shop", "in", 2, timeout=LIMIT_S) == {("in", 0): 2}
        assert committed_values(server, 2) == ["value-0", "value-1"]


def test_each_stage_is_seen_before_the_next_one_has_begun() -> None:
    with coordinator() as server:
        client = producer(server)
        seen: dict[str, tuple[int, int]] = {}

        async def note(stage: str) -> None:
            def act(transactional_id: str) -> None:
                runtime = server.verbs._host.runtime
                partition = runtime.topics.catalogue.partition("out", 0)
                assert partition is not None and transactional_id == PAYMENTS
                seen[stage] = partition.high_watermark, partition.last_stable_offset

            server.verbs.at_stage(stage, PAYMENTS, act)

        for stage in OF_A_COMMIT:
            server.run(note(stage))
        client.init_transactions(LIMIT_S)
        transact(server, client)
        eventually(lambda: len(seen) == len(OF_A_COMMIT), "all stages are seen")
    assert [each for each in seen if each != "Records"] == [each for each in OF_A_COMMIT if each != "Records"]
    assert seen["ProducerId"] == seen["Partitions"] == (0, 0)
    assert seen["PrepareCommit"] == (1, 0), "the record is there, and held back"
    assert seen["Markers"] == (2, 2), "the marker is there"


def test_the_server_crashes_when_a_stage_is_reached_for_the_nth_time() -> None:
    with coordinator() as server:
        client = producer(server)
        client.init_transactions(LIMIT_S)
        server.crash_at("PrepareCommit", times=3)
        for _ in range(2):
            transact(server, client)
        with pytest.raises(FaultNotFiredError, match=r"no transaction was at: PrepareCommit of \*"):
            server.check_faults()
        transact(server, client)
        server.check_faults()
        assert len(committed_values(server, 6)) == 6


def test_a_producer_whose_id_is_taken_is_fenced() -> None:
    with coordinator() as server:
        client = producer(server)
        client.init_transactions(LIMIT_S)
        client.begin_transaction()
        client.produce("out", "of the old one", partition=0)
        assert client.flush(LIMIT_S) == 0
        server.fence_producer(PAYMENTS)
        with pytest.raises(KafkaException) as caught:
            client.commit_transaction(LIMIT_S)
        assert caught.value.args[0].fatal()
        assert committed_values(server, 0) == []


def test_a_transaction_that_is_timed_out_is_aborted() -> None:
    with coordinator() as server:
        client = producer(server)
        client.init_transactions(LIMIT_S)
        with pytest.raises(CoordinatorTestingError, match=r"no transaction that could time out \(INVALID_TXN_STATE\)"):
            server.expire_transaction(PAYMENTS)
        client.begin_transaction()
        client.produce("out", "too late", partition=0)
        assert client.flush(LIMIT_S) == 0
        server.expire_transaction(PAYMENTS)
        with pytest.raises(KafkaException):
            client.commit_transaction(LIMIT_S)
        assert committed_values(server, 0) == []


def test_mistakes_are_told() -> None:
    with coordinator() as server:
        with pytest.raises(
            CoordinatorTestingError, match="a transaction has no stage 'prepare'; there are: ProducerId"
        ):
            server.crash_at("prepare")
        with pytest.raises(CoordinatorTestingError, match="times=0: it is 1 or more"):
            server.crash_at("Records", times=0)
        with pytest.raises(CoordinatorTestingError, match="TRANSACTIONAL_ID_NOT_FOUND"):
            server.expire_transaction("unknown")

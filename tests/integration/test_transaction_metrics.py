"""The metrics of transactions, with a real producer and one that its coordinator does not know."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.transactional import LIMIT_S, transactional_producer
from tests.support.wire import call

pytestmark = pytest.mark.integration

LAG = "kafka_cluster_partition_last_stable_offset_lag"
FAILURES = "kafka_server_add_partitions_to_txn_manager_verification_failure_total"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, topics=["out:2"], http="127.0.0.1:0") as running:
        yield running


def metric(daemon: Daemon, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.http_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [each for each in lines if each.startswith(f"{name} ")]
    return float(line.split()[1])


def test_the_lag_of_the_last_stable_offset_ends_with_the_transaction(daemon: Daemon) -> None:
    producer = transactional_producer(daemon.address)
    producer.begin_transaction()
    assert metric(daemon, LAG) == 0
    for partition in (0, 0, 0, 1):
        producer.produce("out", b"x", partition=partition)
    assert producer.flush(LIMIT_S) == 0
    assert metric(daemon, LAG) == 3
    producer.commit_transaction(LIMIT_S)
    eventually(lambda: metric(daemon, LAG) == 0, "the transaction has ended in its partitions")
    assert metric(daemon, FAILURES) == 0


def test_a_producer_that_its_coordinator_does_not_know_is_a_failed_verification(daemon: Daemon) -> None:
    transactional_producer(daemon.address, "known")
    records = bytes(
        build_batch([(b"k", b"v")], timestamp_ms=1, producer_id=99, producer_epoch=0, base_sequence=0,
                    is_transactional=True)
    )  # fmt: skip
    data = [PartitionProduceData(index=index, records=records) for index in (0, 1)]
    request = ProduceRequest(
        transactional_id="known",
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name="out", partition_data=data)],
    )
    (topic,) = call(daemon.port, request, 11).responses
    assert all(each.error_code != ErrorCode.NONE for each in topic.partition_responses)
    assert metric(daemon, FAILURES) == 2

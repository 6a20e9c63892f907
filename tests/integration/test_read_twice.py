"""A consumer that is killed: the event of its group says how many records it had fetched and not committed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.core.events.model import Cause, Rebalance, RebalanceOutcome
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_events import story
from tests.support.wire import call

pytestmark = pytest.mark.integration

COMMITTED, READ = 20, 120
CONSUMER = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer, TopicPartition

async def main(address, committed, read):
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=address, group_id="billing", client_id="web-1", enable_auto_commit=False,
        auto_offset_reset="earliest", session_timeout_ms=1000, heartbeat_interval_ms=200, max_poll_records=30,
    )
    await consumer.start()
    for _ in range(read):
        await consumer.getone()
    await consumer.commit({TopicPartition("orders", 0): committed})
    print("has read", flush=True)
    await asyncio.sleep(600)

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    overrides = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")
    with Daemon(tmp_path / "d", overrides=overrides, topics=("orders:1",)) as running:
        yield running


def produce(daemon: Daemon, count: int) -> None:
    for first in range(0, count, 10):
        records = [(None, b"%d" % number) for number in range(first, first + 10)]
        data = PartitionProduceData(index=0, records=bytes(build_batch(records, timestamp_ms=0)))
        request = ProduceRequest(
            acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name="orders", partition_data=[data])]
        )
        [answer] = call(daemon.port, request, 9).responses
        assert answer.partition_responses[0].error_code == 0


def last_rebalance(daemon: Daemon) -> Rebalance | None:
    found = [event for event in story(daemon.port, "billing") if isinstance(event, Rebalance)]
    return found[-1] if found else None


def test_records_that_a_killed_consumer_did_not_commit_are_read_twice(daemon: Daemon) -> None:
    produce(daemon, READ)
    arguments = [sys.executable, "-c", CONSUMER, daemon.address, str(COMMITTED), str(READ)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as consumer:
        try:
            assert consumer.stdout is not None
            assert consumer.stdout.readline() == "has read\n"
        finally:
            consumer.kill()

    def is_empty() -> bool:
        event = last_rebalance(daemon)
        return event is not None and event.outcome is RebalanceOutcome.EMPTY

    eventually(is_empty, "the session of the consumer is over")
    event = last_rebalance(daemon)
    assert event is not None
    assert event.trigger.cause is Cause.SESSION_EXPIRED
    assert event.records_read_twice == READ - COMMITTED

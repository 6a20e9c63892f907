"""Time limits of the client of the engine on Kafka, and the leaders that it remembers."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.engine.kafka.client import EARLIEST, LATEST
from coordinator.engine.kafka.connection import BrokerConnectError
from protocol.messages.metadata import MetadataRequest
from tests.engine.kafka.memory_cluster import BROKERS, LOG, MemoryCluster

WITHIN_S = 5.0  # a test that runs into this has waited for a dead broker without a limit


async def test_a_time_limit_includes_connecting() -> None:
    kafka = MemoryCluster()
    kafka.dead.add(BROKERS[0])
    async with asyncio.timeout(WITHIN_S):
        with pytest.raises(BrokerConnectError, match="check that this broker runs"):
            await kafka.client().ask(BROKERS[0], MetadataRequest(topics=[]), 0.05)


async def test_a_dead_broker_that_is_first_takes_no_more_than_its_share_of_time() -> None:
    kafka = MemoryCluster()
    kafka.dead.add(BROKERS[0])
    client = kafka.client(timeout_s=0.1)
    async with asyncio.timeout(WITHIN_S):
        assert len((await client.metadata()).brokers) == len(BROKERS)
    assert kafka.connects == list(BROKERS)


async def test_a_leader_is_forgotten_when_the_caller_gives_up_waiting_for_it() -> None:
    kafka = MemoryCluster()
    kafka.leader = 1
    client = kafka.client()
    assert await client.leader(LOG) == BROKERS[1]
    kafka.dead.add(BROKERS[1])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.fetch(LOG, 0, 1)
    kafka.leader = 0
    assert await client.leader(LOG) == BROKERS[0]
    assert await client.offset_at(LOG, EARLIEST) == await client.offset_at(LOG, LATEST) == 0

"""Time limits of the client of the engine on Kafka, and the leaders that it remembers."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.engine.kafka.client import EARLIEST, LATEST
from coordinator.engine.kafka.connection import BrokerConnectError
from protocol.messages.metadata import MetadataRequest
from tests.engine.kafka.scripted_broker import BROKERS, LOG, ScriptedBroker

WITHIN_S = 5.0  # a test that runs into this has waited for a dead broker without a limit


async def test_a_time_limit_includes_connecting() -> None:
    broker = ScriptedBroker()
    broker.dead.add(BROKERS[0])
    async with asyncio.timeout(WITHIN_S):
        with pytest.raises(BrokerConnectError, match="check that this broker runs"):
            await broker.client().ask(BROKERS[0], MetadataRequest(topics=[]), 0.05)


async def test_a_dead_broker_that_is_first_takes_no_more_than_its_share_of_time() -> None:
    broker = ScriptedBroker()
    broker.dead.add(BROKERS[0])
    client = broker.client(timeout_s=0.1)
    async with asyncio.timeout(WITHIN_S):
        assert len((await client.metadata()).brokers) == len(BROKERS)
    assert broker.connects == list(BROKERS)


async def test_a_leader_is_forgotten_when_the_caller_gives_up_waiting_for_it() -> None:
    broker = ScriptedBroker()
    broker.leader = 1
    client = broker.client()
    assert await client.leader(LOG) == BROKERS[1]
    broker.dead.add(BROKERS[1])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.fetch(LOG, 0, 1)
    broker.leader = 0
    assert await client.leader(LOG) == BROKERS[0]
    assert await client.offset_at(LOG, EARLIEST) == await client.offset_at(LOG, LATEST) == 0

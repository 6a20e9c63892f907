"""Reading the offsets log from a topic whose leader is new, or that misses a batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from coordinator.engine.kafka.log_reader import LogReader
from coordinator.storage.log_store import AppendDurable, LogStoreError
from tests.engine.kafka.scripted_broker import LOG, ScriptedBroker, ScriptedNode
from tests.support.log_store_kit import entries, joined

WITHIN_S = 10.0


@pytest.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    """Partition 0 has a claim record at offset 0, three batches, a release, and a claim record at offset 10."""
    broker = ScriptedBroker()
    node = await ScriptedNode.open(broker)
    claim = await node.store.claim(0, 0)
    for each in entries(3):
        assert isinstance((await node.store.append([(claim, [each])]))[0], AppendDurable)
    await node.store.release(claim)
    await node.store.claim(0, claim.epoch)
    yield broker
    await node.close()


async def end_before(broker: ScriptedBroker, timeout_s: float = 5.0) -> int:
    reader = await LogReader.open(broker.client(timeout_s), LOG)
    async with asyncio.timeout(WITHIN_S):
        return await reader.end_before(claimed_at=10, known_at=0, known_end=0)


async def test_the_end_before_a_claim_is_found(broker: ScriptedBroker) -> None:
    assert await end_before(broker) == 9


async def test_a_missing_batch_before_a_claim_is_an_error(broker: ScriptedBroker) -> None:
    del broker.batches[LOG][3]
    with pytest.raises(LogStoreError, match=r"offset 9 of log partition 0 cannot be read; check cleanup\.policy"):
        await end_before(broker)


async def test_a_new_leader_whose_high_watermark_is_behind_is_asked_again(broker: ScriptedBroker) -> None:
    broker.empty_fetches = 2
    assert await end_before(broker) == 9
    broker.empty_fetches = 2
    reader = await LogReader.open(broker.client(), LOG)
    broker.empty_fetches = 2
    assert b"".join([chunk async for chunk in reader.chunks(0, 1 << 20)]) == joined(entries(3))


async def test_a_leader_that_never_has_the_records_is_an_error(broker: ScriptedBroker) -> None:
    broker.empty_fetches = 1 << 30
    with pytest.raises(LogStoreError, match="OFFSET_NOT_AVAILABLE"):
        await end_before(broker, timeout_s=0.1)

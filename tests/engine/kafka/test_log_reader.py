"""Reading the offsets log from a topic whose leader is new, or that misses a batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from coordinator.engine.kafka.log_reader import LogReader
from coordinator.storage.log_store import AppendDurable, LogStoreError
from protocol.errors import CorruptBatchError
from tests.engine.kafka.memory_cluster import LOG, MemoryCluster, MemoryClusterNode
from tests.support.log_store_kit import entries, joined

WITHIN_S = 10.0


@pytest.fixture
async def kafka() -> AsyncIterator[MemoryCluster]:
    """Partition 0 has a claim record at offset 0, three batches, a release, and a claim record at offset 10."""
    kafka = MemoryCluster()
    node = await MemoryClusterNode.open(kafka)
    claim = await node.store.claim(0, 0)
    for each in entries(3):
        assert isinstance((await node.store.append([(claim, [each])]))[0], AppendDurable)
    await node.store.release(claim)
    await node.store.claim(0, claim.epoch)
    yield kafka
    await node.close()


async def end_before(kafka: MemoryCluster, timeout_s: float = 5.0) -> int:
    reader = await LogReader.open(kafka.client(timeout_s), LOG)
    async with asyncio.timeout(WITHIN_S):
        return await reader.end_before(claimed_at=10, known_at=0, known_end=0)


async def test_the_end_before_a_claim_is_found(kafka: MemoryCluster) -> None:
    assert await end_before(kafka) == 9


async def test_a_missing_batch_before_a_claim_is_an_error(kafka: MemoryCluster) -> None:
    del kafka.batches[LOG][3]
    with pytest.raises(LogStoreError, match=r"offset 9 of log partition 0 cannot be read; check cleanup\.policy"):
        await end_before(kafka)


async def test_a_new_leader_whose_high_watermark_is_behind_is_asked_again(kafka: MemoryCluster) -> None:
    kafka.empty_fetches = 2
    assert await end_before(kafka) == 9
    kafka.empty_fetches = 2
    reader = await LogReader.open(kafka.client(), LOG)
    kafka.empty_fetches = 2
    assert b"".join([chunk async for chunk in reader.chunks(0, 1 << 20)]) == joined(entries(3))


async def test_a_leader_that_never_has_the_records_is_an_error(kafka: MemoryCluster) -> None:
    kafka.empty_fetches = 1 << 30
    with pytest.raises(LogStoreError, match="OFFSET_NOT_AVAILABLE"):
        await end_before(kafka, timeout_s=0.1)


async def test_a_batch_that_is_cut_off_is_an_error(kafka: MemoryCluster) -> None:
    kafka.batches[LOG] = [each[:-1] for each in kafka.batches[LOG][:1]]
    with pytest.raises(CorruptBatchError, match="at offset 0 are no whole batch"):
        await anext((await LogReader.open(kafka.client(), LOG)).chunks(0, 1 << 20))

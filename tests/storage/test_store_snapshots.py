"""A partition in a shared store is loaded from its snapshot and the batches behind it; a child makes the snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.cluster import ClusterNode
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.loading import LoadedState
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.directory import Engine
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import Claim, StoredSnapshot
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, SnapshotError
from coordinator.storage.snapshot.loading import follow
from coordinator.storage.snapshot.store_keeper import StoreSnapshots, read_partition
from coordinator.storage.store_flusher import StoreLog
from protocol.record_batch import iter_batches
from tests.support.edge import one_partition
from tests.support.log_store_kit import entries, joined

Offsets = dict[str, int]


async def here(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run work for a thread at once."""
    return function(*arguments)


class World:
    """A node with one claimed partition in a store in memory."""

    def __init__(self, engine: Engine, claim: Claim) -> None:
        self.store = engine.store
        self.log = StoreLog(claim)
        self.core: GroupCoordinator = one_partition(Config())
        self.snapshots = StoreSnapshots(Config(ha_log_keep_ms=0), engine.store, {0: self.log})

    @classmethod
    async def new(cls) -> World:
        engine = open_memory(MemoryEngineState(lambda: 1_000_000_000_000), 1)
        await engine.directory.announce(ClusterNode(1, "host", 1), "run")
        return cls(engine, await engine.store.claim(0, 0))

    async def append(self, *batches: Entry) -> None:
        await self.store.append([(self.log.claim, batches)])
        self.log.high_watermark = batches[-1].last_offset + 1

    async def load(self) -> tuple[LoadedState, int]:
        shard = self.core.partition(0)
        return await self.snapshots.load(asyncio.get_running_loop(), shard, 0, use_snapshot=True)

    async def offsets(self) -> Offsets:
        """The committed offsets by group, as they are loaded."""
        loaded_state, next_offset = await self.load()
        assert next_offset == self.log.high_watermark
        self.core.load_begin(0)
        self.core.loaded(0, loaded_state, next_offset, 0)
        shard = self.core.partition(0)
        found = {group_id: shard.offsets.get(group_id, "orders", 0) for group_id in shard.groups}
        return {group_id: committed.offset for group_id, committed in found.items() if committed is not None}

    def encoded(self, batches: list[Entry]) -> list[bytes]:
        """The snapshot of these batches, made without a child."""
        data = joined(batches)
        read = ((header, data[at : at + header.size_bytes]) for at, header in iter_batches(data))
        end_offset = batches[-1].last_offset + 1
        loaded = follow(read, None, None, end_offset=end_offset)
        assert loaded.last is not None
        return file.encode(Binding(0, 0, end_offset, loaded.last), loaded.contents())


@pytest.fixture
async def world() -> World:
    return await World.new()


EXPECTED = {f"group-{number % 7}": number for number in range(30)}  # of the batches of `entries(10)`


async def test_a_partition_without_a_snapshot_is_read_from_its_batches(world: World) -> None:
    await world.append(*entries(10))
    assert await world.offsets() == EXPECTED
    assert (world.snapshots.counters.from_log, world.snapshots.counters.replayed_records) == (1, 30)
    assert world.log.tail_bytes == len(joined(entries(10)))


async def test_batches_behind_the_end_of_the_claim_are_not_read(world: World) -> None:
    await world.append(*entries(10))
    world.log.high_watermark = 15
    assert await world.offsets() == {f"group-{number % 7}": number for number in range(15)}


@pytest.mark.integration
async def test_a_child_makes_the_snapshot_that_this_process_would_and_the_log_below_it_goes(world: World) -> None:
    await world.append(*entries(6))
    await world.snapshots.make(0, world.log)
    found = await world.store.load_snapshot(0)
    assert found is not None
    assert (found.next_offset, found.data) == (18, b"".join(world.encoded(entries(6))))
    assert [chunk async for chunk in world.store.batches(0, 0)] == []
    await world.append(*entries(4, 18))
    assert await world.offsets() == EXPECTED
    assert (world.snapshots.counters.from_snapshot, world.snapshots.counters.replayed_records) == (1, 12)
    await world.snapshots.make(0, world.log)  # from the last snapshot on
    found = await world.store.load_snapshot(0)
    assert found is not None and found.next_offset == 30
    assert await world.offsets() == EXPECTED
    await world.snapshots.close()


async def test_a_damaged_snapshot_is_refused_where_the_log_below_it_is_gone(world: World) -> None:
    await world.append(*entries(6))
    data = bytearray(b"".join(world.encoded(entries(6))))
    data[-1] ^= 1
    await world.store.save_snapshot(world.log.claim, 18, [bytes(data)])
    with pytest.raises(SnapshotError, match="damaged"):
        await world.load()


async def test_a_damaged_snapshot_is_left_out_where_the_log_is_complete(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.append(*entries(10))
    await world.store.save_snapshot(world.log.claim, 18, [b"no snapshot"])
    monkeypatch.setattr(type(world.store), "deletes_below_snapshots", False)
    assert await world.offsets() == EXPECTED


async def test_batches_that_are_missing_behind_a_snapshot_are_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.append(*entries(10))
    snapshot = StoredSnapshot(6, b"".join(world.encoded(entries(2))))  # the store has no batch from 9 to 11

    async def load_snapshot(partition: int) -> StoredSnapshot:
        return snapshot

    async def batches(partition: int, from_offset: int) -> Any:
        yield joined([*entries(1, 6), *entries(6, 12)])

    monkeypatch.setattr(world.store, "load_snapshot", load_snapshot)
    monkeypatch.setattr(world.store, "batches", batches)
    with pytest.raises(SnapshotError, match="offset 9"):
        await read_partition(world.store, 0, 30, here)


@pytest.mark.integration
async def test_a_snapshot_that_cannot_be_made_is_said_and_tried_again_after_as_much_growth(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.append(*entries(6))
    await world.store.save_snapshot(world.log.claim, 6, [b"no snapshot"])
    world.log.tail_bytes = 1000
    await world.snapshots.make(0, world.log)
    assert "no snapshot partition=0: " in caplog.text and "the log has everything" in caplog.text
    assert (world.snapshots.counters.failed, world.log.tail_bytes) == (1, 0)
    await world.snapshots.close()


@pytest.mark.integration
async def test_a_snapshot_under_a_lost_claim_changes_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.append(*entries(6))
    await world.store.release(world.log.claim)
    await world.store.claim(0, world.log.claim.epoch)
    await world.snapshots.make(0, world.log)
    assert world.snapshots.counters.failed == 1
    assert await world.store.load_snapshot(0) is None
    assert joined(entries(6)) == b"".join([chunk async for chunk in world.store.batches(0, 0)])
    await world.snapshots.close()

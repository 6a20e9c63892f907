"""A partition in a shared store is loaded from its snapshot and the batches behind it; a child makes the snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import Config
from coordinator.core.cluster import ClusterNode
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.loading import LoadedState
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.directory import Engine
from coordinator.processes.child_process import ChildError
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import Claim, LogStoreError, StoredSnapshot
from coordinator.storage.snapshot import file, store_keeper
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.loading import follow
from coordinator.storage.snapshot.store_keeper import StoreSnapshots, read_partition
from coordinator.storage.store_flusher import StoreLog
from protocol.record_batch import iter_batches
from tests.compaction.logs import OFFSETS, Op, operations
from tests.storage.snapshot.test_snapshot_is_replay import without_gaps
from tests.storage.snapshot.world import World as FilesWorld
from tests.storage.snapshot.world import state_of
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


def encoded(data: bytes) -> list[bytes]:
    """The snapshot of these batches, made without a child."""
    read = [(header, data[at : at + header.size_bytes]) for at, header in iter_batches(data)]
    end_offset = read[-1][0].last_offset + 1
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
    assert (found.next_offset, found.data) == (18, b"".join(encoded(joined(entries(6)))))
    assert [chunk async for chunk in world.store.batches(0, 0)] == []
    await world.append(*entries(4, 18))
    assert await world.offsets() == EXPECTED
    assert (world.snapshots.counters.from_snapshot, world.snapshots.counters.replayed_records) == (1, 12)
    await world.snapshots.make(0, world.log)  # from the last snapshot on
    found = await world.store.load_snapshot(0)
    assert found is not None and found.next_offset == 30
    assert await world.offsets() == EXPECTED
    await world.snapshots.close()


async def newest_snapshot(world: World) -> int:
    found = await world.store.load_snapshot(0)
    return 0 if found is None else found.next_offset


@pytest.mark.integration
async def test_a_hand_over_makes_a_snapshot_of_a_long_tail_first(world: World) -> None:
    await world.append(*entries(2))
    world.log.tail_bytes = len(joined(entries(2)))
    await world.snapshots.before_hand_over(0)
    assert await newest_snapshot(world) == 0
    world.log.tail_bytes = Config().offsets_snapshot_min_bytes
    await world.snapshots.before_hand_over(0)
    assert await newest_snapshot(world) == 6
    assert world.log.tail_bytes == 0
    await world.snapshots.before_hand_over(7)  # not served here
    await world.snapshots.close()


@pytest.mark.integration
async def test_a_stop_makes_snapshots_once_and_not_while_it_hands_over(world: World) -> None:
    await world.append(*entries(2))
    world.log.tail_bytes = Config().offsets_snapshot_min_bytes
    await world.snapshots.before_stop()
    assert await newest_snapshot(world) == 6
    await world.append(*entries(2, 6))
    world.log.tail_bytes = Config().offsets_snapshot_min_bytes
    await world.snapshots.before_hand_over(0)
    assert await newest_snapshot(world) == 6
    await world.snapshots.close()


@pytest.mark.integration
async def test_a_stop_does_not_wait_for_a_snapshot_for_longer_than_it_may(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    world.snapshots = StoreSnapshots(Config(offsets_snapshot_stop_ms=50), world.store, {0: world.log})
    monkeypatch.setattr(world.store, "save_snapshot", never)
    await world.append(*entries(2))
    world.log.tail_bytes = Config().offsets_snapshot_min_bytes
    await world.snapshots.before_stop()
    assert await newest_snapshot(world) == 0
    await world.snapshots.close()


async def test_a_damaged_snapshot_is_refused_where_the_log_below_it_is_gone(world: World) -> None:
    await world.append(*entries(6))
    data = bytearray(b"".join(encoded(joined(entries(6)))))
    data[-1] ^= 1
    await world.store.save_snapshot(world.log.claim, 18, [bytes(data)])
    with pytest.raises(LogStoreError, match="damaged; restore the store from its backup"):
        await world.load()


async def test_a_damaged_batch_is_refused(world: World) -> None:
    batches = entries(3)
    batches[1].batch[-1] ^= 1  # type: ignore[index]
    await world.append(*batches)
    with pytest.raises(LogStoreError, match=r"a batch of the store cannot be read: .*; restore the store"):
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
    snapshot = StoredSnapshot(6, b"".join(encoded(joined(entries(2)))))  # the store has no batch from 9 to 11

    async def load_snapshot(partition: int) -> StoredSnapshot:
        return snapshot

    async def batches(partition: int, from_offset: int, *options: Any, **flags: Any) -> Any:
        yield joined([*entries(1, 6), *entries(6, 12)])

    monkeypatch.setattr(world.store, "load_snapshot", load_snapshot)
    monkeypatch.setattr(world.store, "batches", batches)
    with pytest.raises(LogStoreError, match="offset 9"):
        await read_partition(world.store, 0, 30, here)


@pytest.mark.parametrize(
    ("there", "due"),
    [(entries(6, 12), 0), ([*entries(3), *entries(6, 12)], 9), (entries(9), 27), ([], 0)],
    ids=["first", "middle", "last", "all"],
)
async def test_batches_that_are_missing_are_noticed_without_a_snapshot(
    world: World, monkeypatch: pytest.MonkeyPatch, there: list[Entry], due: int
) -> None:
    """An import that was interrupted before its snapshot was kept leaves the same."""
    if there:
        await world.append(*there[:1])
    stored = joined(there)

    async def batches(partition: int, from_offset: int, *options: Any, **flags: Any) -> Any:
        if stored:
            yield stored

    monkeypatch.setattr(world.store, "batches", batches)
    with pytest.raises(LogStoreError, match=f"records behind offset {due} are missing"):
        await read_partition(world.store, 0, 30, here)
    monkeypatch.setattr(type(world.store), "deletes_below_snapshots", False)  # its cleaner may have removed them
    assert (await read_partition(world.store, 0, 30, here)).records == 3 * len(there)


@given(st.lists(operations(OFFSETS, max_size=15), min_size=1, max_size=4), st.integers(0, 3), st.booleans())
async def test_a_partition_in_a_store_is_loaded_as_from_files(
    pieces: list[list[Op]], snapshot_behind: int, is_trimmed: bool
) -> None:
    """The log has transactions and tombstones; the snapshot is made behind one of its parts, from all before it."""
    files, world = FilesWorld(), await World.new()
    for number, piece in enumerate(pieces):
        files.write(without_gaps(piece))
        due = world.log.high_watermark
        log = joined_segments(files)
        batches = [
            Entry(log[at : at + header.size_bytes], header.last_offset, header.max_timestamp)
            for at, header in iter_batches(log)
            if header.base_offset >= due
        ]
        if batches:
            await world.append(*batches)
        if number == snapshot_behind and log:
            await world.store.save_snapshot(world.log.claim, world.log.high_watermark, encoded(log))
            if is_trimmed:
                await world.store.trim(world.log.claim, world.log.high_watermark)
    loaded = await read_partition(world.store, 0, world.log.high_watermark, here)
    assert state_of(loaded) == state_of(files.load())
    has_snapshot = await world.store.load_snapshot(0) is not None
    assert (loaded.snapshot_offset >= 0) == has_snapshot


def joined_segments(files: FilesWorld) -> bytes:
    return b"".join(bytes(segment.data) for segment in files.writer.segments)


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


async def test_a_child_that_fails_is_said_and_the_next_try_comes_after_as_much_growth(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The periodic look makes a snapshot when the log has grown, and not before."""
    monkeypatch.setattr(store_keeper, "LOOK_S", 0)
    snapshots = world.snapshots
    config = Config(offsets_snapshot_tail_bytes=100, offsets_snapshot_min_bytes=0)
    monkeypatch.setattr(snapshots, "_config", config)
    tries: list[int] = []

    async def folded(partition: int, end_offset: int) -> list[bytes]:
        tries.append(world.log.tail_bytes)
        world.log.tail_bytes += 30  # appended while the child ran
        raise ChildError("the child was killed")

    monkeypatch.setattr(snapshots, "_folded", folded)
    snapshots.start(asyncio.get_running_loop())
    for grown in (99, 1, 60, 9, 1):
        world.log.tail_bytes += grown
        for _ in range(20):
            await asyncio.sleep(0)
    await snapshots.close()
    assert tries == [100, 100]
    assert (snapshots.counters.failed, world.log.tail_bytes) == (2, 30)
    assert caplog.text.count("no snapshot partition=0: the child was killed") == 2

"""KIP-848 groups of a partition in a shared store survive the snapshots that take the place of its batches."""

from __future__ import annotations

import pytest

from coordinator.core.loading import LoadedState
from coordinator.storage.log.segment import Entry
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.loading import follow
from coordinator.storage.snapshot.store_keeper import StoreSnapshots
from protocol.group_records import encode_value
from protocol.record_batch import build_batch, iter_batches
from tests.compaction.logs import CONSUMER_KEYS, consumer_value
from tests.storage.test_store_snapshots import World


async def write(world: World, number: int, *keys: bytes) -> bytes:
    """Append one value of each of these keys, in one batch."""
    offset = world.log.high_watermark
    records = [(key, encode_value(consumer_value(key, number))) for key in keys]
    batch = bytes(build_batch(records, base_offset=offset, timestamp_ms=1))
    await world.append(Entry(batch, offset + len(records) - 1, 1))
    return batch


def epochs(state: LoadedState) -> dict[str, tuple[int, int]]:
    return {group.group_id: (group.epoch, group.record_offset) for group in state.stored}


@pytest.mark.integration
async def test_groups_come_from_the_snapshot_and_the_batches_behind_it() -> None:
    world = await World.new()
    await write(world, 5, *CONSUMER_KEYS)
    await world.snapshots.make(0, world.log)
    assert [chunk async for chunk in world.store.batches(0, 0)] == []
    before, _ = await world.load()
    assert epochs(before)["kip"] == (5, 0)
    await write(world, 6, CONSUMER_KEYS[0], CONSUMER_KEYS[6])
    await world.snapshots.make(0, world.log)  # from the last snapshot on
    after, _ = await world.load()
    assert epochs(after) == {"kip": (6, 8), "ä😀": (before.stored[1].epoch, 9)}
    assert world.snapshots.counters.from_snapshot == 2
    (other,) = [group for group in after.stored if group.group_id != "kip"]
    assert sorted(other.members) == ["m", "n"]
    assert other.members["m"].current is not None and other.members["m"].current.member_epoch == 6
    await world.snapshots.close()


@pytest.mark.integration
@pytest.mark.parametrize("deletes", [False, True])
async def test_the_snapshot_of_an_earlier_program_is_used_only_where_nothing_else_is_left(
    monkeypatch: pytest.MonkeyPatch, *, deletes: bool
) -> None:
    world = await World.new()
    batch = await write(world, 5, *CONSUMER_KEYS)
    data = [(header, batch) for _, header in iter_batches(batch)]
    loaded = follow(data, None, None, end_offset=world.log.high_watermark)
    assert loaded.last is not None
    monkeypatch.setattr(file.Contents, "version", 1)
    contents = loaded.contents()._replace(consumer={}, unknown=len(CONSUMER_KEYS))
    pieces = file.encode(Binding(0, 0, world.log.high_watermark, loaded.last), contents)
    await world.store.save_snapshot(world.log.claim, world.log.high_watermark, pieces)
    monkeypatch.setattr(type(world.store), "deletes_below_snapshots", deletes)
    state, _ = await world.load()
    assert sorted(epochs(state)) == ([] if deletes else ["kip", "ä😀"])
    if not deletes:
        made = await StoreSnapshots._made(world.snapshots, world.log)
        found = await world.store.load_snapshot(0)
        assert found is not None and found.next_offset == made
        assert not file.lacks_consumer_groups(found.data)
    await world.snapshots.close()

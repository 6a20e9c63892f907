"""The log has priority over a snapshot: one that is damaged, outdated or of another log is not used."""

from __future__ import annotations

import contextlib
import errno
import random
from pathlib import Path

import pytest

from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.loading import load
from coordinator.storage.worker_dirs import arrange
from protocol.compression import Codec
from tests.compaction.logs import OFFSET_KEYS, OFFSETS, End, Op, Rec, Write, seeded
from tests.storage.snapshot.test_snapshot_is_replay import without_gaps
from tests.storage.snapshot.world import DIRECTORY, World, state_of


def commit(key: int, *, producer_id: int = -1, is_tombstone: bool = False) -> Op:
    return Write((Rec(key, is_tombstone),), Codec.NONE, producer_id)


def world_with_snapshot(ops: int = 12) -> World:
    world = World()
    world.write(without_gaps(seeded(1, ops, OFFSETS)))
    world.keep()
    return world


def test_a_change_of_any_byte_is_noticed() -> None:
    world = world_with_snapshot()
    expected = state_of(world.load(use_snapshot=False))
    opened = world.fs.open(DIRECTORY / SNAPSHOT_NAME)
    size = opened.size()
    for position in range(size):
        (byte,) = opened.pread(1, position)
        opened.pwrite(bytes((byte ^ (1 << position % 8),)), position)
        with pytest.raises(file.SnapshotError):
            file.read(world.fs, DIRECTORY)
        opened.pwrite(bytes((byte,)), position)
    assert world.load().snapshot_offset >= 0
    opened.pwrite(b"\xff", size // 2)
    loaded = world.load()
    assert "damaged" in loaded.why_replayed
    assert state_of(loaded) == expected


def test_a_file_that_was_cut_anywhere_is_not_used() -> None:
    world = world_with_snapshot()
    opened = world.fs.open(DIRECTORY / SNAPSHOT_NAME)
    for size in range(opened.size() - 1, -1, -1):
        opened.truncate(size)
        with pytest.raises(file.SnapshotError):
            file.read(world.fs, DIRECTORY)
    assert state_of(world.load()) == state_of(world.load(use_snapshot=False))


def test_a_file_that_grew_is_not_used() -> None:
    world = world_with_snapshot()
    opened = world.fs.open(DIRECTORY / SNAPSHOT_NAME)
    opened.pwrite(b"\0", opened.size())
    with pytest.raises(file.SnapshotError):
        file.read(world.fs, DIRECTORY)


@pytest.mark.parametrize("step", range(12))
def test_a_crash_while_it_is_written_leaves_the_old_one_or_the_new_one(step: int) -> None:
    fs = LossyFileSystem(seed=step)
    world = World(fs)
    world.write(without_gaps(seeded(3, 10, OFFSETS)))
    old = world.keep()
    log = world.open()
    log.close()
    world.writer.write(without_gaps(seeded(4, 10, OFFSETS)))
    world.put(world.writer.segments)
    log = world.open()
    log.close()  # the whole log is synced
    fs.crash_after(step * 3)
    with contextlib.suppress(MachineOffError):
        world.keep()
    world.fs = fs.crash(random.Random(step))
    loaded = world.load()
    assert loaded.snapshot_offset in (old, world.writer.next_offset)
    assert state_of(loaded) == state_of(world.load(use_snapshot=False))


def test_a_full_disk_leaves_the_old_one() -> None:
    world = world_with_snapshot()
    before = world.load().snapshot_offset
    world.write([commit(0)] * 3)
    assert isinstance(world.fs, LossyFileSystem)
    world.fs.fail("pwrite", errno.ENOSPC, name=file.DRAFT_NAME)
    with pytest.raises(OSError, match="pwrite fails"):
        world.keep()
    assert world.load().snapshot_offset == before


def test_another_log_under_the_same_name_is_noticed() -> None:
    world = world_with_snapshot()
    other = World(world.fs)
    other.write(without_gaps(seeded(2, 40, OFFSETS)))
    loaded = other.load()
    assert "another log" in loaded.why_replayed or "ends at" in loaded.why_replayed
    assert state_of(loaded) == state_of(other.load(use_snapshot=False))


def test_a_log_that_was_cut_below_the_snapshot_is_read_without_it() -> None:
    world = World()
    world.write([commit(0)] * 5)
    world.keep()
    world.writer = World(LossyFileSystem()).writer
    world.write([commit(0)] * 3)
    loaded = world.load()
    assert "ends at 3 now" in loaded.why_replayed
    assert state_of(loaded) == state_of(world.load(use_snapshot=False))


def test_a_snapshot_of_another_partition_is_not_used() -> None:
    world = world_with_snapshot()
    log = world.open()
    assert "of partition 0" in load(world.fs, log, 1, chunk_bytes=4096).why_replayed
    log.abandon()


def test_a_missing_snapshot_is_no_error() -> None:
    world = world_with_snapshot()
    file.remove(world.fs, DIRECTORY)
    assert world.load().why_replayed == "there is no snapshot"


def test_a_tombstone_that_compaction_removed_behind_the_snapshot_is_noticed() -> None:
    """Together, the snapshot and such a log would restore deleted offsets."""
    world = World()
    world.write([commit(0), commit(1)])
    world.keep()
    world.write([commit(0, is_tombstone=True), commit(2)])
    world.compact()
    assert len(world.writer.segments) > 1
    loaded = world.load()
    assert "compacted" in loaded.why_replayed
    assert len(state_of(loaded)[1]) == len(state_of(world.load(use_snapshot=False))[1])
    assert loaded.store.count == 2


def test_a_last_batch_that_survives_compaction_does_not_prove_the_following_records() -> None:
    """Compaction removes only the records behind it; its checksum and offset are unchanged."""
    world = World()
    world.write([commit(0), commit(1)])
    world.keep()
    end = len(world.writer.active.data)
    world.write([commit(0, is_tombstone=True)])
    after_tombstone = len(world.writer.active.data)
    world.write([commit(2)])
    data = world.writer.active.data
    world.writer.active.data = data[:end] + data[after_tombstone:]
    world.put(world.writer.segments)
    loaded = world.load()
    assert loaded.why_replayed == "the snapshot cannot be used: records behind offset 2 were compacted since"
    assert loaded.snapshot_offset == -1


def test_an_older_transaction_does_not_override_a_newer_offset_in_the_snapshot() -> None:
    """The newest record wins, not the newest marker, on either side of the snapshot."""
    world = World()
    world.write([commit(0, producer_id=1), commit(0)])
    world.keep()
    world.write([End(1, commit=True)])
    loaded = world.load()
    assert loaded.snapshot_offset == 2
    assert state_of(loaded) == state_of(world.load(use_snapshot=False))
    ((committed,),) = [list(topics["t"].values()) for topics in state_of(loaded)[1].values()]
    assert committed.log_offset == 1


def test_a_transaction_that_is_open_at_the_snapshot_is_committed_behind_it() -> None:
    world = World()
    world.write([commit(0), commit(0, producer_id=1)])
    world.keep()
    world.write([End(1, commit=True)])
    loaded = world.load()
    assert loaded.snapshot_offset == 2
    ((committed,),) = [list(topics["t"].values()) for topics in state_of(loaded)[1].values()]
    assert committed.log_offset == 1


def test_a_group_deleted_behind_the_snapshot_exists_again_after_its_next_offset() -> None:
    group = len(OFFSET_KEYS)
    world = World()
    world.write([commit(0), commit(group)])
    world.keep()
    world.write([commit(0, is_tombstone=True), commit(group, is_tombstone=True), commit(1)])
    loaded = world.load()
    assert loaded.snapshot_offset == 2
    assert state_of(loaded) == state_of(world.load(use_snapshot=False))
    assert state_of(loaded)[0] == {"g": (None, -1)}


def test_a_snapshot_moves_with_its_partition(tmp_path: Path) -> None:
    """Another number of workers moves directories, and the snapshot in them stays valid."""
    name = "__consumer_offsets-1"
    (tmp_path / name).mkdir()
    (tmp_path / name / SNAPSHOT_NAME).write_bytes(b"of partition 1")
    arrange(RealFileSystem(), tmp_path, [1, 2])
    (moved,) = tmp_path.glob(f"workers/*/{name}/{SNAPSHOT_NAME}")
    assert moved.read_bytes() == b"of partition 1"

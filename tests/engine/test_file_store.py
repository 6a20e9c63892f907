"""The store over files keeps the rules of every store; its files are those of a daemon."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from coordinator.engine.file_store import FileLogStore
from coordinator.membership.directory import NodeDirectory
from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log_store import AppendDurable, AppendFailed, AppendFenced, LogStore, LogStoreError
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.storage.snapshot import file
from tests.support.log_store_kit import (
    ClaimRaceRules,
    LogStoreRules,
    StoreWorld,
    entries,
    entry,
    joined,
    snapshot,
)

SMALL = LogConfig(segment_bytes=2000)
DATA = Path("/data")


class FileWorld(StoreWorld):
    """One store for all nodes, as its claims are in memory."""

    has_directory = False

    def __init__(self, data_dir: Path, fs: FileSystem | None = None) -> None:
        super().__init__()
        self.store = FileLogStore(data_dir, SMALL, fs)

    async def open(self, node_id: int) -> tuple[LogStore, NodeDirectory | None, SharedDocuments | None]:
        return self.store, None, None


def memory_fs(capacity_bytes: int = 100 << 20) -> MemoryFileSystem:
    fs = MemoryFileSystem(capacity_bytes)
    fs.mkdir(DATA)
    return fs


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[FileWorld]:
    made = FileWorld(tmp_path)
    yield made
    await made.close()


class TestFileStore(LogStoreRules):
    """The rules, without those that need living nodes or an answer that is lost: files have neither."""

    test_a_partition_whose_owner_lives_is_not_claimed = None
    test_an_unknown_outcome_is_resolved_once = None
    test_an_unknown_outcome_before_a_later_claim = None


class TestFileRaces(ClaimRaceRules):
    @pytest.fixture
    async def world(self) -> AsyncIterator[FileWorld]:
        made = FileWorld(DATA, memory_fs())
        yield made
        await made.close()


async def test_the_files_are_a_log_that_a_daemon_opens(world: FileWorld, tmp_path: Path) -> None:
    node = await world.node()
    claim = await node.claim(3)
    await node.append(claim, *entries(40))
    await node.store.save_snapshot(claim, 30, snapshot(3, 30))
    await world.close()
    directory = offsets_log_dir(tmp_path, 3)
    log = Log.open(directory, SMALL)
    assert log.recovery.clean
    assert len(log.segments) > 2
    assert b"".join(batch for _, batch in log.batches()) == joined(entries(40))
    assert file.read_binding(log.fs, directory).next_offset == 30
    log.close()


async def test_a_torn_end_is_cut_off_by_the_claim(world: FileWorld, tmp_path: Path) -> None:
    node = await world.node()
    claim = await node.claim(0)
    await node.append(claim, *entries(3))
    await world.close()
    segment = offsets_log_dir(tmp_path, 0) / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes() + bytes(entry(9).batch)[:50])
    again = FileWorld(tmp_path)
    node = await again.node()
    claim = await node.claim(0)
    assert claim.end_offset == 9
    assert await node.append(claim, entry(9)) == AppendDurable(10)
    assert await node.read(0) == joined([*entries(3), entry(9)])
    await again.close()


async def test_a_log_with_damage_is_a_store_that_cannot_be_used(world: FileWorld, tmp_path: Path) -> None:
    node = await world.node()
    await node.append(await node.claim(0), *entries(3))
    await world.close()
    segment = offsets_log_dir(tmp_path, 0) / f"{0:020d}.log"
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    again = FileWorld(tmp_path)
    with pytest.raises(LogStoreError, match="coordinator log verify") as caught:
        await (await again.node()).read(0)
    assert not caught.value.may_pass
    await again.close()


async def test_a_full_disk_keeps_none_of_an_append() -> None:
    world = FileWorld(DATA, memory_fs(10_000))
    node = await world.node()
    claim = await node.claim(0)
    assert await node.append(claim, *entries(10)) == AppendDurable(30)
    outcome = await node.append(claim, entry(30), entry(31, value_bytes=9_000))
    assert isinstance(outcome, AppendFailed)
    assert isinstance(outcome.error, OSError)
    assert outcome.error.errno == errno.ENOSPC
    assert await node.read(0) == joined(entries(10))
    assert await node.append(claim, entry(30)) == AppendDurable(31)
    assert await node.read(0) == joined([*entries(10), entry(30)])
    await world.close()


async def test_what_was_acknowledged_survives_a_power_cut() -> None:
    fs = LossyFileSystem()
    fs.mkdir(DATA)
    fs.fsync_dir(DATA.parent)
    world = FileWorld(DATA, fs)
    node = await world.node()
    first, second = await node.claim(0), await node.claim(1)
    assert await node.append(first, *entries(40)) == AppendDurable(120)
    await node.store.save_snapshot(first, 30, snapshot(0, 30))
    await world.store.begin(second, 100, [entry(7), entry(9)])
    assert await node.append(second, entry(100)) == AppendDurable(101)
    again = FileWorld(DATA, fs.crash())
    node = await again.node()
    assert await node.read(0) == joined(entries(40))
    assert await node.read(1) == joined([entry(7), entry(9), entry(100)])
    found = await node.store.load_snapshot(0)
    assert found is not None
    assert found.data == b"".join(snapshot(0, 30))
    await again.close()


async def test_a_cancelled_append_is_resolved(world: FileWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    batches = entries(200)
    task = asyncio.create_task(node.append(claim, *batches))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert await node.store.resolve(claim, batches) == AppendDurable(600)
    assert await node.store.resolve(claim, batches) == AppendDurable(600)
    assert await node.read(0) == joined(batches)
    await node.claim(0)
    assert await node.store.resolve(claim, [entry(600)]) == AppendFenced()


async def test_a_partition_goes_on_behind_the_batches_of_a_compacted_log(world: FileWorld, tmp_path: Path) -> None:
    node = await world.node()
    claim = await node.claim(0)
    head = [entry(offset) for offset in (*range(5, 50), 100, 3_000_000_000, 9_000_000_000)]
    await world.store.begin(claim, 9_000_000_100, head)
    assert await node.append(claim, *entries(3, 9_000_000_100)) == AppendDurable(9_000_000_109)
    assert await node.read(0) == joined([*head, *entries(3, 9_000_000_100)])
    with pytest.raises(LogStoreError, match="not empty"):
        await world.store.begin(claim, 0, ())
    await world.close()
    log = Log.open(offsets_log_dir(tmp_path, 0), SMALL)
    assert log.recovery.clean
    assert (log.log_end_offset, len(log.segments)) == (9_000_000_109, 6)
    log.close()


async def test_a_head_whose_end_is_all_there_is(world: FileWorld) -> None:
    node = await world.node()
    await world.store.begin(await node.claim(0), 7, ())
    await world.store.begin(await node.claim(1), 7, [entry(2)])
    for partition in (0, 1):
        claim = await node.claim(partition)
        assert claim.end_offset == 7
        assert await node.append(claim, entry(7)) == AppendDurable(8)

"""A partition of the transaction log in a shared store: snapshots, loads, and copies into files and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import Config
from coordinator.core.cluster import ClusterNode
from coordinator.core.transactions.replay import TransactionReplay
from coordinator.engine.file_store import FileLogStore
from coordinator.engine.log_copy import export_partition, import_partition
from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.directory import Engine
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import AppendDurable, Claim, LogStoreError
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.store_keeper import StoreSnapshots, add_chunk, read_partition
from coordinator.storage.snapshot.transaction_tail import TransactionTail
from coordinator.storage.store_flusher import StoreLog
from coordinator.storage.store_partitions import StorePartitions
from protocol.record_batch import build_batch, iter_batches
from tests.compaction.transactions import CONFIG as SMALL
from tests.compaction.transactions import OPS
from tests.support.transaction_records import forgotten, state_record

PARTITIONS = StorePartitions.of(Config())
NUMBER = PARTITIONS.number_of_transaction_partition(0)
DATA = Path("/data")
EPOCH = 7
UNKNOWN_KEY = b"\0\x09of a later version"


async def here(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run work for a thread at once."""
    return function(*arguments)


def batches_of(operations: list[tuple[str, list[str]]]) -> list[Entry]:
    """Return a batch for each operation, as a coordinator appends them. A roll becomes a record of a later version."""
    entries: list[Entry] = []
    offset = number = 0
    for act, names in operations:
        records: list[tuple[bytes, bytes | None]] = []
        for name in names or [""]:
            number += 1
            if act == "roll":
                records.append((UNKNOWN_KEY, b"%d" % number))
            else:
                records.append(forgotten(name) if act == "forget" else state_record(name, number))
        batch = bytes(build_batch(records, base_offset=offset, timestamp_ms=number, leader_epoch=EPOCH))
        offset += len(records)
        entries.append(Entry(batch, offset - 1, number))
    return entries


def replayed(entries: list[Entry]) -> TransactionReplay:
    replay = TransactionReplay()
    for entry in entries:
        for _, header in iter_batches(entry.batch):
            replay.add_batch(header, bytes(entry.batch))
    return replay


def snapshot_of(entries: list[Entry]) -> tuple[int, bytes]:
    """Return the end of a snapshot of all these batches, and its bytes."""
    tail = TransactionTail(None, None, is_whole=True)
    end_offset = entries[-1].last_offset + 1
    add_chunk(tail, b"".join(bytes(each.batch) for each in entries), end_offset)
    loaded = tail.settle(end_offset)
    assert loaded.last is not None
    return end_offset, b"".join(file.encode(Binding(NUMBER, 0, end_offset, loaded.last), loaded.contents()))


async def filled(entries: list[Entry], covered: int, trimmed: int) -> tuple[Engine, Claim]:
    """Return a node with these batches: a snapshot covers the first ones, of which some are deleted."""
    state = MemoryEngineState(lambda: 1_000_000_000_000)
    node = open_memory(state, 1)
    await node.directory.announce(ClusterNode(1, "host", 1), "run")
    claim = await node.store.claim(NUMBER, 0)
    (outcome,) = await node.store.append([(claim, entries)])
    assert outcome == AppendDurable(entries[-1].last_offset + 1)
    if covered:
        end_offset, data = snapshot_of(entries[:covered])
        await node.store.save_snapshot(claim, end_offset, (data,))
        await node.store.trim(claim, entries[trimmed - 1].last_offset + 1 if trimmed else 0)
    return node, claim


@given(operations=OPS, data=st.data())
async def test_a_snapshot_and_the_tail_are_the_whole_log(
    operations: list[tuple[str, list[str]]], data: st.DataObject
) -> None:
    entries = batches_of(operations)
    covered = data.draw(st.integers(0, len(entries)), "covered")
    trimmed = data.draw(st.integers(0, covered), "trimmed")
    node, _ = await filled(entries, covered, trimmed)
    end_offset = entries[-1].last_offset + 1
    loaded = await read_partition(node.store, NUMBER, end_offset, here, TransactionTail)
    expected = replayed(entries)
    assert loaded.replay.newest == expected.newest
    assert loaded.replay.settle() == expected.settle()
    assert loaded.replay.unknown == expected.unknown
    assert (loaded.replay.leader_epoch, loaded.next_offset) == (EPOCH, end_offset)
    assert loaded.snapshot_offset == (entries[covered - 1].last_offset + 1 if covered else -1)


async def test_records_that_are_missing_are_not_taken_for_a_whole_log() -> None:
    node, _ = await filled(batches_of([("write", ["a"]), ("write", ["b"])]), 0, 0)
    with pytest.raises(LogStoreError, match=f"partition {NUMBER} of memory cannot be read: records behind offset 2"):
        await read_partition(node.store, NUMBER, 3, here, TransactionTail)


async def test_a_child_process_makes_the_snapshots() -> None:
    entries = batches_of([("write", ["a", "b"]), ("forget", ["b"]), ("write", ["a"]), ("roll", [])])
    node, claim = await filled(entries, 1, 1)
    log = StoreLog(claim)
    log.high_watermark = entries[-1].last_offset + 1
    snapshots = StoreSnapshots(Config(ha_log_keep_ms=0), node.store, {NUMBER: log})
    await snapshots.make(NUMBER, log)
    assert snapshots.counters.written == 1
    stored = await node.store.load_snapshot(NUMBER)
    assert stored is not None
    assert (stored.next_offset, stored.data) == snapshot_of(entries)
    assert [chunk async for chunk in node.store.batches(NUMBER, 0)] == []
    loaded = await snapshots.load_transactions(asyncio.get_running_loop(), log)
    assert loaded.replay.newest == replayed(entries).newest
    await snapshots.close()


@asynccontextmanager
async def files(fs: MemoryFileSystem) -> AsyncIterator[FileLogStore]:
    store = FileLogStore(DATA, SMALL, fs, PARTITIONS)
    yield store
    await store.close()


@given(operations=OPS, data=st.data())
async def test_an_export_is_complete_and_an_import_brings_it_back(
    operations: list[tuple[str, list[str]]], data: st.DataObject
) -> None:
    entries = batches_of(operations)
    covered = data.draw(st.integers(0, len(entries)), "covered")
    trimmed = data.draw(st.integers(0, covered), "trimmed")
    node, _ = await filled(entries, covered, trimmed)
    fs = MemoryFileSystem()
    fs.mkdir(DATA)
    async with files(fs) as store:
        exported = await export_partition(node.store, store, NUMBER)
    assert exported.end_offset == entries[-1].last_offset + 1
    expected = replayed(entries)
    whole = TransactionReplay()
    async with files(fs) as store:
        async for chunk in store.batches(NUMBER, 0):
            for position, header in iter_batches(chunk):
                whole.add_batch(header, chunk[position : position + header.size_bytes])
        assert whole.newest == expected.newest
        if whole.newest:  # the next coordinator must have a higher epoch than those that wrote markers of these ids
            assert whole.leader_epoch == EPOCH
        assert "__transaction_state-0" in fs.listdir(DATA)

        other = open_memory(MemoryEngineState(lambda: 1_000_000_000_000), 1)
        await other.directory.announce(ClusterNode(1, "host", 1), "run")
        claim = await other.store.claim(NUMBER, 0)
        imported = await import_partition(store, other.store, claim)
    loaded = await read_partition(other.store, NUMBER, imported.end_offset, here, TransactionTail)
    assert loaded.replay.newest == expected.newest
    assert loaded.replay.leader_epoch == whole.leader_epoch

"""Partitions that were copied between stores have the state that they had, and a daemon finds it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.offsets.packed_groups import decode_offsets
from coordinator.engine.file_store import FileLogStore
from coordinator.engine.log_copy import copy_partition, export_partition, import_partition
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import Claim, ClaimLostError, LogStoreError, StoredSnapshot
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.storage.memory_store import CallOutcome
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.loading import Loaded, follow, load
from coordinator.storage.snapshot.records import compacted_batches
from coordinator.storage.snapshot.store_keeper import read_partition
from protocol.offsets_records import (
    GroupValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import ControlType, build_batch, build_control_batch, read_header
from tests.engine.test_memory_store import MemoryWorld
from tests.support.log_store_kit import NOW_MS, Node, joined

DATA = Path("/data")
SMALL = LogConfig(segment_bytes=3000)

OPERATIONS = st.one_of(
    st.tuples(st.just("commit"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("commit"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("pending"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("end"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("delete"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("group"), st.integers(0, 3), st.integers(1, 9)),
    st.tuples(st.just("gone"), st.integers(0, 3), st.just(0)),
)
LOGS = st.lists(OPERATIONS, min_size=1, max_size=40)


def log_of(operations: Iterable[tuple[str, int, Any]]) -> list[Entry]:
    """Return batches that commit, delete and do transactions."""
    batches: list[Entry] = []
    offset = 0
    for number, (name, which, argument) in enumerate(operations):
        time_ms = NOW_MS + number // 3
        group = f"group-{which}"
        options: dict[str, Any] = {"base_offset": offset, "timestamp_ms": time_ms}
        if name == "end":
            kind = ControlType.COMMIT if argument else ControlType.ABORT
            batch = build_control_batch(kind, producer_id=which, producer_epoch=0, **options)
        elif name in ("commit", "pending"):
            expire_ms = time_ms + 1000 if number % 5 == 0 else -1
            value = encode_offset_value(
                OffsetValue(number, -1 if expire_ms > 0 else 7, "é" * argument, time_ms, expire_ms)
            )
            rows = [(encode_offset_key(group, "orders", argument + each), value) for each in range(1 + number % 3)]
            if name == "pending":
                options |= {"producer_id": argument % 2, "producer_epoch": 0, "is_transactional": True}
            batch = build_batch(rows, **options)
        elif name == "delete":
            batch = build_batch([(encode_offset_key(group, "orders", argument), None)], **options)
        else:
            generation = GroupValue("consumer", argument, None, None, time_ms, [])
            group_value = encode_group_value(generation) if name == "group" else None
            batch = build_batch([(encode_group_key(group), group_value)], **options)
        last_offset = read_header(batch).last_offset
        batches.append(Entry(batch, last_offset, time_ms))
        offset = last_offset + 1
    return batches


def replayed(batches: list[Entry]) -> Loaded:
    pairs = ((read_header(each.batch), bytes(each.batch)) for each in batches)
    return follow(pairs, None, None, end_offset=batches[-1].last_offset + 1)


def snapshot_of(loaded: Loaded, partition: int = 0) -> StoredSnapshot:
    assert loaded.last is not None
    binding = Binding(partition, 0, loaded.next_offset, loaded.last)
    return StoredSnapshot(loaded.next_offset, b"".join(file.encode(binding, loaded.contents())))


def state_of(loaded: Loaded) -> Any:
    """Return the groups that have a record or an offset, with both, and the open transactions."""
    if loaded.last is None:
        return {}, {}
    _, base = file.decode(snapshot_of(loaded).data)
    groups = {}
    for group_id, block in base.blocks.items():
        value = base.data[block.value_at : block.value_at + block.value_size]
        offsets = decode_offsets(base.data, block.position)
        if value or offsets:
            groups[group_id] = (block.record_offset, value, offsets)
    return groups, {producer: found for producer, found in base.open.items() if found}


async def filled(world: MemoryWorld, batches: list[Entry], covered: int = 0, trimmed: int = 0) -> tuple[Node, Claim]:
    """Return a node whose claimed partition holds batches, with a snapshot of the first `covered` of them."""
    node = await world.node()
    claim = await node.claim(world.partition())
    await node.append(claim, *batches)
    if covered:
        found = snapshot_of(replayed(batches[:covered]), claim.partition)
        await node.store.save_snapshot(claim, found.next_offset, (found.data,))
        await node.store.trim(claim, batches[trimmed - 1].last_offset + 1 if trimmed else 0)
    return node, claim


class Files:
    """An empty data directory in memory."""

    def __init__(self) -> None:
        self.fs = MemoryFileSystem()
        self.fs.mkdir(DATA)

    @asynccontextmanager
    async def store(self) -> Any:
        store = FileLogStore(DATA, SMALL, self.fs)
        yield store
        await store.close()

    def load(self, partition: int, *, use_snapshot: bool = True) -> Loaded:
        """Load a partition as a daemon does at its start."""
        directory = offsets_log_dir(DATA, partition)
        log = Log.open(directory, SMALL, self.fs, file.evidence(self.fs, directory, partition))
        try:
            return load(self.fs, log, partition, chunk_bytes=1000, use_snapshot=use_snapshot)
        finally:
            log.close()


async def here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


@given(operations=LOGS, data=st.data())
def test_the_records_of_a_snapshot_stand_for_what_was_deleted(operations: list[Any], data: st.DataObject) -> None:
    batches = log_of(operations)
    covered = data.draw(st.integers(1, len(batches)), "covered")
    trimmed = data.draw(st.integers(0, covered), "trimmed")
    below = batches[trimmed - 1].last_offset + 1 if trimmed else 0
    head = compacted_batches(snapshot_of(replayed(batches[:covered])).data, below)
    assert all(each.last_offset < below for each in head)
    whole = [*head, *batches[trimmed:]]
    if whole:
        assert state_of(replayed(whole)) == state_of(replayed(batches))


@given(operations=LOGS, data=st.data())
async def test_an_export_is_complete_and_an_import_brings_it_back(operations: list[Any], data: st.DataObject) -> None:
    batches = log_of(operations)
    covered = data.draw(st.integers(0, len(batches)), "covered")
    trimmed = data.draw(st.integers(0, covered), "trimmed")
    world, files = MemoryWorld(), Files()
    node, claim = await filled(world, batches, covered, trimmed)
    async with files.store() as store:
        exported = await export_partition(node.store, store, claim.partition)
    assert exported.end_offset == batches[-1].last_offset + 1
    expected = state_of(replayed(batches))
    for use_snapshot in (True, False):
        loaded = files.load(claim.partition, use_snapshot=use_snapshot)
        assert loaded.next_offset == exported.end_offset
        assert state_of(loaded) == expected
    assert files.load(claim.partition).snapshot_offset == (
        batches[covered - 1].last_offset + 1 if covered and not trimmed else -1
    )

    other = MemoryWorld()
    target = await other.node()
    target_claim = await target.claim(claim.partition)
    async with files.store() as store:
        imported = await import_partition(store, target.store, target_claim)
    assert imported.end_offset == (exported.end_offset if exported.batches else 0)
    assert state_of(await reloaded(target, target_claim)) == expected
    if not trimmed:
        assert await target.read(claim.partition) == joined(batches)


async def reloaded(node: Node, claim: Claim) -> Loaded:
    """Release a partition, claim it again, and load it as a node does."""
    await node.store.release(claim)
    later = await node.claim(claim.partition)
    return await read_partition(node.store, claim.partition, later.end_offset, here)


@given(operations=LOGS, data=st.data())
async def test_a_compacted_log_is_imported_with_its_state(operations: list[Any], data: st.DataObject) -> None:
    batches = log_of(operations)
    tail = data.draw(st.integers(1, len(batches)), "first batch behind the compaction")
    end_offset = batches[-1].last_offset + 1
    start_offset = batches[tail - 1].last_offset + 1
    head = compacted_batches(snapshot_of(replayed(batches)).data, start_offset)
    files, world = Files(), MemoryWorld()
    async with files.store() as store:
        claim = await store.claim(0, 0)
        await store.begin(claim, start_offset, head)
        if batches[tail:]:
            await store.append([(claim, batches[tail:])])
    if not head and not batches[tail:]:
        return
    expected = state_of(files.load(0))
    node = await world.node()
    node_claim = await node.claim(0)
    async with files.store() as store:
        imported = await import_partition(store, node.store, node_claim)
    assert imported.end_offset == end_offset
    assert (await node.read(0)).endswith(joined(batches[tail:]))
    assert state_of(await reloaded(node, node_claim)) == expected


async def test_a_log_that_a_cleaner_compacts_in_the_store_is_exported_as_it_is() -> None:
    batches = log_of([("commit", number % 3, 0) for number in range(30)])
    kept = [each for number, each in enumerate(batches) if number % 7 != 3]
    source, files = Files(), Files()
    async with source.store() as store:
        claim = await store.claim(0, 0)
        await store.begin(claim, batches[25].last_offset + 1, [each for each in kept if each in batches[:26]])
        await store.append([(claim, batches[26:])])
    async with source.store() as store, files.store() as target:
        copied = await export_partition(store, target, 0)
        assert b"".join([chunk async for chunk in target.batches(0, 0)]) == joined(
            [*(each for each in kept if each in batches[:26]), *batches[26:]]
        )
    assert state_of(files.load(0)) == state_of(source.load(0))
    assert copied.batches == len(kept)


@pytest.mark.parametrize("covered", [10, 20])
async def test_batches_that_are_deleted_during_the_copy_are_missed(covered: int) -> None:
    batches = log_of([("commit", number % 3, 0) for number in range(20)])
    world, files = MemoryWorld(), Files()
    node, claim = await filled(world, batches)
    reads = 0

    async def trim_before_the_second_pass(node_id: int, method: str) -> CallOutcome:
        nonlocal reads
        if method == "batches":
            reads += 1
            if reads == 3:  # the first pass takes two
                found = snapshot_of(replayed(batches[:covered]))
                world.state.save_snapshot(claim, found)
                assert world.state.trim(claim, found.next_offset, 0) == covered
        return CallOutcome.DONE

    world.state.fate = trim_before_the_second_pass
    async with files.store() as store:
        with pytest.raises(LogStoreError, match="run this again"):
            await export_partition(node.store, store, claim.partition)


async def test_a_claim_that_is_lost_ends_the_copy() -> None:
    world, other = MemoryWorld(), MemoryWorld()
    node, claim = await filled(world, log_of([("commit", 0, 0)] * 3))
    target, thief = await other.node(), await other.node()
    former = await target.claim(claim.partition)
    await other.end(target, by=thief)
    await thief.claim(claim.partition)
    with pytest.raises(ClaimLostError, match="stop all nodes"):
        await copy_partition(node.store, target.store, former)


@pytest.mark.parametrize("fate", [CallOutcome.ANSWER_LOST, CallOutcome.REQUEST_LOST])
async def test_an_unknown_outcome_is_resolved_during_the_copy(fate: CallOutcome) -> None:
    batches = log_of([("commit", 0, 0)] * 3)
    world, other = MemoryWorld(), MemoryWorld()
    node, claim = await filled(world, batches)
    target = await other.node()
    other.fates[target.id, "append"] = fate
    copied = await copy_partition(node.store, target.store, await target.claim(claim.partition))
    assert copied.batches == 3
    assert await target.read(claim.partition) == joined(batches)


async def test_a_damaged_batch_is_not_copied() -> None:
    batches = log_of([("commit", 0, 0)] * 3)
    damaged = bytearray(batches[1].batch)
    damaged[-1] ^= 1
    world, other = MemoryWorld(), MemoryWorld()
    node, claim = await filled(world, [batches[0], batches[1]._replace(batch=damaged), batches[2]])
    target = await other.node()
    with pytest.raises(LogStoreError, match="damaged"):
        await copy_partition(node.store, target.store, await target.claim(claim.partition))
    assert await target.read(claim.partition) == b""


async def test_a_store_without_a_snapshot_for_what_it_has_deleted_is_not_exported() -> None:
    batches = log_of([("commit", 0, 0)] * 6)
    for covered in (0, 2):
        world, files = MemoryWorld(), Files()
        node, claim = await filled(world, batches[3:])
        if covered:
            world.state.save_snapshot(claim, snapshot_of(replayed(batches[:covered])))
        async with files.store() as store:
            with pytest.raises(LogStoreError, match="no snapshot reaches as far"):
                await export_partition(node.store, store, claim.partition)


async def test_a_store_that_has_nothing_but_a_snapshot_is_exported() -> None:
    batches = log_of([("commit", 0, 0), ("commit", 1, 1), ("commit", 0, 0)])
    world, files = MemoryWorld(), Files()
    node, claim = await filled(world, batches, covered=3, trimmed=3)
    async with files.store() as store:
        copied = await export_partition(node.store, store, claim.partition)
    assert (copied.start_offset, copied.end_offset) == (claim_end := batches[-1].last_offset + 1, claim_end)
    assert state_of(files.load(claim.partition)) == state_of(replayed(batches))

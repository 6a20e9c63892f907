"""A program that is no node reads each record of a store once, in any ranges, with batches deleted meanwhile."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.engine import log_reading
from coordinator.engine.log_reading import chunks
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import LogStore, LogStoreError
from coordinator.storage.memory_store import CallOutcome
from coordinator.storage.snapshot.records import compacted_batches
from protocol.record_batch import Record, read_header
from tests.engine.test_log_copy import LOGS, filled, log_of, replayed, snapshot_of
from tests.engine.test_memory_store import MemoryWorld
from tests.support.log_store_kit import records

EDGES = st.lists(st.integers(0, 100), max_size=6)


async def read(store: LogStore, partition: int, start: int, end: int) -> list[Record]:
    """Return the records of a range, and check that each chunk begins behind the last one."""
    found: list[Record] = []
    async for chunk in chunks(store, partition, start, end):
        new = [record for record in records(chunk.data) if record.offset >= chunk.from_offset]
        assert not found or not new or new[0].offset > found[-1].offset
        found += new
    return found


def of(batches: list[Entry]) -> list[Record]:
    return records(b"".join(bytes(each.batch) for each in batches))


def begins(batches: list[Entry]) -> list[int]:
    return [read_header(each.batch).base_offset for each in batches]


@given(LOGS, EDGES, st.data())
async def test_ranges_that_follow_each_other_have_each_record_once(
    operations: Any, edges: list[int], data: st.DataObject
) -> None:
    batches = log_of(operations)
    end = batches[-1].last_offset + 1
    covered = data.draw(st.integers(0, len(batches)))
    trimmed = data.draw(st.integers(0, covered))
    node, claim = await filled(MemoryWorld(), batches, covered, trimmed)
    cuts = sorted({0, *(each for each in edges if each < end), end})
    found = [
        record for start, behind in pairwise(cuts) for record in await read(node.store, claim.partition, start, behind)
    ]
    first = begins(batches)[trimmed] if trimmed < len(batches) else end
    head = compacted_batches(snapshot_of(replayed(batches[:covered])).data, first) if trimmed else []
    assert found == [*of(head), *of(batches[trimmed:])]


async def test_a_batch_belongs_to_the_range_that_has_its_first_offset() -> None:
    batches = log_of([("commit", 0, 0), ("commit", 1, 0), ("commit", 2, 0)])  # of 1, 2 and 3 records
    node, claim = await filled(MemoryWorld(), batches)
    assert [each.offset for each in await read(node.store, claim.partition, 0, 2)] == [0, 1, 2]
    assert [each.offset for each in await read(node.store, claim.partition, 2, 4)] == [3, 4, 5]
    assert await read(node.store, claim.partition, 4, 6) == []


async def test_batches_that_are_deleted_between_two_ranges_come_from_the_snapshot() -> None:
    batches = log_of([("commit", 0, 0), ("commit", 1, 0), ("commit", 0, 0), ("commit", 2, 1)])
    node, claim = await filled(MemoryWorld(), batches)
    before = await read(node.store, claim.partition, 0, 2)
    covered = snapshot_of(replayed(batches[:3]), claim.partition)
    await node.store.save_snapshot(claim, covered.next_offset, (covered.data,))
    await node.store.trim(claim, covered.next_offset)
    behind = await read(node.store, claim.partition, 3, batches[-1].last_offset + 1)
    offsets = [each.offset for each in (*before, *behind)]
    assert offsets == sorted(set(offsets))
    assert offsets == [*range(batches[-1].last_offset + 1)]


async def test_a_store_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reading, "PAUSE_S", 0.0)
    monkeypatch.setattr(log_reading, "CHUNK_BYTES", 1)
    batches = log_of([("commit", each % 3, 0) for each in range(9)])
    world = MemoryWorld()
    node, claim = await filled(world, batches)
    calls = 0

    async def fail_twice_of_three(node_id: int, method: str) -> CallOutcome:
        nonlocal calls
        calls += 1
        return CallOutcome.DONE if calls % 3 == 0 else CallOutcome.REFUSED

    world.state.fate = fail_twice_of_three
    found = await read(node.store, claim.partition, 0, batches[-1].last_offset + 1)
    assert found == of(batches)
    assert calls == 3 * len(batches)


async def test_a_store_that_has_deleted_what_no_snapshot_covers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reading, "PATIENCE_S", 0.0)
    monkeypatch.setattr(log_reading, "PAUSE_S", 0.0)
    node = await MemoryWorld().node()
    claim = await node.claim(0)
    await node.append(claim, *(each for each in log_of([("commit", 0, 0)] * 3) if begins([each])[0]))
    with pytest.raises(LogStoreError, match="begins at offset 1, and no snapshot reaches as far"):
        await read(node.store, 0, 0, 6)

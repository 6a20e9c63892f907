"""Copies partitions of the offsets log between stores: from a shared store into files, and back.

What arrives in files is a complete log, in which offsets may have gaps as in any compacted log: the records of the
snapshot stand where a store has deleted batches that the snapshot covers. What arrives in a shared store has no gaps: a
log that was compacted is copied from its last gap on, with a snapshot of all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from coordinator.engine.file_store import FileLogStore
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStore,
    LogStoreError,
    StoredSnapshot,
)
from coordinator.storage.snapshot.file import SnapshotError
from coordinator.storage.snapshot.records import compacted_batches
from protocol.errors import ProtocolError
from protocol.record_batch import BatchHeader, iter_batches, verify

_CHUNK_BYTES: Final = 1 << 20
_RETRY_S: Final = 1.0


class Unbroken(NamedTuple):
    """The end of a partition in which no batch is missing; empty if both are the same."""

    start_offset: int
    end_offset: int


class CopiedPartition(NamedTuple):
    """Content that was copied."""

    batches: int
    size_bytes: int
    start_offset: int  # no record is missing from here on
    end_offset: int


async def copy_partition(
    source: LogStore,
    target: LogStore,
    claim: Claim,
    offsets: Unbroken | None = None,
    snapshot: StoredSnapshot | None = None,
) -> CopiedPartition:
    """Copy all batches, or those behind the last gap, to an empty partition; then keep `snapshot` there.

    Raises LogStoreError; ClaimLostError if there is a later claim of the target.
    """
    batches = size_bytes = 0
    start_offset, least_end = offsets or await unbroken(source, claim.partition)
    due = start_offset
    async for entries in _entries(source, claim.partition, start_offset):
        if _base_offset(entries[0]) != due:
            break
        due = await _append(target, claim, entries)
        batches += len(entries)
        size_bytes += sum(len(entry.batch) for entry in entries)
    if due < least_end:
        raise LogStoreError(
            f"partition {claim.partition} of {source.name} lost the batches from offset {due} on while it was copied; "
            "run this again, into an empty target"
        )
    if snapshot is not None:
        await target.save_snapshot(claim, snapshot.next_offset, (snapshot.data,))
        due = max(due, snapshot.next_offset)
    return CopiedPartition(batches, size_bytes, start_offset, due)


async def _append(target: LogStore, claim: Claim, entries: list[Entry]) -> int:
    """Append batches, and return the offset behind them."""
    (outcome,) = await target.append([(claim, entries)])
    while isinstance(outcome, AppendUnknown):
        await asyncio.sleep(_RETRY_S)
        outcome = await target.resolve(claim, entries)
    if isinstance(outcome, AppendDurable):
        return outcome.high_watermark
    if isinstance(outcome, AppendFailed):
        raise LogStoreError(f"{target.name} refused batches of partition {claim.partition}: {outcome.error}")
    raise ClaimLostError(f"partition {claim.partition} of {target.name} was claimed by a node; stop all nodes first")


async def export_partition(source: LogStore, target: FileLogStore, partition: int) -> CopiedPartition:
    """Copy a partition into empty files, where it is complete without a snapshot. Raises LogStoreError."""
    snapshot = await source.load_snapshot(partition)
    offsets = await unbroken(source, partition)
    if snapshot is not None and not offsets.end_offset:  # all batches were deleted
        offsets = Unbroken(snapshot.next_offset, snapshot.next_offset)
    claim = await target.claim(partition, 0)
    head: list[Entry] = []
    if offsets.start_offset:
        head = await records_below(source, partition, offsets.start_offset, snapshot)
        # Batches that are left have replaced offsets that the deleted ones held, and the snapshot has the newest only.
        clean_up_to = snapshot.next_offset if snapshot is not None and source.deletes_below_snapshots else None
        await target.begin(claim, offsets.start_offset, head, clean_up_to)
        snapshot = None  # it would not fit this log, which begins otherwise
    copied = await copy_partition(source, target, claim, offsets, snapshot)
    size_bytes = copied.size_bytes + sum(len(entry.batch) for entry in head)
    return copied._replace(batches=copied.batches + len(head), size_bytes=size_bytes)


async def records_below(
    source: LogStore, partition: int, start_offset: int, snapshot: StoredSnapshot | None
) -> list[Entry]:
    """Return what stands for the records below an offset: those of the snapshot, or what a cleaner has left.

    Raises LogStoreError.
    """
    if not source.deletes_below_snapshots:
        return [
            entry
            async for entries in _entries(source, partition, 0)
            for entry in entries
            if entry.last_offset < start_offset
        ]
    if snapshot is None or snapshot.next_offset < start_offset:
        raise LogStoreError(
            f"partition {partition} of {source.name} begins at offset {start_offset}, and no snapshot reaches as far; "
            "if a node has made one just now, run this again (an export: with a new directory)"
        )
    try:
        return await asyncio.to_thread(compacted_batches, snapshot.data, start_offset)
    except SnapshotError as error:
        raise LogStoreError(
            f"the snapshot of partition {partition} in {source.name} cannot be used: {error}; restore the store from "
            "its backup",
            may_pass=False,
        ) from None


async def import_partition(source: FileLogStore, target: LogStore, claim: Claim) -> CopiedPartition:
    """Copy a partition from files to an empty one of a shared store, with a new snapshot. Raises LogStoreError."""
    try:
        snapshot = await asyncio.to_thread(source.fold, claim.partition)
    except (LogError, OSError) as error:
        raise LogStoreError(
            f"partition {claim.partition} of {source.name} cannot be read: {error}; run `coordinator log verify`",
            may_pass=False,
        ) from None
    return await copy_partition(source, target, claim, snapshot=snapshot)


async def unbroken(source: LogStore, partition: int) -> Unbroken:
    """Return the offsets behind the last gap that a compaction has left. Raises LogStoreError."""
    start: int | None = None
    due = 0
    async for entries in _entries(source, partition, 0):
        for entry in entries:
            if start is None or _base_offset(entry) != due:
                start = _base_offset(entry)
            due = entry.last_offset + 1
    return Unbroken(due if start is None else start, due)


def _base_offset(entry: Entry) -> int:
    return int.from_bytes(entry.batch[:8], "big")


async def _entries(source: LogStore, partition: int, from_offset: int) -> AsyncIterator[list[Entry]]:
    """Yield the batches from an offset on, in chunks; their checksums are right. Raises LogStoreError."""
    async for chunk in source.batches(partition, from_offset, _CHUNK_BYTES):
        try:
            yield [_entry(chunk, position, header) for position, header in iter_batches(chunk)]
        except ProtocolError as error:
            raise LogStoreError(
                f"a batch of partition {partition} in {source.name} is damaged: {error}; restore it from a backup",
                may_pass=False,
            ) from None


def _entry(chunk: bytes, position: int, header: BatchHeader) -> Entry:
    verify(chunk, position, header)
    return Entry(chunk[position : position + header.size_bytes], header.last_offset, header.max_timestamp)

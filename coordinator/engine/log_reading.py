"""Reads the offsets log of a shared store for a program that is no node: it claims nothing, and the nodes go on.

Where a store has deleted batches, the records of its newest snapshot stand for them, at their own offsets, as a
compaction would have left them. A store that does not answer now, as in a fail-over, is asked again for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from coordinator.engine.log_copy import records_below
from coordinator.engine.opening import open_engine
from coordinator.storage.log_store import LogStore, LogStoreError
from protocol.record_batch import iter_batches

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.membership.directory import Engine

PATIENCE_S: Final = 60.0
PAUSE_S: Final = 1.0
CHUNK_BYTES: Final = 1 << 20

T = TypeVar("T")


class LogChunk(NamedTuple):
    """Whole batches. Records with offsets below `from_offset` were read before."""

    from_offset: int
    data: bytes


async def patiently(act: Callable[[], Awaitable[T]]) -> T:
    """Do something with a store, again and again while it does not answer. Raises LogStoreError in the end."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while True:
        try:
            return await act()
        except LogStoreError as error:
            if not error.may_pass or loop.time() > deadline:
                raise
        await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def reading(config: Config) -> AsyncIterator[Engine]:
    """Open the store that the settings name, to read it. Raises LogStoreError."""
    engine = await patiently(lambda: open_engine(config, config.node_id, for_reading=True))
    try:
        yield engine
    finally:
        await engine.directory.close()
        await engine.store.close()


async def chunks(store: LogStore, partition: int, start: int, end: int) -> AsyncIterator[LogChunk]:
    """Yield the records from one offset to another, in order. Raises LogStoreError.

    A batch belongs to the range that has its first offset, so that ranges which follow each other divide none.
    """
    due = start
    found: AsyncIterator[bytes] | None = None

    async def following() -> bytes | None:
        nonlocal found
        if found is None:
            found = store.batches(partition, due, CHUNK_BYTES)
        try:
            return await anext(found, None)
        except LogStoreError:
            found = None
            raise

    while due < end:
        data = await patiently(following)
        first = end if data is None else min(int.from_bytes(data[:8], "big"), end)
        if first > due:
            yield LogChunk(due, await _deleted(store, partition, first))
            due = first
        if data is None:
            return
        parts = list(_starting_in(data, start, end))
        if parts:
            yield LogChunk(due, b"".join(parts))
        due = max(due, _end(data))


def _starting_in(data: bytes, start: int, end: int) -> Iterator[bytes]:
    for position, header in iter_batches(data):
        if start <= header.base_offset < end:
            yield data[position : position + header.size_bytes]


def _end(data: bytes) -> int:
    return max(header.last_offset for _, header in iter_batches(data)) + 1


async def _deleted(store: LogStore, partition: int, below: int) -> bytes:
    async def kept() -> bytes:
        snapshot = await store.load_snapshot(partition)
        return b"".join([bytes(each.batch) for each in await records_below(store, partition, below, snapshot)])

    return await patiently(kept)

"""Reads a partition of the offsets log from the topic, and decides which batches count.

A batch counts if it stands as far behind the claim record of its producer as its sequence number says. Any batch of
another writer in between takes offsets and breaks that for all that follows. So nothing counts that an owner appends
behind a later claim, even where the broker accepts it because it has forgotten the producer or gave out a new id. Its
owner notices the same from the offset in the answer. A row that was divided counts when all of it is there.

Offsets of the log and of the topic differ by what does not count: the difference only grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Final, NamedTuple

from coordinator.engine.kafka.batches import (
    SEQUENCES,
    RowPiece,
    joined_batch,
    original_batches,
    read_claim,
    read_piece,
)
from coordinator.engine.kafka.client import (
    EARLIEST,
    LATEST,
    KafkaClient,
    ProducerIdentity,
    TopicPlace,
)
from coordinator.storage.log_store import LogStoreError
from protocol.errors import CorruptBatchError
from protocol.record_batch import BatchHeader, iter_batches, read_header, verify

ONE_BATCH: Final = 1  # a broker returns at least one whole batch
SLICE_S: Final = 0.005


class CountedBatch(NamedTuple):
    """A batch of the topic that counts, if its row is complete."""

    batch: bytes
    header: BatchHeader
    piece: RowPiece

    @property
    def shift(self) -> int:
        """Distance of its offset in the topic from its offset in the log."""
        return self.header.base_offset - self.piece.base_offset


async def raw_batches(
    client: KafkaClient, place: TopicPlace, from_offset: int, end_offset: int, chunk_bytes: int
) -> AsyncIterator[tuple[bytes, BatchHeader]]:
    """Yield the batches below `end_offset` as they stand in the topic. None is left out.

    `end_offset` is at most the high watermark. Other work of the event loop gets its turn every `SLICE_S`, whatever the
    caller does with the batches. Raises BrokerError, LogStoreError, CorruptBatchError.
    """
    while from_offset < end_offset:
        offset = from_offset
        data = await client.fetch_records(place, offset, chunk_bytes)
        began = monotonic()
        for position, header in iter_batches(data):
            if header.base_offset >= end_offset:
                return
            if header.last_offset >= from_offset:
                batch = data[position : position + header.size_bytes]
                verify(batch, 0, header)
                yield batch, header
                from_offset = header.last_offset + 1
                if monotonic() - began > SLICE_S:
                    await asyncio.sleep(0)
                    began = monotonic()
        if from_offset == offset:
            raise CorruptBatchError(f"{len(data)} bytes at offset {offset} are no whole batch")


class LogReader:
    """One reading of a partition, from its present start to its present end. Create it with `open`.

    Its methods raise BrokerError, LogStoreError and ProtocolError.
    """

    def __init__(self, client: KafkaClient, place: TopicPlace, start_offset: int, end_offset: int) -> None:
        self.start_offset = start_offset  # of the topic
        self.end_offset = end_offset
        self._client = client
        self._place = place
        self._claimed_at: dict[ProducerIdentity, int] = {}  # offset of the claim record; -1: there is none

    @classmethod
    async def open(cls, client: KafkaClient, place: TopicPlace) -> LogReader:
        return cls(client, place, await client.offset_at(place, EARLIEST), await client.offset_at(place, LATEST))

    async def chunks(self, from_offset: int, chunk_bytes: int, *, joined: bool = False) -> AsyncIterator[bytes]:
        """Yield whole batches as `LogStore.batches` does."""
        chunk = bytearray()
        async for counted in self.rows(from_offset, chunk_bytes):
            first = max(from_offset, self.start_offset - counted.shift)  # parts of the batch may have been deleted
            for batch in _wanted(counted, first, joined=joined):
                chunk += batch
                if len(chunk) >= chunk_bytes:
                    yield bytes(chunk)
                    chunk = bytearray()
        if chunk:
            yield bytes(chunk)

    async def rows(self, from_offset: int, chunk_bytes: int) -> AsyncIterator[CountedBatch]:
        """Yield the batches that count, from about an offset of the log on."""
        row: list[CountedBatch] = []
        begin = await self._at_or_before(from_offset)
        async for batch, header in self._raw(begin, self.end_offset, chunk_bytes):
            counted = await self._counted(batch, header)
            if counted is None:
                if read_claim(batch, header) is not None:
                    row = []  # the rest of it will never come
                continue
            row.append(counted)
            if counted.piece.row_end == counted.piece.ends(header)[-1]:
                for each in row:
                    yield each
                row = []

    async def first_offset(self) -> int | None:
        """Return the offset of the log at which the batches that are left begin; None: there are none."""
        async for counted in self.rows(0, ONE_BATCH):
            return max(counted.piece.base_offset, self.start_offset - counted.shift)
        return None

    async def end_before(self, claimed_at: int, known_at: int, known_end: int) -> int:
        """Return the end of the log at a claim record. `known_end` is its end at the claim record at `known_at`.

        Raises LogStoreError if a batch in between is missing.
        """
        position = claimed_at - 1
        while position >= max(self.start_offset, known_at + 1):
            before = position
            async for batch, header in self._raw(position, position + 1, ONE_BATCH):
                counted = await self._counted(batch, header)
                if counted is not None:
                    is_complete = counted.piece.row_end == counted.piece.ends(header)[-1]
                    return counted.piece.row_end if is_complete else counted.piece.row_start
                position = header.base_offset - 1
            if position == before:
                raise LogStoreError(
                    f"offset {position} of {self._place.topic} partition {self._place.partition} cannot be read; "
                    "check cleanup.policy of the topic, and the replicas of the partition"
                )
        return known_end

    def _raw(self, from_offset: int, end_offset: int, chunk_bytes: int) -> AsyncIterator[tuple[bytes, BatchHeader]]:
        return raw_batches(self._client, self._place, from_offset, end_offset, chunk_bytes)

    async def _at_or_before(self, from_offset: int) -> int:
        """Return an offset of the topic that is not behind an offset of the log, by the first batch that counts."""
        async for batch, header in self._raw(self.start_offset, self.end_offset, ONE_BATCH):
            counted = await self._counted(batch, header)
            if counted is not None:
                return max(from_offset + counted.shift, self.start_offset)
        return self.end_offset

    async def _counted(self, batch: bytes, header: BatchHeader) -> CountedBatch | None:
        producer = _producer(header)
        if read_claim(batch, header) is not None:
            self._claimed_at[producer] = header.base_offset
            return None
        if header.base_sequence < 0:
            return None
        if producer not in self._claimed_at:
            self._claimed_at[producer] = await self._find_claim(producer, header)
        claimed_at = self._claimed_at[producer]
        if claimed_at < 0 or (header.base_offset - claimed_at) % SEQUENCES != header.base_sequence:
            return None
        piece = read_piece(batch)
        return None if piece is None else CountedBatch(batch, header, piece)

    async def _find_claim(self, producer: ProducerIdentity, header: BatchHeader) -> int:
        """Return the offset of the claim that a batch says it stands behind; -1 if there is none.

        If the claim record was deleted with all that is older, the first batch that is left tells the claim.
        """
        offset = header.base_offset - header.base_sequence
        while offset >= self.start_offset:
            found = await self._header_at(offset)
            if found is not None and found.base_sequence == 0 and _producer(found) == producer:
                return offset
            offset -= SEQUENCES
        first = await self._header_at(self.start_offset)
        if first is None or _producer(first) != producer:
            return -1
        is_same = (first.base_offset - first.base_sequence - offset) % SEQUENCES == 0
        return offset % SEQUENCES if is_same else -1

    async def _header_at(self, offset: int) -> BatchHeader | None:
        async for _, header in self._raw(offset, offset + 1, ONE_BATCH):
            return header
        return None


def _wanted(counted: CountedBatch, first: int, *, joined: bool) -> list[bytearray]:
    """Return the batches of the log that end at the offset `first` of the log or behind it."""
    if joined and counted.piece.base_offset >= first and (batch := joined_batch(*counted)) is not None:
        return [batch]
    return [batch for batch in original_batches(*counted) if read_header(batch).last_offset >= first]


def _producer(header: BatchHeader) -> ProducerIdentity:
    return ProducerIdentity(header.producer_id, header.producer_epoch)

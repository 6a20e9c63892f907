"""Offsets log in memory, which checks the offsets of the core, drops what was not flushed, and fails on demand.

Its batches are real ones (`protocol.record_batch`), so that loading reads the bytes that a disk would return.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from coordinator.core.effects import Append
from protocol.offsets_records import (
    GroupValue,
    OffsetKey,
    OffsetValue,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from protocol.record_batch import (
    BatchHeader,
    ControlType,
    Record,
    build_batch,
    build_control_batch,
    read_header,
    read_records,
)


class Written(NamedTuple):
    """One record of the log, decoded. A value of None is a tombstone."""

    offset: int
    key: object
    value: OffsetValue | GroupValue | None


class _Partition:
    def __init__(self) -> None:
        self.durable: list[bytes] = []
        self.queued: list[bytearray] = []
        self.high_watermark = 0
        self.next_offset = 0


class MemoryOffsetsLog:
    """Log with a number of partitions. Appends are durable after `flush`."""

    def __init__(self, partitions: int) -> None:
        self.partitions = [_Partition() for _ in range(partitions)]

    def append(self, append: Append, wall_ms: int) -> None:
        """Queue an append, and check the offset that the core has given to its last record."""
        log = self.partitions[append.partition]
        if append.marker is not None:
            assert append.producer is not None
            assert not append.records
            batch = build_control_batch(
                ControlType.COMMIT if append.marker else ControlType.ABORT,
                base_offset=log.next_offset,
                timestamp_ms=wall_ms,
                producer_id=append.producer.producer_id,
                producer_epoch=append.producer.producer_epoch,
            )
        elif append.producer is not None:
            batch = build_batch(
                append.records,
                base_offset=log.next_offset,
                timestamp_ms=wall_ms,
                producer_id=append.producer.producer_id,
                producer_epoch=append.producer.producer_epoch,
                is_transactional=True,
            )
        else:
            batch = build_batch(append.records, base_offset=log.next_offset, timestamp_ms=wall_ms)
        log.queued.append(batch)
        log.next_offset = read_header(batch).last_offset + 1
        assert append.then.last_offset == log.next_offset - 1, "the core and the log disagree about offsets"

    def flush(self, partition: int, at_most: int | None = None) -> int | None:
        """Make the oldest `at_most` queued appends durable. Returns the high watermark if it moved."""
        log = self.partitions[partition]
        count = len(log.queued) if at_most is None else at_most
        moved, log.queued = log.queued[:count], log.queued[count:]
        if not moved:
            return None
        log.durable += [bytes(batch) for batch in moved]
        log.high_watermark = read_header(moved[-1]).last_offset + 1
        return log.high_watermark

    def drop_queued(self, partition: int) -> int | None:
        """Drop the queued appends, as a failed write does. Returns the first dropped offset, if any."""
        log = self.partitions[partition]
        if not log.queued:
            return None
        log.queued.clear()
        log.next_offset = log.high_watermark
        return log.high_watermark

    def batches(self, partition: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield all durable batches, oldest first."""
        for batch in self.partitions[partition].durable:
            yield read_header(batch), batch

    def records(self, partition: int) -> Iterator[tuple[BatchHeader, list[Record]]]:
        """Yield all durable batches with their records decoded, oldest first."""
        for header, batch in self.batches(partition):
            yield header, read_records(batch, 0, header)

    def raw(self, partition: int) -> list[tuple[bytes, bytes | None]]:
        """Return the key and value of all durable data records, oldest first."""
        return [
            (record.key or b"", record.value)
            for header, batch in self.records(partition)
            if not header.is_control
            for record in batch
        ]

    def written(self, partition: int) -> list[Written]:
        """Return all durable data records, oldest first."""
        records = []
        for header, batch in self.records(partition):
            if not header.is_control:
                records += [_decoded(record) for record in batch]
        return records


def _decoded(record: Record) -> Written:
    assert record.key is not None
    key = decode_key(record.key)
    if record.value is None:
        return Written(record.offset, key, None)
    value = decode_offset_value(record.value) if isinstance(key, OffsetKey) else decode_group_value(record.value)
    return Written(record.offset, key, value)

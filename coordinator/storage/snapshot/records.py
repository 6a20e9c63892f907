"""The records of a snapshot, in batches at their own offsets, as a compaction would have left them in the log.

A store that deletes what a snapshot covers has a log that is incomplete without it. With these batches in front of what
is left, the log is complete again, for programs that know no snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from coordinator.core.offsets.packed_groups import decode_offsets
from coordinator.core.offsets.raw_records import committed_offset
from coordinator.core.offsets.replay import Base
from coordinator.storage.log.segment import Entry
from coordinator.storage.snapshot import file
from protocol.errors import DecodeError
from protocol.offsets_records import (
    OffsetValue,
    decode_group_value,
    encode_group_key,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import NO_PRODUCER, build_batch

_MOST_RECORDS: Final = 1000  # of one batch
_NO_TIME: Final = -1


class _Row(NamedTuple):
    """A record of the log."""

    offset: int
    timestamp_ms: int
    producer_id: int  # of the open transaction it is part of; NO_PRODUCER: it is committed
    key: bytes
    value: bytes | None


def compacted_batches(snapshot: bytes, below: int) -> list[Entry]:
    """Return the records of a snapshot with offsets below `below`, in order. Raises SnapshotError."""
    binding, base = file.decode(snapshot)
    leader_epoch = binding.last.leader_epoch
    entries: list[Entry] = []
    run: list[_Row] = []
    for row in sorted(row for row in _rows(base) if row.offset < below):
        if run and (
            row.offset != run[-1].offset + 1
            or (row.timestamp_ms, row.producer_id) != run[-1][1:3]
            or len(run) == _MOST_RECORDS
        ):
            entries.append(_batch_of(run, leader_epoch))
            run = []
        run.append(row)
    if run:
        entries.append(_batch_of(run, leader_epoch))
    return entries


def _batch_of(run: list[_Row], leader_epoch: int) -> Entry:
    first = run[0]
    is_open = first.producer_id != NO_PRODUCER
    batch = build_batch(
        [(row.key, row.value) for row in run],
        base_offset=first.offset,
        timestamp_ms=first.timestamp_ms,
        leader_epoch=leader_epoch,
        producer_id=first.producer_id,
        producer_epoch=0 if is_open else NO_PRODUCER,
        is_transactional=is_open,
    )
    return Entry(batch, run[-1].offset, first.timestamp_ms)


def _rows(base: Base) -> Iterator[_Row]:
    for group_id, block in base.blocks.items():
        if block.record_offset >= 0:
            value = base.data[block.value_at : block.value_at + block.value_size] or None  # None: it was deleted
            yield _Row(block.record_offset, _changed_ms(value), NO_PRODUCER, encode_group_key(group_id), value)
        for topic, partitions in decode_offsets(base.data, block.position).items():
            for partition, committed in partitions.items():
                key = encode_offset_key(group_id, topic, partition)
                encoded = encode_offset_value(OffsetValue(*committed[:-1]))
                yield _Row(committed.log_offset, committed.commit_timestamp_ms, NO_PRODUCER, key, encoded)
    for producer_id, records in ((NO_PRODUCER, base.damaged), *base.open.items()):
        for key, (raw, offset) in records.items():
            yield _Row(offset, _committed_ms(raw), producer_id, key, raw)
    for key, (raw, offset) in base.consumer.items():
        yield _Row(offset, _NO_TIME, NO_PRODUCER, key, raw)


def _changed_ms(value: bytes | None) -> int:
    """Return the time of a group's record; -1 if it is unknown."""
    if value is not None:
        with suppress(DecodeError):
            return decode_group_value(value).current_state_timestamp_ms
    return _NO_TIME


def _committed_ms(value: bytes) -> int:
    with suppress(DecodeError):
        return committed_offset(value, 0).commit_timestamp_ms
    return _NO_TIME

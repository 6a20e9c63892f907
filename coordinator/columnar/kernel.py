"""The decode kernel: all records of a segment as columns, without a Python object for any of them.

A record begins where the one before it ends, but batches do not depend on each other: step k finds the end of the k-th
record of *every* batch that has one (batches are sorted by their counts, so those are always the first). For a few long
batches a step costs more than it finds, so they are walked one record at a time. Then the fields of all records are
read at once, in blocks that fit into the processor's cache.

Keys and values are not copied: columns hold positions in `Records.data`, which is the segment with the decompressed
batches behind it. A length beyond the batch, a record that does not fill its length, or an offset outside its batch
raises CorruptBatchError, as in `protocol.record_batch`; reads beyond the data are clipped and rejected afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.columnar.batches import (
    Batches,
    Bools,
    CorruptBatchError,
    Data,
    Int32s,
    Int64s,
    SkippedBytes,
    read_batches,
)
from protocol.compression import MAX_DECOMPRESSED_BYTES, Codec, decompress
from protocol.errors import DecodeError
from protocol.primitives import read_zigzag
from protocol.record_batch import HEADER_BYTES

__all__ = [
    "Batches",
    "CorruptBatchError",
    "Records",
    "SkippedBytes",
    "array_of",
    "numbers_of",
    "read_batches",
    "read_records",
    "read_segment",
]

NULL: Final = -1
MAX_EXPANDED_BYTES: Final = 2**31 - 1  # a segment and what its batches expand to; larger ones are read in parts

_SMALLEST_RECORD: Final = 7  # length, attributes, timestamp, offset, key length, value length, header count
_FEW: Final = 40  # batches: for fewer, a step over all costs more than walking them one by one (measured)
_BLOCK: Final = 16_384  # records whose columns fit into the second-level cache

Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Records:
    """One element per record, in log order. Timestamps are in ms; positions and sizes are bytes of `data`."""

    data: Data  # the segment; payloads that were compressed stand behind it
    batch: Int32s  # index in the `Batches` that were read
    offset: Int64s
    timestamp: Int64s
    start: Int64s
    size: Int32s
    key_at: Int64s
    key_len: Int32s  # -1: null
    value_at: Int64s
    value_len: Int32s  # -1: null, a tombstone

    def __len__(self) -> int:
        return len(self.offset)

    def keys(self, which: npt.NDArray[Any] | None = None) -> pa.BinaryArray:
        """Return the keys of all records, or of those at some indexes, copied into an Arrow column."""
        return self.slices(self.key_at, self.key_len, which)

    def values(self, which: npt.NDArray[Any] | None = None) -> pa.BinaryArray:
        """Return the values; null where the record is a tombstone."""
        return self.slices(self.value_at, self.value_len, which)

    def slices(self, at: Int64s, length: Int32s, which: npt.NDArray[Any] | None = None) -> pa.BinaryArray:
        """Return bytes of `data` as an Arrow column; a negative length is null, whatever its position.

        Arrow copies runs of bytes fast if it takes every second element of a column [this, gap, next, gap, ...].
        """
        if which is not None:
            at, length = at[which], length[which]
        count = len(at)
        if not count:
            return pa.nulls(0, pa.binary())
        at = np.clip(at, 0, len(self.data))  # positions of nulls are undefined
        order = None
        if (at[1:] < at[:-1] + np.maximum(length[:-1], 0)).any():  # compressed batches stand behind the segment
            order = np.argsort(at, kind="stable")
            at, length = at[order], length[order]
        is_large = len(self.data) > MAX_EXPANDED_BYTES
        edges = np.empty(2 * count, np.int64 if is_large else np.int32)
        edges[0::2] = at
        edges[1::2] = at + np.maximum(length, 0)
        kind = pa.large_binary() if is_large else pa.binary()
        column = pa.Array.from_buffers(kind, 2 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(self.data)])
        indexes = np.arange(0, 2 * count, 2)
        is_null = length < 0
        if order is not None:
            back = np.empty(count, np.int64)
            back[order] = np.arange(count)
            indexes, is_null = indexes[back], is_null[back]
        taken = column.take(array_of(indexes, is_null if is_null.any() else None))
        return taken.cast(pa.binary()) if is_large else taken


def array_of(numbers: npt.NDArray[Any], is_null: Bools | None = None) -> pa.Array:
    """Return an Arrow column over the same memory. `pa.array` would import pandas, which takes half a second."""
    numbers = np.ascontiguousarray(numbers)
    valid = None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])


def numbers_of(column: pa.Array) -> npt.NDArray[Any]:
    """Return the numbers of an Arrow column without nulls. `to_numpy` would import pandas as well."""
    kind = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def read_segment(
    path: Path,
    *,
    verify_crc: bool = True,
    skip_corrupt: bool = False,
    growing: bool = False,
) -> tuple[Batches, Records, list[SkippedBytes]]:
    """Read a segment; the options are those of `read_batches`.

    The file is read, not mapped: truncating a mapped file ends the process with SIGBUS.
    """
    data = path.read_bytes()
    batches, damages = read_batches(data, path=path, verify_crc=verify_crc, skip_corrupt=skip_corrupt, growing=growing)
    records, bad = _decode(data, batches)
    if bad:
        if not skip_corrupt:
            raise _corrupt(path, batches, bad)
        keep = np.ones(len(batches), np.bool_)
        keep[list(bad)] = False
        damages += [
            SkippedBytes(int(batches.position[each]), int(batches.size[each]), why) for each, why in bad.items()
        ]
        damages.sort(key=lambda damage: damage.position)
        batches = batches[keep]
        records, _ = _decode(data, batches)
    return batches, records, damages


def read_records(data: Data, batches: Batches, *, path: Path | str) -> Records:
    """Return the records of some batches of a segment, those of control batches included.

    Raises CorruptBatchError at the first batch with malformed records.
    """
    records, bad = _decode(data, batches)
    if bad:
        raise _corrupt(path, batches, bad)
    return records


def _corrupt(path: Path | str, batches: Batches, bad: dict[int, str]) -> CorruptBatchError:
    first = min(bad)
    return CorruptBatchError(path, int(batches.position[first]), bad[first])


def _decode(data: Data, batches: Batches) -> tuple[Records, dict[int, str]]:
    """Return the records and, by index, the batches with damaged ones, with the reason."""
    bad: dict[int, str] = {}
    data, start, end = _expanded(data, batches, bad)
    count = batches.count.astype(np.int64)
    for index in np.flatnonzero(count * _SMALLEST_RECORD > end - start).tolist():
        bad.setdefault(index, f"{count[index]} records in {end[index] - start[index]} bytes")
    count[list(bad)] = 0
    end[list(bad)] = start[list(bad)]
    first = np.concatenate(([0], np.cumsum(count)))
    record_end, broken = _find(data, start, end, count, first[:-1])
    for index in broken:
        bad.setdefault(index, "a record is longer than its batch, or does not end with it")

    total = len(record_end)
    record_start = np.empty(total, np.int64)
    record_start[1:] = record_end[:-1]
    has_records = count > 0
    record_start[first[:-1][has_records]] = start[has_records]
    batch = np.repeat(np.arange(len(batches), dtype=np.int32), count)
    columns = _Columns(np.frombuffer(data, np.uint8), batches, count)
    for low, high in pairwise([*range(0, total, _BLOCK), total]):
        columns.read(low, high, record_start, record_end)
    if batches.has_log_append_time.any():
        columns.set_append_times(batches, batch)
    # Offsets of batches do not overlap, so within and between them they must grow.
    is_growing = columns.offset[1:] > columns.offset[:-1]
    if not is_growing.all():
        columns.damaged.append(np.flatnonzero(~is_growing) + 1)
    for row, headers_at in columns.headers:
        if not _are_headers(data, headers_at, int(record_end[row])):
            columns.damaged.append(np.array([row]))
    if columns.damaged:
        for index in np.unique(batch[np.concatenate(columns.damaged)]).tolist():
            bad.setdefault(index, "a record is damaged")
    records = Records(
        data=data,
        batch=batch,
        offset=columns.offset,
        timestamp=columns.timestamp,
        start=record_start,
        size=(record_end - record_start).astype(np.int32),
        key_at=columns.key_at,
        key_len=columns.key_len,
        value_at=columns.value_at,
        value_len=columns.value_len,
    )
    return records, bad


def _expanded(data: Data, batches: Batches, bad: dict[int, str]) -> tuple[Data, Int64s, Int64s]:
    """Return the bytes to decode, and the positions in them where the records of each batch begin and end."""
    start = batches.position + HEADER_BYTES
    end = batches.position + batches.size
    compressed = np.flatnonzero(batches.codec != Codec.NONE).tolist()
    if not compressed:
        return data, start, end
    parts: list[bytes] = [data[:]]
    length = len(data)
    for index in compressed:
        payload = b""
        limit = min(MAX_DECOMPRESSED_BYTES, max(MAX_EXPANDED_BYTES - length, 0))
        try:
            payload = decompress(int(batches.codec[index]), data[start[index] : end[index]], limit)
        except DecodeError as error:
            bad[index] = str(error)
        parts.append(payload)
        start[index] = length
        length += len(payload)
        end[index] = length
    return b"".join(parts), start, end


def _find(data: Data, start: Int64s, end: Int64s, count: Int64s, first: Int64s) -> tuple[Int64s, list[int]]:
    """Return the end of each record, and the batches where it cannot be found. `first` has indexes of first records.

    Positions only grow, so one that has left its batch is not at the batch's end afterwards, which is all that is
    checked. A negative length moves back, but makes a record that ends before its fields, which is found with those.
    """
    record_end = np.zeros(int(count.sum()), np.int64)
    if not len(record_end):
        return record_end, np.flatnonzero(start != end).tolist()
    source = np.frombuffer(data, np.uint8)
    order = np.argsort(-count, kind="stable")
    position, limit, slot = start[order], end[order], first[order]
    ascending = -count[order]
    step = 0
    active = int(np.searchsorted(ascending, 0))  # number of batches that have a record `step`
    while active > _FEW:
        length, behind = _lengths(source, position[:active])
        behind += length
        record_end[slot[:active]] = behind
        position[:active] = behind
        slot[:active] += 1
        step += 1
        active = int(np.searchsorted(ascending[:active], -step))
    for index in range(active):
        place, left = int(slot[index]), -int(ascending[index]) - step
        ends = _walk(data, int(position[index]), int(limit[index]), left)
        record_end[place : place + len(ends)] = ends
        position[index] = ends[-1] if len(ends) == left else NULL
    return record_end, np.sort(order[position != limit]).tolist()


def _lengths(source: Bytes, at: Int64s) -> tuple[npt.NDArray[Any], Int64s]:
    """Return the length of the record at each position, any number where it is wrong, and the position behind it.

    Nearly all records have 64 to 8191 bytes, and a length of two bytes.
    """
    low = source.take(at, mode="clip")
    behind = at + 1
    high = source.take(behind, mode="clip")
    is_long = low > 127
    if (is_long & (high > 127)).any():
        length, behind, bad = _varints(source, at)
        return np.where(bad, NULL, np.minimum(length, MAX_EXPANDED_BYTES)), behind
    high *= is_long
    raw = (low & 127).astype(np.int16)
    raw |= high.astype(np.int16) << 7
    behind += is_long
    return (raw >> 1) ^ -(raw & 1), behind


def _walk(data: Data, position: int, end: int, count: int) -> list[int]:
    """Return the ends of up to `count` records of one batch; fewer if the next is longer than the batch."""
    ends = []
    try:
        for _ in range(count):
            byte = data[position]
            if byte < 128:
                length, position = byte >> 1 ^ -(byte & 1), position + 1
            else:
                length, position = read_zigzag(data, position)  # type: ignore[arg-type]
            if not 0 <= length <= end - position:
                break
            position += length
            ends.append(position)
    except (IndexError, DecodeError):
        pass
    return ends


class _Columns:
    """The fields of records, filled block by block."""

    def __init__(self, source: Bytes, batches: Batches, count: Int64s) -> None:
        self._source = source
        total = int(count.sum())
        # The bases come first; the deltas are added to them.
        self.offset = np.repeat(batches.base_offset, count)
        self.timestamp = np.repeat(batches.base_timestamp, count)
        self._last_delta = np.repeat((batches.last_offset - batches.base_offset).astype(np.int32), count)
        self.key_at = np.empty(total, np.int64)
        self.key_len = np.empty(total, np.int32)
        self.value_at = np.empty(total, np.int64)
        self.value_len = np.empty(total, np.int32)
        self.damaged: list[Int64s] = []  # rows
        self.headers: list[tuple[int, int]] = []  # rows with headers, and their positions: rare in a log of offsets

    def read(self, low: int, high: int, record_start: Int64s, record_end: Int64s) -> None:
        source, end = self._source, record_end[low:high]
        _, at = _lengths(source, record_start[low:high])
        at += 1  # attributes: none are defined
        time_delta, at, damaged = _varints(source, at)
        offset_delta, at, is_bad = _varints(source, at)
        damaged |= is_bad
        key_len, key_at, is_bad = _varints(source, at)
        damaged |= is_bad
        room = end - key_at
        damaged |= key_len > room
        key_len = np.maximum(key_len, NULL)
        value_len, value_at, is_bad = _varints(source, key_at + np.maximum(key_len, 0))
        damaged |= is_bad
        damaged |= value_len > room
        value_len = np.maximum(value_len, NULL)
        headers_at = value_at + np.maximum(value_len, 0)
        has_headers = source.take(headers_at, mode="clip") != 0
        room = end - headers_at
        damaged |= (room != 1) & ~has_headers
        if has_headers.any():
            rows = np.flatnonzero(has_headers & ~damaged)
            self.headers += zip((rows + low).tolist(), headers_at[rows].tolist(), strict=True)

        timestamp = self.timestamp[low:high]
        base = timestamp.copy()
        timestamp += time_delta
        damaged |= (time_delta < 0) != (timestamp < base)  # more than 64 bits can hold
        self.offset[low:high] += offset_delta
        damaged |= (offset_delta < 0) | (offset_delta > self._last_delta[low:high])
        self.key_at[low:high] = key_at
        self.key_len[low:high] = key_len
        self.value_at[low:high] = value_at
        self.value_len[low:high] = value_len
        if damaged.any():
            self.damaged.append(np.flatnonzero(damaged) + low)

    def set_append_times(self, batches: Batches, batch: Int32s) -> None:
        """Give the records of batches with log append time the time of their batch."""
        by_log = batches.has_log_append_time[batch]
        self.timestamp[by_log] = batches.max_timestamp[batch[by_log]]


def _varints(source: Bytes, at: Int64s) -> tuple[npt.NDArray[Any], Int64s, Bools]:
    """Return the zigzag varint at each position, the positions behind them, and a mask of those over 64 bits.

    Positions beyond the data read its last byte: the result is wrong, and lies beyond the record's end. If all have one
    byte, which is usual for all but lengths of records, their type is int8.
    """
    byte = source.take(at, mode="clip")
    behind = at + 1
    bad = np.zeros(len(at), np.bool_)
    is_long = byte > 127
    if not is_long.any():
        short = byte.view(np.int8)
        return (short >> 1) ^ -(short & 1), behind, bad
    raw = (byte & 127).astype(np.uint64)
    left = np.flatnonzero(is_long)
    for shift in range(7, 70, 7):
        byte = source.take(behind[left], mode="clip")
        raw[left] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
        behind[left] += 1
        if shift == 63:
            bad[left] = byte > 1
        left = left[byte > 127]
        if not len(left):
            break
    return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64), behind, bad


def _are_headers(data: Data, position: int, end: int) -> bool:
    """Return whether the headers of a record are whole and end with it."""
    try:
        count, position = read_zigzag(data, position)  # type: ignore[arg-type]
        if count < 0 or count * 2 > end - position:
            return False
        for _ in range(count):
            length, position = read_zigzag(data, position)  # type: ignore[arg-type]
            if not 0 <= length <= end - position:
                return False
            data[position : position + length].decode()
            position += length
            length, position = read_zigzag(data, position)  # type: ignore[arg-type]
            if length > end - position:
                return False
            position += max(length, 0)
    except (DecodeError, IndexError, UnicodeDecodeError):
        return False
    return position == end

"""The batches of a segment as columns: their positions, the fields of their headers, and whether they are sound.

Headers are chained by their lengths, so finding them is a loop; everything else is done for all of them at once. A
batch is sound if its format, counts, offset order and CRC-32C are right; the first that is not raises an error with
file and byte. With `skip_corrupt` the reading continues behind it: where its length says, or if nothing sound is found
that way, at the next place where a whole batch with the right checksum begins.

Zeros behind the last batch are space that was allocated ahead. An incomplete last batch is damage in a closed segment,
and is ignored in one that is still written (`growing`).
Source: Kafka's DefaultRecordBatch (format, KIP-98), LogSegment.recover (checks).
"""

from __future__ import annotations

import mmap
import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

from protocol.compression import Codec
from protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC

Data: TypeAlias = bytes | mmap.mmap
Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int16s: TypeAlias = npt.NDArray[np.int16]
Bools: TypeAlias = npt.NDArray[np.bool_]

_CRC_FROM: Final = 21  # the checksum covers everything from the attributes on
_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40
_MAX_OFFSET: Final = 2**63 - 1
_LENGTH: Final = struct.Struct(">8xi")  # behind the base offset
HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
# A place where a batch may begin: an offset below 2**48, a length below 2**24, format 2. The checksum decides.
_BATCH_BEGINS: Final = re.compile(rb"(?s)(?=\0\0.{6}\0.{3}.{4}\x02)")


class CorruptBatchError(Exception):
    """A batch is damaged. `path` is the segment, `position` the byte at which the batch begins."""

    def __init__(self, path: Path | str, position: int, reason: str) -> None:
        super().__init__(
            f"{path}: the batch at byte {position} is damaged ({reason}); restore the file from a copy, "
            "or leave such batches out with --skip-corrupt"
        )
        self.path = path
        self.position = position
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.position, self.reason)  # it crosses processes


@dataclass(frozen=True, slots=True)
class SkippedBytes:
    """A stretch of a segment that was skipped, in bytes."""

    position: int
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Batches:
    """One element per batch, in file order. Times are in ms; `size` is in bytes, header included."""

    position: Int64s
    size: Int32s
    base_offset: Int64s
    last_offset: Int64s
    base_timestamp: Int64s
    max_timestamp: Int64s
    attributes: Int16s
    leader_epoch: Int32s
    producer_id: Int64s
    producer_epoch: Int16s
    base_sequence: Int32s
    count: Int32s

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, which: slice | npt.NDArray[Any]) -> Self:
        """Return some of the batches: by slice, mask or indexes."""
        return type(self)(*(getattr(self, each.name)[which] for each in fields(self)))

    @property
    def codec(self) -> Int16s:
        """The `protocol.compression.Codec` of each, or an unknown number."""
        return self.attributes & np.int16(_CODEC_MASK)

    @property
    def has_log_append_time(self) -> Bools:
        """Mask of batches whose records all have the time `max_timestamp`."""
        return (self.attributes & _LOG_APPEND_TIME).astype(np.bool_)

    @property
    def is_transactional(self) -> Bools:
        return (self.attributes & _TRANSACTIONAL).astype(np.bool_)

    @property
    def is_control(self) -> Bools:
        """Mask of batches whose records are markers of transactions."""
        return (self.attributes & _CONTROL).astype(np.bool_)

    @property
    def has_delete_horizon(self) -> Bools:
        """Mask of batches whose `base_timestamp` is when their tombstones and markers may be removed (KIP-534)."""
        return (self.attributes & _DELETE_HORIZON).astype(np.bool_)


def read_batches(
    data: Data,
    *,
    path: Path | str,
    verify_crc: bool = True,
    skip_corrupt: bool = False,
    growing: bool = False,
    start: int = 0,
    end: int | None = None,
) -> tuple[Batches, list[SkippedBytes]]:
    """Return the batches between two bytes of a segment; `start` must be where one begins.

    Raises CorruptBatchError at the first that is not sound. With `skip_corrupt` it is left out instead, and reported.
    With `growing`, an unsound end of the segment is ignored.
    """
    end = len(data) if end is None else min(end, len(data))
    parts: list[Batches] = []
    damages: list[SkippedBytes] = []
    position, least_offset = start, 0
    while True:
        positions, stop = _walk(data, position, end)
        headers = _headers(data, positions)
        faults = _Faults(data, headers, positions, least_offset, verify_crc)
        # Behind the last sound batch the lengths are not trusted.
        trusted = int(np.flatnonzero(faults.sound)[-1]) + 1 if faults.sound.any() else 0
        sound = faults.sound[:trusted]
        if not (skip_corrupt or sound.all()):
            first = int(np.argmin(sound))
            raise CorruptBatchError(path, int(positions[first]), faults.reason(first))
        parts.append(_batches(headers, positions)[:trusted][sound])
        damages += _runs(positions, sound, faults)
        at = int(positions[trusted]) if trusted < len(positions) else stop
        reason = faults.reason(trusted) if trusted < len(positions) else _torn(data, stop, end)
        if reason is None:
            return _joined(parts), damages
        if len(parts[-1]):
            least_offset = int(parts[-1].last_offset[-1]) + 1
        position = _next_sound(data, at + 1, end, least_offset) if skip_corrupt or growing else end
        if growing and position == end:
            return _joined(parts), damages
        if not skip_corrupt:
            raise CorruptBatchError(path, at, reason)
        damages.append(SkippedBytes(at, position - at, reason))
        if position == end:
            return _joined(parts), damages


def _walk(data: Data, position: int, end: int) -> tuple[Int64s, int]:
    """Return the positions of batches, by their lengths alone, and the position of the first incomplete one."""
    positions = array("q")
    add, length_at = positions.append, _LENGTH.unpack_from
    least = HEADER_BYTES - LENGTH_END
    try:
        while position < end:  # runs once for each batch, so it is kept short
            (length,) = length_at(data, position)
            if length < least:
                break
            add(position)
            position += length + LENGTH_END
    except struct.error:
        pass
    if position > end:
        position = positions.pop()
    return np.frombuffer(positions, np.int64), position


def _headers(data: Data, positions: Int64s) -> npt.NDArray[Any]:
    if not len(positions):
        return np.empty(0, HEADER)
    windows = np.ndarray((len(data) - HEADER_BYTES + 1,), f"V{HEADER_BYTES}", data, strides=(1,))
    return windows[positions].view(HEADER)


def _batches(headers: npt.NDArray[Any], positions: Int64s) -> Batches:
    base_offset = headers["base_offset"].astype(np.int64)
    return Batches(
        position=positions,
        size=(headers["length"] + np.int32(LENGTH_END)).astype(np.int32),
        base_offset=base_offset,
        last_offset=base_offset + headers["last_offset_delta"],
        base_timestamp=headers["base_timestamp"].astype(np.int64),
        max_timestamp=headers["max_timestamp"].astype(np.int64),
        attributes=headers["attributes"].astype(np.int16),
        leader_epoch=headers["leader_epoch"].astype(np.int32),
        producer_id=headers["producer_id"].astype(np.int64),
        producer_epoch=headers["producer_epoch"].astype(np.int16),
        base_sequence=headers["base_sequence"].astype(np.int32),
        count=headers["count"].astype(np.int32),
    )


def _joined(parts: list[Batches]) -> Batches:
    if len(parts) == 1:
        return parts[0]
    return Batches(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Batches)))


class _Faults:
    """The faults of some batches: a mask of the sound ones, and the reasons of the others."""

    def __init__(
        self, data: Data, headers: npt.NDArray[Any], positions: Int64s, least_offset: int, verify_crc: bool
    ) -> None:
        self._headers = headers
        base = headers["base_offset"].astype(np.int64)
        delta = headers["last_offset_delta"].astype(np.int64)
        self._format = headers["magic"] == MAGIC
        self._counts = (headers["count"] >= 0) & (delta >= 0) & (base >= 0) & (base <= _MAX_OFFSET - delta)
        self._codec = (headers["attributes"] & _CODEC_MASK) <= max(Codec)
        self._crc = np.ones(len(headers), np.bool_)
        if verify_crc:
            self._crc[_wrong_checksums(data, headers, positions)] = False
        self.sound: Bools = self._format & self._counts & self._codec & self._crc
        self._order = _ordered(base, base + delta, self.sound, least_offset)
        self.sound &= self._order

    def reason(self, index: int) -> str:
        header = self._headers[index]
        if not self._format[index]:
            return f"record batch format {header['magic']}; only format {MAGIC} is known"
        if not self._crc[index]:
            return "the checksum does not match"
        if not self._codec[index]:
            return f"codec {header['attributes'] & _CODEC_MASK} does not exist"
        if not self._counts[index]:
            return f"offset {header['base_offset']}, {header['count']} records, last at {header['last_offset_delta']}"
        return f"offset {header['base_offset']} is out of order"


def _wrong_checksums(data: Data, headers: npt.NDArray[Any], positions: Int64s) -> list[int]:
    value = google_crc32c.value
    starts = (positions + _CRC_FROM).tolist()
    ends = (positions + LENGTH_END + headers["length"]).tolist()
    wanted = headers["crc"].tolist()
    return [
        index
        for index, (start, end, crc) in enumerate(zip(starts, ends, wanted, strict=True))
        if value(data[start:end]) != crc
    ]


def _ordered(first: Int64s, last: Int64s, sound: Bools, least_offset: int) -> Bools:
    """Return a mask of the sound batches that are in the order of offsets; unsound ones count as in order.

    The checksum does not cover the base offset. A wrong one contradicts the batches before it or those behind it: the
    reading that blames fewer batches is taken.
    """
    ordered = np.ones(len(first), np.bool_)
    where = np.flatnonzero(sound)
    if not len(where):
        return ordered
    first, last = first[where], last[where]
    before = np.concatenate(([least_offset - 1], np.maximum.accumulate(last)[:-1]))
    too_low = first <= before
    if not too_low.any():
        return ordered
    behind = np.concatenate((np.minimum.accumulate(first[::-1])[::-1][1:], [_MAX_OFFSET]))
    too_high = (last >= behind) | (first < least_offset)
    ordered[where[too_low if too_low.sum() <= too_high.sum() else too_high]] = False
    return ordered


def _torn(data: Data, position: int, end: int) -> str | None:
    """Return why the bytes behind the last batch are no batch; None if they are only space allocated ahead."""
    rest = np.frombuffer(data, np.uint8, end - position, position)
    if not rest.any():
        return None
    if len(rest) < HEADER_BYTES:
        return f"{len(rest)} bytes are too few for a batch"
    (length,) = _LENGTH.unpack_from(data, position)
    if data[position + 16] in (0, 1) and length > 0:
        return f"record batch format {data[position + 16]}; only format {MAGIC} is known"
    return f"a batch of {length + LENGTH_END} bytes, and there are {len(rest)}"


def _runs(positions: Int64s, sound: Bools, faults: _Faults) -> Iterator[SkippedBytes]:
    """Yield each run of neighbouring bad batches as one damage. The last batch is sound."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], sound))))
    for first, behind in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        begin = int(positions[first])
        yield SkippedBytes(begin, int(positions[behind]) - begin, faults.reason(first))


def _next_sound(data: Data, position: int, end: int, least_offset: int) -> int:
    """Return the position of the next whole batch with the right checksum; `end` if there is none."""
    for found in _BATCH_BEGINS.finditer(data, position, end):
        at = found.start()
        if end - at < HEADER_BYTES:
            break
        size = _LENGTH.unpack_from(data, at)[0] + LENGTH_END
        if size < HEADER_BYTES or size > end - at:
            continue
        positions = np.array([at], np.int64)
        if _Faults(data, _headers(data, positions), positions, least_offset, verify_crc=True).sound[0]:
            return at
    return end

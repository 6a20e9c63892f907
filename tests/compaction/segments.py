"""Record batches of every shape that the format allows, also those that this program does not write.

`protocol.record_batch` writes what a coordinator needs: one timestamp a batch, offsets without gaps. A log that was
compacted, or that producers wrote, has more: deltas, gaps, append times, delete horizons, headers. Here each of these
is a field, and `random_batches` lets hypothesis combine them. `plainly_read` reads a segment with the plain reader,
which defines what columns must hold.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise

import google_crc32c
from hypothesis import strategies as st

from protocol.compression import Codec, compress
from protocol.primitives import zigzag
from protocol.record_batch import BatchHeader, Headers, Record, iter_batches, read_records, verify

LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
CHECKED = struct.Struct(">hiqqqhii")
PREFIX = struct.Struct(">qiibI")


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A record, relative to its batch. `gap` offsets are missing before it."""

    key: bytes | None
    value: bytes | None
    delay_ms: int = 0
    gap: int = 0
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class BatchOf:
    """A batch whose base offset is `gap` above the end of the one before it."""

    records: list[RecordOf]
    codec: Codec = Codec.NONE
    attributes: int = 0
    base_timestamp: int = 1_700_000_000_000
    max_timestamp: int = 1_700_000_000_999
    producer: tuple[int, int, int] = (-1, -1, -1)
    leader_epoch: int = 3
    gap: int = 0
    trailing_gap: int = 0
    padded: bool = False  # varints longer than they need be


@dataclass(slots=True)
class Segment:
    """Some batches as bytes, and where each begins."""

    data: bytes = b""
    starts: list[int] = field(default_factory=list)
    next_offset: int = 0


def segment_of(batches: list[BatchOf], base_offset: int = 0) -> Segment:
    made = Segment(next_offset=base_offset)
    for batch in batches:
        made.starts.append(len(made.data))
        encoded, made.next_offset = encoded_batch(batch, made.next_offset + batch.gap)
        made.data += encoded
    return made


def encoded_batch(batch: BatchOf, base_offset: int) -> tuple[bytes, int]:
    """The bytes, and the offset behind the batch."""
    delta = -1
    parts = []
    for record in batch.records:
        delta += 1 + record.gap
        body = b"\0" + _varint(record.delay_ms, batch.padded) + _varint(delta, batch.padded)
        body += _bytes(record.key, batch.padded) + _bytes(record.value, batch.padded)
        body += _varint(len(record.headers), batch.padded)
        for name, value in record.headers:
            body += _bytes(name.encode(), batch.padded) + _bytes(value, batch.padded)
        parts.append(_varint(len(body), batch.padded) + body)
    last_delta = max(delta, 0) + batch.trailing_gap
    payload = compress(batch.codec, b"".join(parts))
    return with_payload(batch, base_offset, last_delta, payload, len(batch.records)), base_offset + last_delta + 1


def with_payload(batch: BatchOf, base_offset: int, last_delta: int, payload: bytes, count: int) -> bytes:
    """Return a batch with any payload, and the right checksum."""
    checked = CHECKED.pack(
        batch.attributes | batch.codec,
        last_delta,
        batch.base_timestamp,
        batch.max_timestamp,
        *batch.producer,
        count,
    )
    crc = google_crc32c.value(checked + payload)
    return PREFIX.pack(base_offset, 49 + len(payload), batch.leader_epoch, 2, crc) + checked + payload


def _varint(value: int, padded: bool) -> bytes:
    encoded = zigzag(value)
    if padded and len(encoded) < 9:
        return encoded[:-1] + bytes((encoded[-1] | 128, 0))
    return encoded


def _bytes(data: bytes | None, padded: bool) -> bytes:
    return zigzag(-1) if data is None else _varint(len(data), padded) + data


def plainly_read(data: bytes, *, checked: bool = True) -> list[tuple[BatchHeader, list[Record]]]:
    """Return the records by the plain reader; CorruptBatchError of `protocol` where it finds damage."""
    found = []
    for position, header in iter_batches(data):
        if checked:
            verify(data, position, header)
        found.append((header, read_records(data, position, header)))
    return found


def in_order(found: list[tuple[BatchHeader, list[Record]]]) -> bool:
    """Return whether offsets grow from record to record within their batches, which the plain reader does not check."""
    if any(each.magic != 2 or not 0 <= each.base_offset <= each.last_offset < 2**63 for each, _ in found):
        return False
    if any(first.last_offset >= second.base_offset for (first, _), (second, _) in pairwise(found)):
        return False
    for header, records in found:
        offsets = [header.base_offset - 1, *(each.offset for each in records), header.last_offset + 1]
        if any(first >= second for first, second in pairwise(offsets)):
            return False
        if any(not -(2**63) <= each.timestamp_ms < 2**63 for each in records):
            return False
    return True


_maybe_bytes = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=70)
_headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3).map(tuple)
_records = st.builds(
    RecordOf,
    key=_maybe_bytes,
    value=_maybe_bytes,
    delay_ms=st.sampled_from((0, 0, 1, 63, 64, -5)) | st.integers(-(2**40), 2**40),
    gap=st.sampled_from((0, 0, 0, 1, 63, 70, 10_000)),
    headers=st.just(()) | _headers,
)


@st.composite
def random_batches(draw: st.DrawFn, max_size: int = 8) -> list[BatchOf]:
    """Batches of one segment: data, markers, empty headers, and now and then a long one."""
    return draw(st.lists(_batches(), max_size=max_size))


@st.composite
def _batches(draw: st.DrawFn) -> BatchOf:
    kind = draw(st.sampled_from(("data", "data", "data", "data", "marker", "empty", "long")))
    if kind == "marker":
        key = struct.pack(">hh", 0, draw(st.sampled_from((0, 1, 1, 7))))
        marker = RecordOf(key, struct.pack(">hi", 0, 5))
        return BatchOf([marker], attributes=TRANSACTIONAL | CONTROL, producer=(draw(st.integers(0, 9)), 0, -1))
    if kind == "long":
        record = draw(_records)
        records = [record] * draw(st.integers(100, 400))
    else:
        records = [] if kind == "empty" else draw(st.lists(_records, min_size=1, max_size=12))
    return BatchOf(
        records,
        codec=draw(st.sampled_from((Codec.NONE, Codec.NONE, Codec.NONE, *Codec))),
        attributes=draw(st.sampled_from((0, 0, LOG_APPEND_TIME, TRANSACTIONAL, DELETE_HORIZON))),
        base_timestamp=draw(st.integers(-1, 2**45)),
        max_timestamp=draw(st.integers(-1, 2**45)),
        producer=draw(st.sampled_from(((-1, -1, -1), (4, 2, 77), (2**40, 32767, 2**31 - 1)))),
        leader_epoch=draw(st.integers(-1, 2**31 - 1)),
        gap=draw(st.sampled_from((0, 0, 3, 2**33))),
        trailing_gap=draw(st.sampled_from((0, 0, 5))),
        padded=draw(st.booleans()),
    )

"""Batches of the offsets log as they stand in the topic, and back.

Kafka takes one batch for a partition in a request, so a row of batches becomes one, under the producer of the claim and
with its sequence number. A header of its first record has what Kafka does not keep: the offsets of the log, which other
than those of the topic have no gaps; when it was appended; and the original batches if there were several, or if one
belongs to a transaction (which in Kafka would need the client's own producer). They are rebuilt byte for byte. A row
that is too large for one batch is divided; each piece says where the row begins and ends. The work is done in steps.

A claim is a record with a key that Kafka's tools skip. Its sequence number is 0, so every batch of its owner stands as
far behind it as its own sequence number says, unless another writer came in between: see `log_reader`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Generator, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import google_crc32c

from coordinator.engine.kafka.client import ProducerIdentity
from coordinator.storage.log.segment import Entry
from protocol.compression import Codec, decompress
from protocol.errors import CorruptBatchError
from protocol.primitives import read_zigzag, zigzag
from protocol.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    NO_PRODUCER,
    BatchHeader,
    Record,
    build_batch,
    read_header,
    read_records,
)

T = TypeVar("T")
Steps = Generator[None, None, T]  # work that others may interrupt at each yield

SEQUENCES: Final = 1 << 31  # sequence numbers begin again at 0 behind the highest one
CLAIM_KEY: Final = b"kcclaim"  # the first two bytes are the version of a key: one that no reader of such a log knows
ROW_HEADER: Final = "kc.row"
PART_BYTES: Final = 64  # at most, that a batch of a row adds to its records
STEP_RECORDS: Final = 256  # of one step: less than 1 ms

_NONE: Final = ProducerIdentity(NO_PRODUCER, NO_PRODUCER)
_CODEC_MASK: Final = 0x07
_CRC_FROM: Final = 21
_COUNT_AT: Final = 57
_LENGTH: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_ATTRIBUTES: Final = struct.Struct(">h")
_FACTS: Final = struct.Struct(">hiqq")  # attributes, last offset delta, first and highest timestamp
_PRODUCER: Final = struct.Struct(">qhi")
_BASE_OFFSET: Final = struct.Struct(">q")
_ROW: Final = struct.Struct(">qqqq")
_PART: Final = struct.Struct(">ihqh")


class RowPart(NamedTuple):
    """One of the original batches."""

    records: int
    attributes: int
    producer_id: int
    producer_epoch: int


class RowPiece(NamedTuple):
    """A batch in the topic: a row of batches of the log, or a piece of it. Offsets are those of the log."""

    base_offset: int
    row_start: int
    row_end: int  # behind its last record
    appended_ms: int
    parts: tuple[RowPart, ...]  # none: the batch itself is the only one

    @property
    def header(self) -> bytes:
        """Content of the header of the first record."""
        return _ROW.pack(*self[:4]) + b"".join(_PART.pack(*part) for part in self.parts)

    def ends(self, batch_header: BatchHeader) -> list[int]:
        """Return the offsets behind the original batches."""
        end = self.base_offset
        counts = [part.records for part in self.parts] or [batch_header.record_count]
        return [end := end + count for count in counts]


# --- the fields of a batch -------------------------------------------------------------------------------------------


def _stamp(batch: bytearray, base_offset: int, producer: ProducerIdentity, sequence: int) -> bytearray:
    """Set base offset, producer and sequence number of a batch in place; its length and checksum become right."""
    _BASE_OFFSET.pack_into(batch, 0, base_offset)
    _LENGTH.pack_into(batch, 8, len(batch) - LENGTH_END)
    _LENGTH.pack_into(batch, 12, 0)  # leader epoch
    _PRODUCER.pack_into(batch, 43, *producer, sequence)
    _CRC.pack_into(batch, 17, google_crc32c.value(bytes(memoryview(batch)[_CRC_FROM:])))
    return batch


def _first_record(batch: bytes) -> tuple[int, int, int]:
    """Return where the first record of a batch begins, behind its length, where its headers begin and where it ends."""
    size, start = read_zigzag(batch, HEADER_BYTES)
    _, position = read_zigzag(batch, start + 1)  # behind the attributes: the timestamp
    _, position = read_zigzag(batch, position)  # the offset
    for _ in ("key", "value"):
        length, position = read_zigzag(batch, position)
        position += max(length, 0)
    return start, position, start + size


def _with_headers(batch: bytes, headers: bytes) -> bytearray:
    """Return a copy with other headers of the first record."""
    start, headers_at, end = _first_record(batch)
    record = batch[start:headers_at] + headers
    return bytearray().join((batch[:HEADER_BYTES], zigzag(len(record)), record, batch[end:]))


def _with_row_header(batch: bytes, value: bytes) -> bytearray:
    """Return a copy whose first record has one header more, before its own ones."""
    _, headers_at, end = _first_record(batch)
    count, own_at = read_zigzag(batch, headers_at)
    name = ROW_HEADER.encode()
    added = b"".join((zigzag(count + 1), zigzag(len(name)), name, zigzag(len(value)), value))
    return _with_headers(batch, added + batch[own_at:end])


# --- claims ----------------------------------------------------------------------------------------------------------


class ClaimRecord(NamedTuple):
    """The node that a claim record names."""

    node: int
    incarnation: str


def claim_batch(producer: ProducerIdentity, claim: ClaimRecord, timestamp_ms: int) -> bytearray:
    """Build the record that claims a partition."""
    return build_batch(
        [(CLAIM_KEY, json.dumps(claim._asdict()).encode())],
        timestamp_ms=timestamp_ms,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=0,
    )


def read_claim(batch: bytes, header: BatchHeader) -> ClaimRecord | None:
    """Return the claim that a batch is; None if it is none."""
    if header.record_count != 1 or header.base_sequence != 0 or CLAIM_KEY not in batch:
        return None
    (record,) = read_records(batch, 0, header)
    return ClaimRecord(**json.loads(record.value or b"")) if record.key == CLAIM_KEY else None


# --- writing ---------------------------------------------------------------------------------------------------------


def row_pieces(
    entries: Sequence[Entry], producer: ProducerIdentity, first_sequence: int, max_bytes: int, now_ms: int
) -> Steps[list[tuple[RowPiece, bytearray]]]:
    """Build the batches for the topic, of at most `max_bytes` unless one batch of the row alone is larger.

    `first_sequence`: the distance of the row from the claim record. A row of one batch has one step, if the batch
    belongs to no transaction and has no headers. Raises CorruptBatchError.
    """
    row_start, row_end = read_header(entries[0].batch).base_offset, entries[-1].last_offset + 1
    pieces = []
    for group in _groups(entries, max_bytes):
        base_offset = read_header(group[0].batch).base_offset
        piece = RowPiece(base_offset, row_start, row_end, now_ms, ())
        if _is_plain(group):
            batch = _with_row_header(bytes(group[0].batch), piece.header)
        else:
            piece, batch = yield from _joined(group, piece)
        sequence = (first_sequence + base_offset - row_start) % SEQUENCES
        pieces.append((piece, _stamp(batch, 0, producer, sequence)))
    return pieces


def _groups(entries: Sequence[Entry], max_bytes: int) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    size = PART_BYTES
    for entry in entries:
        if group and size + len(entry.batch) + PART_BYTES > max_bytes:
            yield group
            group, size = [], PART_BYTES
        group.append(entry)
        size += len(entry.batch) + PART_BYTES
    yield group


def _is_plain(group: Sequence[Entry]) -> bool:
    batch = bytes(group[0].batch)
    header = read_header(batch)
    if len(group) > 1 or header.attributes or header.producer_id != NO_PRODUCER:
        return False
    return batch[_first_record(batch)[1]] == 0  # it has no headers of its own


def _joined(group: Sequence[Entry], piece: RowPiece) -> Steps[tuple[RowPiece, bytearray]]:
    """Build one batch of all records, whose first record describes the original batches."""
    parts: list[RowPart] = []
    count = 0
    batch = bytearray(group[0].batch[:HEADER_BYTES])
    first = read_header(group[0].batch)
    highest_ms = first.max_timestamp
    for entry in group:
        header = read_header(entry.batch)
        parts.append(RowPart(header.record_count, header.attributes, header.producer_id, header.producer_epoch))
        yield from _moved(bytes(entry.batch), header, count, header.base_timestamp - first.base_timestamp, batch)
        count += header.record_count
        highest_ms = max(highest_ms, header.max_timestamp)
    _FACTS.pack_into(batch, _CRC_FROM, 0, count - 1, first.base_timestamp, highest_ms)
    _LENGTH.pack_into(batch, _COUNT_AT, count)
    piece = piece._replace(parts=tuple(parts))
    yield
    batch = _with_row_header(bytes(batch), piece.header)
    yield  # to copy a batch of some MiB and to compute its checksum take some ms each
    return piece, batch


def _moved(data: bytes, header: BatchHeader, first_delta: int, later_ms: int, to: bytearray) -> Steps[None]:
    """Add the records of a batch to another one, behind its first ones. Keys and values are copied as they stand, which
    is several times faster than to decode them."""
    position = HEADER_BYTES
    if header.codec != Codec.NONE:
        data, position = decompress(header.codec, data[HEADER_BYTES:]), 0
    append_ms = header.max_timestamp - header.base_timestamp if header.has_log_append_time else None
    moved: list[bytes] = []
    for number in range(header.record_count):
        length, start = read_zigzag(data, position)
        delta_ms, at = read_zigzag(data, start + 1)
        _, at = read_zigzag(data, at)
        position = start + length
        delta_ms = later_ms + (delta_ms if append_ms is None else append_ms)
        before_key = data[start : start + 1] + zigzag(delta_ms) + zigzag(first_delta + number)
        moved += (zigzag(len(before_key) + position - at), before_key, data[at:position])
        if number % STEP_RECORDS == 0:
            to += b"".join(moved)
            moved.clear()
            yield
    to += b"".join(moved)
    if position != len(data):
        raise CorruptBatchError(f"{len(data) - position} bytes behind the last record")


# --- reading ---------------------------------------------------------------------------------------------------------


def read_piece(batch: bytes) -> RowPiece | None:
    """Return what the header of the first record says; None if it has none, so that another program wrote it."""
    _, position, _ = _first_record(batch)
    count, position = read_zigzag(batch, position)
    if count < 1:
        return None
    size, position = read_zigzag(batch, position)
    if batch[position : position + size] != ROW_HEADER.encode():
        return None
    length, start = read_zigzag(batch, position + size)
    parts_at = start + _ROW.size
    parts = tuple(RowPart(*part) for part in _PART.iter_unpack(batch[parts_at : start + length]))
    base_offset, row_start, row_end, appended_ms = _ROW.unpack_from(batch, start)
    return RowPiece(base_offset, row_start, row_end, appended_ms, parts)


def original_batches(batch: bytes, header: BatchHeader, piece: RowPiece) -> list[bytearray]:
    """Return the batches of a piece as they were appended."""
    if not piece.parts:
        return [_stamp(_with_headers(batch, zigzag(0)), piece.base_offset, _NONE, NO_PRODUCER)]
    records = read_records(batch, 0, header)
    records[0] = records[0]._replace(headers=records[0].headers[1:])
    taken = 0
    originals = []
    for part in piece.parts:
        originals.append(_rebuilt(records[taken : taken + part.records], piece.base_offset + taken, part))
        taken += part.records
    return originals


def joined_batch(batch: bytes, header: BatchHeader, piece: RowPiece) -> bytearray | None:
    """Return all records of a piece as one batch of the log; None if the original batches say more than that."""
    if any(part[1:] != (0, NO_PRODUCER, NO_PRODUCER) for part in piece.parts):
        return None
    if read_zigzag(batch, _first_record(batch)[1])[0] != 1:
        return None  # the first record has headers of its own
    return _stamp(_with_headers(batch, zigzag(0)), piece.base_offset, _NONE, NO_PRODUCER)


def _rebuilt(records: Sequence[Record], base_offset: int, part: RowPart) -> bytearray:
    first_ms = records[0].timestamp_ms
    later_ms = [record.timestamp_ms - first_ms for record in records]
    batch = build_batch(
        [(record.key, record.value) for record in records],
        timestamp_ms=first_ms,
        codec=Codec(part.attributes & _CODEC_MASK),
        headers=[record.headers for record in records] if any(record.headers for record in records) else None,
        later_ms=later_ms if any(later_ms) else None,
    )
    _ATTRIBUTES.pack_into(batch, _CRC_FROM, part.attributes)
    return _stamp(batch, base_offset, ProducerIdentity(part.producer_id, part.producer_epoch), NO_PRODUCER)

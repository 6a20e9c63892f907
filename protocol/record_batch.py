"""Record batches of format 2 (magic 2): read, verify, write. Source: Kafka's `DefaultRecordBatch`, `DefaultRecord`.

A batch is a header of 61 bytes and its records, compressed as a whole if a codec is set. The checksum, a CRC-32C,
covers everything from the attributes on. The fields before it (base offset, leader epoch) belong to the log, which can
therefore set them in place and otherwise store and serve a producer's batch unchanged. Offsets and timestamps of
records are relative to the header.

Reading checks every length against the bytes that remain and the count of records against the smallest possible record;
the records must fill their batch exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import google_crc32c

from protocol.compression import MAX_DECOMPRESSED_BYTES, Codec, compress, decompress
from protocol.errors import CorruptBatchError, DecodeError, ProtocolError
from protocol.primitives import read_zigzag, zigzag

HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
"""Position from which `batch_length` counts: behind the base offset and the length itself."""
MAGIC: Final = 2
NO_PRODUCER: Final = -1

_CRC_START: Final = 21
_SMALLEST_RECORD: Final = 7  # length, attributes, timestamp, offset, key length, value length, header count
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, checksum
_CHECKED: Final = struct.Struct(">hiqqqhii")  # the rest of the header
_CONTROL_KEY: Final = struct.Struct(">hh")
_CONTROL_VALUE: Final = struct.Struct(">hi")

_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
"""Attribute of the batches of a transaction, and of the markers that end one."""
_CONTROL: Final = 0x20

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


class BatchHeader(NamedTuple):
    """The stored header of a batch. A tuple, because replay creates one for every batch."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch, header included."""
        return LENGTH_END + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """Number of the codec; not always one of `Codec`."""
        return self.attributes & _CODEC_MASK

    @property
    def has_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def earliest_timestamp(self) -> int:
        """Time of its first record; -1 if it has none."""
        return self.max_timestamp if self.has_log_append_time else self.base_timestamp

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)


class Record(NamedTuple):
    """One record. A value of None is a tombstone where the log is compacted."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class ControlType(IntEnum):
    """Type of a control record. Kafka's `ControlRecordType` has more types, which occur only in Raft logs."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1


# --- reading ---------------------------------------------------------------------------------------------------------


def read_header(data: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """Read the header at `position` without checking it; `verify` does that."""
    if len(data) - position < HEADER_BYTES:
        raise DecodeError("too short for a record batch")
    return BatchHeader._make(_HEADER.unpack_from(data, position))


def verify(data: bytes, position: int, header: BatchHeader) -> None:
    """Raise CorruptBatchError unless size, format, counts and checksum of a batch are right."""
    if header.magic != MAGIC:
        raise CorruptBatchError(f"format {header.magic} is not {MAGIC}")
    end = position + header.size_bytes
    if header.size_bytes < HEADER_BYTES or end > len(data):
        raise CorruptBatchError(f"a batch of {header.size_bytes} bytes at {position} of {len(data)}")
    if header.record_count < 0 or header.last_offset_delta < 0:
        raise CorruptBatchError(f"{header.record_count} records, last offset delta {header.last_offset_delta}")
    crc = google_crc32c.value(data[position + _CRC_START : end])
    if crc != header.crc:
        raise CorruptBatchError(f"checksum {crc:#010x} where the batch says {header.crc:#010x}")


def with_append_time(data: bytes, header: BatchHeader, append_ms: int) -> tuple[BatchHeader, bytes]:
    """Return a whole batch and its header with the time of the append in place of the producer's timestamps.

    The records are not changed: readers take the header's time for each of them.
    Source: DefaultRecordBatch.setMaxTimestamp.
    """
    header = header._replace(attributes=header.attributes | _LOG_APPEND_TIME, max_timestamp=append_ms)
    checked, records = _CHECKED.pack(*header[5:]), data[HEADER_BYTES : header.size_bytes]
    header = header._replace(crc=google_crc32c.extend(google_crc32c.value(checked), records))
    return header, b"".join((_PREFIX.pack(*header[:5]), checked, records))


def iter_batches(data: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each whole batch; stops at a batch that is cut off.

    Only the lengths are checked. A length too small for a header raises CorruptBatchError, because no batch behind it
    can be found.
    """
    position = 0
    size = len(data)
    while size - position >= HEADER_BYTES:
        header = BatchHeader._make(_HEADER.unpack_from(data, position))
        end = position + LENGTH_END + header.batch_length
        if end > size:
            return
        if end < position + HEADER_BYTES:
            raise CorruptBatchError(f"a batch of {header.size_bytes} bytes at {position}")
        yield position, header
        position = end


def read_records(
    data: bytes, position: int, header: BatchHeader, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> list[Record]:
    """Read the records of the batch at `position`, decompressed up to a limit. Checks all but the checksum."""
    start = position + HEADER_BYTES
    end = position + header.size_bytes
    if end > len(data) or end < start:
        raise CorruptBatchError(f"a batch of {header.size_bytes} bytes at {position} of {len(data)}")
    if header.codec != Codec.NONE:
        data = decompress(header.codec, data[start:end], max_decompressed_bytes)
        start, end = 0, len(data)
    if header.record_count < 0 or header.record_count * _SMALLEST_RECORD > end - start:
        raise CorruptBatchError(f"{header.record_count} records in {end - start} bytes")
    try:
        records, position = _read_all(data, start, end, header)
    except (IndexError, UnicodeDecodeError):
        raise CorruptBatchError("a record is damaged") from None
    except CorruptBatchError:
        raise
    except DecodeError as error:
        raise CorruptBatchError(str(error)) from None
    if position != end:
        raise CorruptBatchError(f"{end - position} bytes behind the last record")
    return records


def _read_all(data: bytes, position: int, end: int, header: BatchHeader) -> tuple[list[Record], int]:
    records: list[Record] = []
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.has_log_append_time else None
    for _ in range(header.record_count):
        # Most varints have one byte; that case is inlined because replay reads every record here.
        byte = data[position]
        if byte < 128:
            length, position = byte >> 1 ^ -(byte & 1), position + 1
        else:
            length, position = read_zigzag(data, position)
        record_end = position + length
        if length < 0 or record_end > end:
            raise CorruptBatchError("a record is longer than its batch")
        position += 1  # attributes: none are defined
        byte = data[position]
        if byte < 128:
            timestamp, position = base_timestamp + (byte >> 1 ^ -(byte & 1)), position + 1
        else:
            delta, position = read_zigzag(data, position)
            timestamp = base_timestamp + delta
        byte = data[position]
        if byte < 128:
            offset, position = base_offset + (byte >> 1 ^ -(byte & 1)), position + 1
        else:
            delta, position = read_zigzag(data, position)
            offset = base_offset + delta
        key, position = _read_bytes(data, position, record_end)
        value, position = _read_bytes(data, position, record_end)
        headers: Headers = ()
        if data[position]:
            headers, position = _read_headers(data, position, record_end)
        else:
            position += 1
        if position != record_end:
            raise CorruptBatchError("a record does not fill its length")
        records.append(Record(offset, timestamp if append_time is None else append_time, key, value, headers))
    return records, position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    byte = data[position]
    if byte < 128:
        length, position = byte >> 1 ^ -(byte & 1), position + 1
    else:
        length, position = read_zigzag(data, position)
    if length < 0:
        return None, position
    value_end = position + length
    if value_end > end:
        raise CorruptBatchError("a key or value is longer than its record")
    return data[position:value_end], value_end


def _read_headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = read_zigzag(data, position)
    if count < 0 or count * 2 > end - position:
        raise CorruptBatchError(f"{count} headers in {end - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, position = _read_bytes(data, position, end)
        if key is None:
            raise CorruptBatchError("a header without a key")
        value, position = _read_bytes(data, position, end)
        headers.append((key.decode(), value))
    return tuple(headers), position


def control_type(record: Record) -> ControlType:
    """Return the type of the record of a control batch."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise CorruptBatchError("a control record without a type")
    _, kind = _CONTROL_KEY.unpack_from(record.key)
    return ControlType(kind) if kind in (ControlType.ABORT, ControlType.COMMIT) else ControlType.UNKNOWN


def coordinator_epoch(record: Record) -> int:
    """Return the epoch of the transaction coordinator that wrote this marker."""
    if record.value is None or len(record.value) < _CONTROL_VALUE.size:
        raise CorruptBatchError("a marker without the epoch of its coordinator")
    epoch: int = _CONTROL_VALUE.unpack_from(record.value)[1]
    return epoch


# --- writing ---------------------------------------------------------------------------------------------------------

_ZIGZAG: Final = tuple(zigzag(number) for number in range(8192))
_BEFORE_KEY: Final = tuple(b"\0\0" + number for number in _ZIGZAG)
"""Bytes before the key by offset delta: attributes 0, timestamp delta 0, the offset delta."""


def build_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    base_offset: int = 0,
    timestamp_ms: int,
    leader_epoch: int = 0,
    codec: Codec = Codec.NONE,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = NO_PRODUCER,
    base_sequence: int = NO_PRODUCER,
    is_transactional: bool = False,
    headers: Sequence[Headers] | None = None,
    later_ms: Sequence[int] | None = None,
) -> bytearray:
    """Build a batch of (key, value) records. `headers`, if given, has an entry for each record.

    All records have one timestamp, unless `later_ms` gives for each of them how much later it is.
    """
    if not records:
        raise ProtocolError("a batch needs a record")
    parts: list[bytes] = []
    for delta, (key, value) in enumerate(records):
        before_key = _BEFORE_KEY[delta] if delta < 8192 else b"\0\0" + zigzag(delta)
        if later_ms is not None:
            before_key = b"\0" + zigzag(later_ms[delta]) + zigzag(delta)
        if key is None:
            key, key_length = b"", b"\x01"
        else:
            size = len(key)
            key_length = _ZIGZAG[size] if size < 8192 else zigzag(size)
        if value is None:
            value, value_length = b"", b"\x01"
        else:
            size = len(value)
            value_length = _ZIGZAG[size] if size < 8192 else zigzag(size)
        after_value = b"\0" if headers is None else _headers_bytes(headers[delta])
        size = len(before_key) + len(key_length) + len(key) + len(value_length) + len(value) + len(after_value)
        length = _ZIGZAG[size] if size < 8192 else zigzag(size)
        parts += (length, before_key, key_length, key, value_length, value, after_value)
    return _assemble(
        b"".join(parts),
        len(records),
        base_offset=base_offset,
        timestamp_ms=timestamp_ms,
        leader_epoch=leader_epoch,
        codec=codec,
        attributes=TRANSACTIONAL if is_transactional else 0,
        producer=(producer_id, producer_epoch, base_sequence),
        newest_ms=timestamp_ms if later_ms is None else timestamp_ms + max(later_ms),
    )


def build_control_batch(
    kind: ControlType,
    *,
    base_offset: int = 0,
    timestamp_ms: int,
    leader_epoch: int = 0,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int = 0,
) -> bytearray:
    """Build the marker that ends a transaction: a batch of one record, which takes one offset."""
    key = _CONTROL_KEY.pack(0, kind)
    value = _CONTROL_VALUE.pack(0, coordinator_epoch)
    body = b"\0\0\0" + zigzag(len(key)) + key + zigzag(len(value)) + value + b"\0"
    return _assemble(
        zigzag(len(body)) + body,
        1,
        base_offset=base_offset,
        timestamp_ms=timestamp_ms,
        leader_epoch=leader_epoch,
        codec=Codec.NONE,
        attributes=TRANSACTIONAL | _CONTROL,
        producer=(producer_id, producer_epoch, NO_PRODUCER),
        newest_ms=timestamp_ms,
    )


def _headers_bytes(headers: Headers) -> bytes:
    parts = [zigzag(len(headers))]
    for key, value in headers:
        name = key.encode()
        parts += (zigzag(len(name)), name)
        parts += (b"\x01",) if value is None else (zigzag(len(value)), value)
    return b"".join(parts)


def _assemble(
    body: bytes,
    count: int,
    *,
    base_offset: int,
    timestamp_ms: int,
    leader_epoch: int,
    codec: Codec,
    attributes: int,
    producer: tuple[int, int, int],
    newest_ms: int,
) -> bytearray:
    if codec is not Codec.NONE:
        body = compress(codec, body)
    checked = _CHECKED.pack(attributes | codec, count - 1, timestamp_ms, newest_ms, *producer, count)
    crc = google_crc32c.extend(google_crc32c.value(checked), body)
    length = HEADER_BYTES - LENGTH_END + len(body)
    return bytearray().join((_PREFIX.pack(base_offset, length, leader_epoch, MAGIC, crc), checked, body))

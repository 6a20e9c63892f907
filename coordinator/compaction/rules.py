"""The rules of what survives a compaction, and the bytes it survives in. No disk, no clock, no numpy.

A round compacts the closed segments of one log partition from its first on, all offsets below `clean_up_to`. It reads
them twice. The first pass finds the newest offset of every key, and adds the batches that have a producer to a
`Survey`. The `Round` that results judges each batch by itself, so the second pass may take segments in any order and on
any machine. Every implementation asks these functions and writes its batches with them, so all give the same bytes.

The rules are those of Kafka's Cleaner, CleanedTransactionMetadata and MemoryRecords.filterTo (4.4, with KIP-534). They
are listed in docs/compaction.md, the differences from Kafka in docs/differences.md; a test compares both
(tests/conformance/live_cleaner.py).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag
from typing import Final, NamedTuple, Protocol, TypeVar

import google_crc32c

from protocol.compression import Codec, compress
from protocol.primitives import zigzag
from protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC, BatchHeader, ControlType, Record

PRODUCER_ID_EXPIRATION_MS: Final = 86_400_000
"""Kafka's producer.id.expiration.ms: how long a producer that is silent keeps its last batch."""

MAX_RELATIVE_OFFSET: Final = 2**31 - 1
"""An index has four bytes for an offset, counted from the first of its segment."""

_NO_TIMESTAMP: Final = -1
_NO_OFFSET: Final = -1
_HORIZON: Final = 0x40
_CODEC: Final = 0x07
_KEPT_ATTRIBUTES: Final = 0x3F  # codec, timestamp type, transactional, control; what else there may be is not copied
_PREFIX: Final = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, checksum
_CHECKED: Final = struct.Struct(">hiqqqhii")  # from the attributes to the count


# --- the first pass: transactions and producers -----------------------------------------------------------------------


class Fate(IntFlag):
    """Properties of a batch that decide what survives of it. Most batches have none."""

    ABORTED = 1  # data of a transaction that was aborted
    UNDECIDED = 2  # data of a transaction whose marker is not among the inputs
    DONE = 4  # a marker of whose transaction nothing is left
    LAST_OF_PRODUCER = 8  # holds the producer's last sequence number, or its epoch


@dataclass(slots=True)
class _Producer:
    """The part of Kafka's ProducerStateEntry that decides which batches stay."""

    epoch: int
    last_data_offset: int = _NO_OFFSET
    last_timestamp_ms: int = _NO_TIMESTAMP

    def take(self, epoch: int, timestamp_ms: int) -> None:
        if epoch != self.epoch:  # a new incarnation: the sequence numbers of the old one are not needed
            self.epoch, self.last_data_offset = epoch, _NO_OFFSET
        self.last_timestamp_ms = timestamp_ms


class Survey:
    """The first pass over the batches of producers. `add` them in log order, then ask for a `Round`."""

    def __init__(self) -> None:
        self._fates: dict[int, Fate] = {}  # by base offset; most batches have none
        self._open: dict[int, list[int]] = {}  # producer id -> base offsets of its open transaction's batches
        self._producers: dict[int, _Producer] = {}
        self._data: dict[int, tuple[int, int]] = {}  # producer id -> (base, last offset) of its newest data
        self._markers: dict[int, list[tuple[int, int]]] = {}  # producer id -> (epoch, base offset) of its markers

    @staticmethod
    def concerns(header: BatchHeader) -> bool:
        """Return whether a batch has to be added. Skip the others: in an offsets log that is nearly all."""
        return header.producer_id >= 0 or header.is_transactional or header.is_control

    def add(self, header: BatchHeader, marker: ControlType | None = None) -> None:
        """Add the next batch of the log. `marker` is the type of a control batch's first record, if it has one."""
        producer_id = header.producer_id
        if header.is_control:
            self._add_control(header, marker)
        else:
            if header.is_transactional:
                self._open.setdefault(producer_id, []).append(header.base_offset)
            self._data[producer_id] = (header.base_offset, header.last_offset)
        if producer_id < 0 or (header.is_control and marker is None):  # an emptied marker is no trace of a producer
            return
        producer = self._producers.setdefault(producer_id, _Producer(header.producer_epoch))
        producer.take(header.producer_epoch, header.max_timestamp)
        if not header.is_control:
            producer.last_data_offset = header.last_offset

    def _add_control(self, header: BatchHeader, marker: ControlType | None) -> None:
        self._markers.setdefault(header.producer_id, []).append((header.producer_epoch, header.base_offset))
        if marker is None:
            self._fates[header.base_offset] = Fate.DONE
        elif marker is not ControlType.UNKNOWN:
            batches = self._open.pop(header.producer_id, ())
            if not batches:
                self._fates[header.base_offset] = Fate.DONE
            if marker is ControlType.ABORT:
                self._fates.update(dict.fromkeys(batches, Fate.ABORTED))

    def round(self, *, now_ms: int, delete_retention_ms: int, clean_up_to: int) -> Round:
        """Return the Round for the second pass; `with_open_keys` completes it."""
        fates = dict(self._fates)
        for batches in self._open.values():
            fates.update(dict.fromkeys(batches, Fate.UNDECIDED))
        for producer_id, producer in self._producers.items():
            # A producer in a transaction never expires in Kafka; its last batch is undecided, and stays anyway.
            if now_ms - producer.last_timestamp_ms < PRODUCER_ID_EXPIRATION_MS:
                for base_offset in self._last_batches(producer_id, producer):
                    fates[base_offset] = fates.get(base_offset, Fate(0)) | Fate.LAST_OF_PRODUCER
        return Round(now_ms, delete_retention_ms, clean_up_to, fates)

    def _last_batches(self, producer_id: int, producer: _Producer) -> list[int]:
        if producer.last_data_offset != _NO_OFFSET:
            return [self._data[producer_id][0]]
        # Nothing but markers since the epoch changed: they alone tell the epoch.
        return [base for epoch, base in self._markers.get(producer_id, ()) if epoch == producer.epoch]


# --- the second pass: batch by batch ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Round:
    """The facts that decide besides the batch itself. Small, but for logs full of transactions; sent to workers."""

    now_ms: int
    delete_retention_ms: int
    clean_up_to: int
    fates: Mapping[int, Fate] = field(default_factory=dict)  # by base offset
    open_keys: Mapping[bytes, int] = field(default_factory=dict)  # key -> its first record that is undecided

    def fate(self, header: BatchHeader) -> Fate:
        return self.fates.get(header.base_offset, Fate(0))

    def counts_keys(self, header: BatchHeader) -> bool:
        """First pass: return whether the records of a batch supersede older ones of their keys."""
        return not header.is_control and not self.fate(header) & (Fate.ABORTED | Fate.UNDECIDED)

    def keeps_verbatim(self, header: BatchHeader) -> bool:
        """Return whether a batch stays as it is whatever it holds: its transaction is undecided."""
        return Fate.UNDECIDED in self.fate(header)

    def drops_records(self, header: BatchHeader) -> bool:
        """Return whether all records of a batch are removed, without decoding them."""
        if header.is_control:
            return Fate.DONE in self.fate(header) and self.horizon_is_reached(header)
        return Fate.ABORTED in self.fate(header)

    def keeps_empty(self, header: BatchHeader) -> bool:
        """Return whether the header of a batch stays when its records are removed."""
        return Fate.LAST_OF_PRODUCER in self.fate(header) or header.last_offset + 1 == self.clean_up_to

    def with_open_keys(self, open_keys: Mapping[bytes, int]) -> Round:
        """Return a copy with the keys of undecided records (`keeps_verbatim`), each with its first offset."""
        return replace(self, open_keys=open_keys)

    def keeps_record(self, header: BatchHeader, key: bytes, offset: int, *, newest: int, has_value: bool) -> bool:
        """Return whether a record with a key stays. `newest` is the offset of its key's newest record (-1: none).

        For batches that are neither dropped nor kept whole. Every record of a control batch stays.
        """
        if has_value:
            return offset >= newest
        if self.open_keys and offset > self.open_keys.get(key, offset):
            return True  # if the transaction is committed, its offset must be found deleted
        return offset >= newest and not self.horizon_is_reached(header)

    def horizon_is_reached(self, header: BatchHeader) -> bool:
        horizon_ms = horizon_of(header)
        return horizon_ms is not None and horizon_ms <= self.now_ms

    def new_horizon_ms(self, header: BatchHeader, *, keeps_tombstone: bool) -> int | None:
        """Return the horizon that a batch gets in this round; None if it needs none, or has one."""
        starts = keeps_tombstone or (header.is_control and Fate.DONE in self.fate(header))
        return self.now_ms + self.delete_retention_ms if starts and horizon_of(header) is None else None


def horizon_of(header: BatchHeader) -> int | None:
    """Return when the tombstones of a batch, or a marker, may be removed (KIP-534); stored as the base timestamp."""
    return header.base_timestamp if header.attributes & _HORIZON else None


# --- the bytes --------------------------------------------------------------------------------------------------------


class Times(NamedTuple):
    """The times of a rewritten batch. Timestamp deltas of its records count from `base_ms`."""

    base_ms: int
    max_ms: int
    is_horizon: bool


def new_times(header: BatchHeader, timestamps_ms: Sequence[int], new_horizon_ms: int | None) -> Times:
    """Return the times of a rewritten batch, from the timestamps of its surviving records (at least one), in order.

    The base is the horizon, the old one or the new, or the first of these timestamps; the latest of them is the
    batch's. With log append time all of them are the batch's latest, and that stays.
    """
    horizon_ms = horizon_of(header) if new_horizon_ms is None else new_horizon_ms
    if header.has_log_append_time:
        first_ms = max_ms = header.max_timestamp
    else:
        first_ms, max_ms = timestamps_ms[0], max(_NO_TIMESTAMP, max(timestamps_ms))
    if horizon_ms is None or horizon_ms < 0:
        return Times(first_ms, max_ms, False)
    return Times(horizon_ms, max_ms, True)


def rewritten_batch(header: BatchHeader, records: bytes, count: int, times: Times) -> bytes:
    """Return a batch with new times and `count` surviving records, which are encoded with their new deltas already.

    The offsets stay, the last one too, whatever was removed; so do producer, epoch and sequence number.
    """
    attributes = header.attributes & _KEPT_ATTRIBUTES | (_HORIZON if times.is_horizon else 0)
    if header.codec != Codec.NONE:
        records = compress(Codec(header.codec), records)
    return _batch(header, attributes, times.base_ms, times.max_ms, count, records)


def empty_batch(header: BatchHeader) -> bytes:
    """Return the header alone of a batch that lost all its records: offsets, producer and latest time stay."""
    attributes = header.attributes & _KEPT_ATTRIBUTES & ~_CODEC
    return _batch(header, attributes, _NO_TIMESTAMP, header.max_timestamp, 0, b"")


def _batch(header: BatchHeader, attributes: int, base_ms: int, max_ms: int, count: int, records: bytes) -> bytes:
    checked = _CHECKED.pack(
        attributes,
        header.last_offset_delta,
        base_ms,
        max_ms,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
    crc = google_crc32c.extend(google_crc32c.value(checked), records)
    length = HEADER_BYTES - LENGTH_END + len(records)
    prefix = _PREFIX.pack(header.base_offset, length, header.partition_leader_epoch, MAGIC, crc)
    return b"".join((prefix, checked, records))


def encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    """Return a record as every client writes it: lengths in as few bytes as they need, no attributes."""
    parts = [b"\0", zigzag(timestamp_delta), zigzag(offset_delta), _nullable(record.key), _nullable(record.value)]
    parts.append(zigzag(len(record.headers)))
    for name, value in record.headers:
        parts += (_nullable(name.encode()), _nullable(value))
    body = b"".join(parts)
    return zigzag(len(body)) + body


def _nullable(data: bytes | None) -> bytes:
    return zigzag(-1) if data is None else zigzag(len(data)) + data


# --- the files --------------------------------------------------------------------------------------------------------


class Sized(Protocol):
    """A segment, as far as grouping looks at it."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...


SegmentT = TypeVar("SegmentT", bound=Sized)


def group_segments(inputs: Sequence[SegmentT], segment_bytes: int, clean_up_to: int) -> list[tuple[SegmentT, ...]]:
    """Group adjacent inputs that become one output: as many as fit, by their sizes before compaction.

    The output has the name of the first. Source: Kafka's Cleaner.groupSegmentsBySize. A segment that is too large
    already stays alone; the end of a segment is taken to be the beginning of the next.
    """
    groups: list[list[SegmentT]] = []
    size_bytes = 0
    for number, segment in enumerate(inputs):
        end = inputs[number + 1].base_offset if number + 1 < len(inputs) else clean_up_to
        if (
            groups
            and size_bytes + segment.size_bytes <= segment_bytes
            and (not segment.size_bytes or end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(segment)
            size_bytes += segment.size_bytes
        else:
            groups.append([segment])
            size_bytes = segment.size_bytes
    return [tuple(group) for group in groups]

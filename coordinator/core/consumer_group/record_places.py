"""The places of the records of a KIP-848 group in the log, for the check of a compaction.

A place is the log offset of a record and the CRC-32 of its value: a compacted log must have that record there. Only
durable records have one. The check is that of `coordinator.compaction.memory_check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias
from zlib import crc32

Place: TypeAlias = int  # the log offset, above 32 bits of the CRC: a tuple of both takes three times the memory
RecordPlaces: TypeAlias = dict[bytes, Place]  # by key


def place_of(value: bytes, log_offset: int) -> Place:
    return log_offset << 32 | crc32(value)


def offset_and_crc(place: Place) -> tuple[int, int]:
    return place >> 32, place & 0xFFFFFFFF


def note_records(places: RecordPlaces, records: Iterable[tuple[bytes, bytes | None]], first_offset: int) -> None:
    """Note durable records that follow each other from an offset on; a tombstone takes the place of its key away."""
    for log_offset, (key, value) in enumerate(records, first_offset):
        if value is None:
            places.pop(key, None)
        else:
            places[key] = place_of(value, log_offset)

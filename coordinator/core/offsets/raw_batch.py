"""Committed offsets straight from the bytes of a batch: replay, without an object for each record.

A log holds each key many times, so nearly all records are overwritten before anybody decodes them. Key and value are
cut out and put under the key; that is all. Whatever is not as our own coordinator or Kafka's writes it (headers,
timestamps of their own, very long keys) is left to `protocol.record_batch`, and damage too, which finds the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from protocol.record_batch import HEADER_BYTES

NOT_PLAIN: Final = 0x3F  # attributes of a batch: codec, timestamp type, transactional, control
_OFFSET_KEY: Final = b"\0\1"


def absorb(
    data: bytes,
    end: int,
    base_offset: int,
    count: int,
    offsets: dict[bytes, tuple[bytes, int]],
    other: Callable[[bytes | None, bytes | None, int], None],
) -> bool:
    """Take in a batch as nearly all are: no headers, lengths of two bytes at most. False: read it the long way.

    Committed offsets go into `offsets`, by key, as value and log offset; every other record goes to `other`. What was
    taken in by then does no harm: all of it, taken in again, leaves the same.
    """
    position = HEADER_BYTES
    value: bytes | None
    try:
        for _ in range(count):
            byte = data[position]
            position += 1
            if byte >= 128:
                byte = byte & 127 | data[position] << 7
                position += 1
            record_end = position + (byte >> 1)
            if byte & 1 or byte >= 16384 or record_end > end or data[position + 1] >= 128:
                return False
            delta = data[position + 2]
            position += 3
            if delta >= 128:
                delta = delta & 127 | data[position] << 7
                position += 1
            byte = data[position]
            position += 1
            if byte >= 128:
                byte = byte & 127 | data[position] << 7
                position += 1
            if (delta | byte) & 1 or delta >= 16384 or byte >= 16384:
                return False
            key_end = position + (byte >> 1)
            key = data[position:key_end]
            byte = data[key_end]
            position = key_end + 1
            if byte >= 128:
                byte = byte & 127 | data[position] << 7
                position += 1
                if byte >= 16384:
                    return False
            if byte & 1:
                value = None
                if byte != 1:
                    return False
            else:
                value_end = position + (byte >> 1)
                value = data[position:value_end]
                position = value_end
            if position + 1 != record_end or data[position]:
                return False
            position = record_end
            if value is not None and key[:2] == _OFFSET_KEY:
                offsets[key] = (value, base_offset + (delta >> 1))
            else:
                other(key, value, base_offset + (delta >> 1))
    except IndexError:
        return False
    return position == end

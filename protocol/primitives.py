"""Primitives that generated code calls instead of inlining: varints, tag sections and the translation of errors.

Unsigned varints carry 7 bits per byte, the low group first; the high bit says that another byte follows. Compact types
use them for length + 1, so that zero can mean null; 32 bits need at most 5 bytes, and longer varints are refused.
Records use the zigzag form, in which small negative numbers are short too. Source: Kafka's `ByteUtils`.

Readers raise IndexError past the end of the data. A generated decoder catches it, and the other exceptions that
malformed bytes can cause (`MALFORMED`), and raises the DecodeError that `unreadable` returns.
"""

from __future__ import annotations

import struct
from typing import Final

from protocol.errors import DecodeError, EncodeError

ZERO_UUID: Final = bytes(16)
TOO_SHORT: Final = "the data ends early"
MOST_TAGS: Final = 10_000  # in one section, as in Kafka since 4.4
UNLIMITED: Final = 2**62 - 1  # limit of elements of a request, for tests and tools
MALFORMED: Final = (IndexError, struct.error)
UNENCODABLE: Final = (AttributeError, TypeError, struct.error, UnicodeEncodeError)


def unreadable(error: Exception) -> DecodeError:
    """Return the error to raise instead of an exception in MALFORMED."""
    return DecodeError(TOO_SHORT)


def unwritable(name: str, error: Exception) -> EncodeError:
    """Return the error to raise instead of an exception in UNENCODABLE."""
    return EncodeError(f"{name} does not fit this version: {error}")


def _uvarint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_SHORT: Final = (  # all varints of one and two bytes; built at each start of the process, hence in the fastest way
    *(bytes((value,)) for value in range(128)),
    *(bytes((value & 127 | 128, value >> 7)) for value in range(128, 16384)),
)


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    return _SHORT[value] if value < 16384 else _uvarint(value)


def read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of 32 bits; returns it and the position behind it."""
    first = data[position]
    if first < 128:
        return first, position + 1
    return read_uvarint_tail(data, position + 1, first)


def read_uvarint_tail(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Read the rest of an unsigned varint whose `first` byte, already read, is above 127."""
    value = first & 127
    for shift in (7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                break
            return value, position
    raise DecodeError("a varint is longer than 32 bits")


def read_tag_count_tail(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Read the rest of the number of fields in a tag section, whose `first` byte is above 127."""
    count, position = read_uvarint_tail(data, position, first)
    if count > MOST_TAGS:
        raise DecodeError(f"a tag section has {count} fields, more than {MOST_TAGS}")
    return count, position


def read_tag(data: bytes, position: int, previous: int) -> tuple[int, int, int]:
    """Read the head of a tagged field; returns its tag, the position of its end and that of its data."""
    tag, position = read_uvarint(data, position)
    length, position = read_uvarint(data, position)
    if tag <= previous:
        raise DecodeError(f"tag {tag} follows tag {previous}")
    end = position + length
    if end > len(data):
        raise DecodeError(TOO_SHORT)
    return tag, end, position


def skip_tags(data: bytes, position: int, count: int) -> int:
    """Return the position behind the `count` fields of a tag section of unknown tags."""
    previous = -1
    for _ in range(count):
        previous, position, _ = read_tag(data, position, previous)
    return position


def zigzag(value: int) -> bytes:
    """Encode a signed varint of up to 64 bits, as records use it."""
    folded = value << 1 ^ value >> 63
    return _SHORT[folded] if folded < 16384 else _uvarint(folded)


def read_zigzag(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed varint of up to 64 bits; returns it and the position behind it."""
    byte = data[position]
    if byte < 128:
        return byte >> 1 ^ -(byte & 1), position + 1
    value = byte & 127
    position += 1
    for shift in range(7, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFF_FFFF_FFFF_FFFF:
                break
            return value >> 1 ^ -(value & 1), position
    raise DecodeError("a varint is longer than 64 bits")

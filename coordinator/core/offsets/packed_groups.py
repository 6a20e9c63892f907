"""Packed groups: the encoding of groups in a snapshot, and in memory until a request needs them.

A block holds one group: its newest record as in the log, if it has one, and its committed offsets, topic by topic, one
column for each field. A column stores its lowest number once, and for each row the difference to it in as few bytes as
suffice; a column of equal numbers is one number. A committed offset takes about 20 bytes this way instead of 200 in
memory, and a hundred of them are unpacked in less time than a client needs to send a second request.

The head of a block holds what is read without decoding it: the number of offsets, and when the first may expire.
Blocks are written and read in this module only. Callers have checked that the bytes are those that were written.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple

from coordinator.core.offsets.committed import NO_TIMESTAMP, CommittedOffset, GroupOffsets

# size of the block, bytes of the name, bytes of the group's record, offsets, topics, log offset of the group's record
# or of its deletion while there were offsets (-1: neither), the earliest commit without an expiry of its own, the
# earliest such expiry
_HEAD: Final = struct.Struct("<IHIIIqqq")
_TOPIC: Final = struct.Struct("<HI")  # bytes of the name, partitions
_COLUMN: Final = struct.Struct("<cq")  # width of its numbers, and the lowest number
_LOWEST: Final = struct.Struct("<q")
_LENGTH: Final = struct.Struct("<I")
NEVER_MS: Final = 2**63 - 1

_SAME: Final = ord("=")
_NO_METADATA: Final = 0
_ONE_METADATA: Final = 1
_EACH_METADATA: Final = 2
_make: Final = partial(tuple.__new__, CommittedOffset)

Ints = Sequence[int]
Columns = tuple[Ints, Ints, Ints, Sequence[str], Ints, Ints, Ints]
"""The offsets of a topic: partitions, then one column for each field of `CommittedOffset`."""


class Block(NamedTuple):
    """The head of a block, and the position of the rest."""

    position: int
    size: int
    group_id: str
    record_offset: int
    value_at: int
    value_size: int
    offsets: int

    @property
    def is_deleted(self) -> bool:
        """True if the group was deleted and only offsets are left of it. The group goes when they do."""
        return self.record_offset >= 0 and not self.value_size


class Age(NamedTuple):
    """The earliest times from which a group's offsets expire; `NEVER_MS` where there are none."""

    earliest_commit_ms: int  # of the offsets without an expiry of their own
    earliest_expiry_ms: int


def encode_block(group_id: str, value: bytes | None, record_offset: int, offsets: GroupOffsets) -> bytes:
    """Encode a group and its committed offsets.

    `value` is its newest record, `record_offset` the log offset of that record or of the group's deletion.
    """
    topics: list[tuple[str, Columns]] = []
    for topic, partitions in offsets.items():
        numbers, epochs, metadata, commits, expiries, log_offsets = zip(*partitions.values(), strict=True)
        topics.append((topic, (list(partitions), numbers, epochs, metadata, commits, expiries, log_offsets)))
    return encode_columns(group_id, value, record_offset, topics)


def encode_columns(
    group_id: str, value: bytes | None, record_offset: int, topics: Sequence[tuple[str, Columns]]
) -> bytes:
    """Encode a group like `encode_block`, from the columns of each topic."""
    name = group_id.encode()
    parts = [b"", name, value or b""]
    count = 0
    earliest_commit_ms = earliest_expiry_ms = NEVER_MS
    for topic, (partitions, numbers, epochs, metadata, commits, expiries, log_offsets) in topics:
        raw = topic.encode()
        count += len(partitions)
        parts += (_TOPIC.pack(len(raw), len(partitions)), raw, _column(partitions))
        parts += (_column(numbers), _column(epochs), _column(commits), _column(expiries), _column(log_offsets))
        parts.append(_texts(metadata))
        if min(expiries) == max(expiries) == NO_TIMESTAMP:
            earliest_commit_ms = min(earliest_commit_ms, min(commits))
        else:
            for commit_ms, expiry_ms in zip(commits, expiries, strict=True):
                if expiry_ms == NO_TIMESTAMP:
                    earliest_commit_ms = min(earliest_commit_ms, commit_ms)
                else:
                    earliest_expiry_ms = min(earliest_expiry_ms, expiry_ms)
    parts[0] = _HEAD.pack(
        _HEAD.size + sum(map(len, parts)),
        len(name),
        0 if value is None else len(value),
        count,
        len(topics),
        record_offset,
        earliest_commit_ms,
        earliest_expiry_ms,
    )
    return b"".join(parts)


def read_blocks(data: bytes, position: int, end: int) -> Iterator[Block]:
    """Yield the heads of all blocks between two positions. ValueError if the bytes are no blocks."""
    unpack, head = _HEAD.unpack_from, _HEAD.size
    try:
        while position < end:
            size, name_size, value_size, offsets, _, record_offset, _, _ = unpack(data, position)
            name_at = position + head
            value_at = name_at + name_size
            if size < head + name_size + value_size or position + size > end:
                raise ValueError(f"a block of {size} bytes at {position}")
            group_id = data[name_at:value_at].decode()
            yield Block(position, size, group_id, record_offset, value_at, value_size, offsets)
            position += size
    except struct.error:
        raise ValueError(f"no block at {position}") from None


def size_of(data: bytes, position: int) -> int:
    """Return the size of a block in bytes."""
    return int(_LENGTH.unpack_from(data, position)[0])


def count_of(data: bytes, position: int) -> int:
    """Return the number of committed offsets in a block."""
    return int(_HEAD.unpack_from(data, position)[3])


def age_of(data: bytes, position: int) -> Age:
    """Return the age of the offsets in a block."""
    return Age(*_HEAD.unpack_from(data, position)[6:8])


def mentions(data: bytes, position: int, topic: bytes) -> bool:
    """Return False if these bytes do not occur in a block: it then has no offsets of that topic."""
    return data.find(topic, position + _HEAD.size, position + size_of(data, position)) >= 0


def decode_offsets(data: bytes, position: int) -> GroupOffsets:
    """Decode the committed offsets of a block."""
    _, name_size, value_size, _, topics, _, _, _ = _HEAD.unpack_from(data, position)
    position += _HEAD.size + name_size + value_size
    found: GroupOffsets = {}
    for _ in range(topics):
        topic_size, count = _TOPIC.unpack_from(data, position)
        position += _TOPIC.size
        topic = sys.intern(data[position : position + topic_size].decode())
        position += topic_size
        columns: list[Iterable[Any]] = []
        for _ in range(6):
            column, position = _read_column(data, position, count)
            columns.append(column)
        partitions, numbers, epochs, commits, expiries, log_offsets = columns
        metadata, position = _read_texts(data, position, count)
        rows = zip(numbers, epochs, metadata, commits, expiries, log_offsets, strict=True)
        found[topic] = dict(zip(partitions, map(_make, rows), strict=True))
        if len(found[topic]) != count:
            raise ValueError(f"{count} partitions of {topic}, not all different")
    return found


def _column(values: Ints) -> bytes:
    low = min(values)
    span = max(values) - low
    if not span:
        return _COLUMN.pack(b"=", low)
    above = values if low == 0 else [value - low for value in values]
    if span < 1 << 8:
        return _COLUMN.pack(b"B", low) + bytes(above)
    code = "H" if span < 1 << 16 else "I" if span < 1 << 32 else "Q"
    return struct.pack(f"<cq{len(values)}{code}", code.encode(), low, *above)


def _read_column(data: bytes, position: int, count: int) -> tuple[Iterable[int], int]:
    code = data[position]
    (low,) = _LOWEST.unpack_from(data, position + 1)
    position += 9
    if code == _SAME:
        return repeat(low, count), position
    layout = f"<{count}{chr(code)}"
    above = struct.unpack_from(layout, data, position)
    return (above if low == 0 else [low + each for each in above]), position + struct.calcsize(layout)


def _texts(texts: Sequence[str]) -> bytes:
    first = texts[0]
    if texts.count(first) == len(texts):
        if not first:
            return bytes((_NO_METADATA,))
        raw = first.encode()
        return bytes((_ONE_METADATA,)) + _LENGTH.pack(len(raw)) + raw
    each = [text.encode() for text in texts]
    return b"".join((bytes((_EACH_METADATA,)), struct.pack(f"<{len(each)}I", *map(len, each)), *each))


def _read_texts(data: bytes, position: int, count: int) -> tuple[Iterable[str], int]:
    kind = data[position]
    position += 1
    if kind == _NO_METADATA:
        return repeat("", count), position
    if kind == _ONE_METADATA:
        (size,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        return repeat(data[position : position + size].decode(), count), position + size
    sizes = struct.unpack_from(f"<{count}I", data, position)
    position += 4 * count
    texts = []
    for size in sizes:
        texts.append(data[position : position + size].decode())
        position += size
    return texts, position

"""Packs the offsets that replay has read: raw records become columns, without an object for each.

A start from the log then leaves the same as a start from a snapshot: packed groups, which are unpacked when a request
needs them. Nearly all values have the same few fields at the same positions, so the values of a topic are decoded
together. What is not plain (a key that is not encoded as its text would be, a group with very many offsets), and what
cannot be decoded, is left to the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Final

from coordinator.core.offsets.committed import NO_TIMESTAMP
from coordinator.core.offsets.packed_groups import Columns, encode_columns
from coordinator.core.offsets.raw_records import (
    GROUP_KEY,
    PLAIN_FIELDS,
    PLAIN_VALUE,
    RawRecord,
    committed_offset,
    offset_key,
    raw_name,
)
from protocol.errors import DecodeError
from protocol.offsets_records import offset_key_prefix

_PARTITION_BYTES: Final = 4  # at the end of an offset key


@dataclass(slots=True)
class PackedGroups:
    """Groups as blocks, and the keys of offsets that are not packed."""

    data: bytes
    positions: dict[str, int]  # group -> position of its block
    names: list[bytes]  # raw names of these groups
    count: int  # number of their offsets
    left: list[bytes]  # keys of offsets that must become objects now


def pack(
    offsets: dict[bytes, RawRecord], groups: dict[bytes, RawRecord], unpacked: Container[bytes], at_most: int
) -> PackedGroups:
    """Pack all groups but the `unpacked` ones (raw names), and those with more than `at_most` offsets.

    `offsets` and `groups` are by state key.
    """
    by_group, left = _by_group(offsets, unpacked)
    blocks: list[bytes] = []
    positions: dict[str, int] = {}
    names: list[bytes] = []
    position = count = 0
    for name, topics in by_group.items():
        size = sum([len(keys) for _, _, keys in topics])
        if size > at_most:
            for _, _, keys in topics:
                left += keys
            continue
        group_id = topics[0][0]
        value, record_offset = groups.get(GROUP_KEY + name, (None, -1))
        try:
            columns = [(topic, _columns(keys, list(map(offsets.__getitem__, keys)))) for _, topic, keys in topics]
        except DecodeError:  # one of its values
            for _, _, keys in topics:
                left += keys
            continue
        block = encode_columns(group_id, value, record_offset, columns)
        blocks.append(block)
        positions[group_id] = position
        names.append(name)
        position += len(block)
        count += size
    _clear(by_group)
    return PackedGroups(b"".join(blocks), positions, names, count, left)


def _by_group(
    offsets: dict[bytes, RawRecord], unpacked: Container[bytes]
) -> tuple[dict[bytes, list[tuple[str, str, list[bytes]]]], list[bytes]]:
    """Return keys by raw name of their group (group, topic, its keys), and keys that are not packed.

    The latter belong to `unpacked` groups, are not plain, or cannot be decoded.
    """
    by_prefix: dict[bytes, list[bytes]] = {}  # a key without its partition -> keys
    for key in offsets:
        prefix = key[:-_PARTITION_BYTES]
        found = by_prefix.get(prefix)
        if found is None:
            by_prefix[prefix] = [key]
        else:
            found.append(key)
    by_group: dict[bytes, list[tuple[str, str, list[bytes]]]] = {}
    left: list[bytes] = []
    for prefix, keys in by_prefix.items():
        name = raw_name(prefix)
        try:
            group_id, topic, _ = offset_key(keys[0])
        except DecodeError:
            left += keys
            continue
        if prefix != offset_key_prefix(group_id, topic) or name in unpacked:
            left += keys
        else:
            by_group.setdefault(name, []).append((group_id, topic, keys))
    _clear(by_prefix)
    return by_group, left


def _clear(entries: dict[bytes, Any]) -> None:
    """Free entries one by one. To free 100,000 at once would keep other threads from running for about 30 ms."""
    while entries:
        entries.popitem()


def _columns(keys: list[bytes], records: list[RawRecord]) -> Columns:
    """Decode the offsets of one topic into columns."""
    count = len(keys)
    partitions = struct.unpack(f">{count}i", b"".join([key[-_PARTITION_BYTES:] for key in keys]))
    values, log_offsets = zip(*records, strict=True)
    if set(map(len, values)) == {PLAIN_VALUE.size}:
        fields = struct.unpack(">" + PLAIN_FIELDS * count, b"".join(values))
        if fields[::5].count(3) == count and fields[3::5].count(0) == count:  # versions, and sizes of the metadata
            numbers, epochs, commits = fields[1::5], fields[2::5], fields[4::5]
            return partitions, numbers, epochs, ("",) * count, commits, (NO_TIMESTAMP,) * count, log_offsets
    rows = [committed_offset(value, log_offset) for value, log_offset in records]
    numbers, epochs, metadata, commits, expiries, log_offsets = zip(*rows, strict=True)
    return partitions, numbers, epochs, metadata, commits, expiries, log_offsets

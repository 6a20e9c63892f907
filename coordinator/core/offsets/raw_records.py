"""Records of the offsets log as raw bytes: keys, values, and the quick path of replay through a batch.

A log holds each key many times, so replay keeps raw values and decodes only the newest of each key. `absorb` cuts keys
and values out of a plain batch without creating a record object; other batches go to `protocol.record_batch`.

A state key stands for all keys of the same meaning: an offset key of version 0 means the same as one of version 1, and
the key of a classic group ends after the group's name. A key of a KIP-848 group is its own state key. Raw names carry
their length in front, as in keys.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Final

from coordinator.core.offsets.committed import NO_TIMESTAMP, CommittedOffset
from protocol.errors import DecodeError
from protocol.group_records import RecordKind, decode_record_key
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value
from protocol.record_batch import HEADER_BYTES

OLD_OFFSET_KEY: Final = b"\0\0"
OFFSET_KEY: Final = b"\0\1"
GROUP_KEY: Final = b"\0\2"
CONSUMER_GROUP_KEY: Final = b"\0\3"
CONSUMER_KEYS: Final = frozenset(  # those of KIP-848 groups
    kind.to_bytes(2, "big")
    for kind in (
        RecordKind.CONSUMER_GROUP,
        RecordKind.CONSUMER_TOPICS,
        RecordKind.CONSUMER_MEMBER,
        RecordKind.CONSUMER_TARGET_EPOCH,
        RecordKind.CONSUMER_TARGET,
        RecordKind.CONSUMER_CURRENT,
        RecordKind.CONSUMER_REGEX,
    )
)
NOT_PLAIN: Final = 0x3F  # attributes of a batch: codec, timestamp type, transactional, control
PLAIN_FIELDS: Final = "hqihq"  # version, offset, leader epoch, size of the metadata (0), commit time
PLAIN_VALUE: Final = struct.Struct(">" + PLAIN_FIELDS)  # a value without metadata: by far the most frequent

RawRecord = tuple[bytes, int]  # value, log offset


def state_key(key: bytes) -> bytes:
    """Return the state key of a record's key; empty for a kind that this coordinator does not use."""
    kind = key[:2]
    if kind in (OLD_OFFSET_KEY, OFFSET_KEY):
        return OFFSET_KEY + key[2:]
    if kind in CONSUMER_KEYS:
        return key
    return GROUP_KEY + raw_name(key) if kind == GROUP_KEY else b""


def raw_name(key: bytes) -> bytes:
    """Return the length and text of the group, with which the keys of groups and of offsets both begin."""
    return key[2 : 4 + int.from_bytes(key[2:4], "big", signed=True)]


def raw_text(text: str) -> bytes:
    """Encode a name as its length and its text."""
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded


def text_of(name: bytes) -> str:
    """Decode a raw name. DecodeError if it is not UTF-8."""
    return str(decode_key(GROUP_KEY + name)[0])


def readable(name: bytes) -> str | None:
    """Decode a raw name; None if that is not possible."""
    try:
        return text_of(name)
    except DecodeError:
        return None


def offset_key(key: bytes) -> OffsetKey:
    """Decode an offset key. The topic is interned: one string however many partitions it has."""
    decoded = decode_key(key)
    if not isinstance(decoded, OffsetKey):
        if key[:2] in CONSUMER_KEYS:
            decode_record_key(key)  # it was set aside because this fails
        raise DecodeError("an offset key of another kind")
    return OffsetKey(decoded.group, sys.intern(decoded.topic), decoded.partition)


def committed_offset(value: bytes, log_offset: int) -> CommittedOffset:
    """Decode the value of an offset record. DecodeError if that is not possible."""
    if len(value) == PLAIN_VALUE.size:
        version, offset, leader_epoch, metadata_size, commit_timestamp_ms = PLAIN_VALUE.unpack(value)
        if version == 3 and metadata_size == 0:
            return CommittedOffset(offset, leader_epoch, "", commit_timestamp_ms, NO_TIMESTAMP, log_offset)
    decoded = decode_offset_value(value)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch,
        decoded.metadata,
        decoded.commit_timestamp_ms,
        decoded.expire_timestamp_ms,
        log_offset,
    )


def absorb(
    data: bytes,
    end: int,
    base_offset: int,
    count: int,
    offsets: dict[bytes, tuple[bytes, int]],
    other: Callable[[bytes | None, bytes | None, int], None],
) -> bool:
    """Read a plain batch, as this coordinator and Kafka write it: no headers, lengths of at most two bytes.

    Committed offsets go into `offsets`, by key, as value and log offset; every other record goes to `other`. False: the
    batch is not plain, or damaged, and must be read with `protocol.record_batch`. Records that were read by then may be
    read again: the result is the same.
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
            if value is not None and key[:2] == OFFSET_KEY:
                offsets[key] = (value, base_offset + (delta >> 1))
            else:
                other(key, value, base_offset + (delta >> 1))
    except IndexError:
        return False
    return position == end

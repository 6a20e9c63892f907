"""Keys and values of the records in `__consumer_offsets`, as Kafka's `GroupCoordinatorRecordSerde` writes them.

Key and value each start with an int16 version. The version of a key is its kind: 0 and 1 a committed offset, 2 a group;
keys of other versions belong to other protocols and are kept as bytes. A record without a value is a tombstone. Values
are written in version 3, or 1 for an offset with its own expiry (which then loses its leader epoch), and read in every
version. Values are declared in `protocol.messages.offsets_log`. Source: Kafka's `OffsetCommitKey`, `OffsetCommitValue`,
`GroupMetadataKey` and `GroupMetadataValue`.

A commit calls `encode_partition` and `encode_offset_value` once per partition and `offset_key_prefix` once per topic;
these are written by hand for speed.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, TypeAlias

from protocol.errors import DecodeError
from protocol.generated import offsets_log
from protocol.messages.offsets_log import GroupValue, MemberValue, OffsetValue

__all__ = [
    "GroupKey",
    "GroupValue",
    "Key",
    "MemberValue",
    "OffsetKey",
    "OffsetValue",
    "UnknownKey",
    "decode_group_value",
    "decode_key",
    "decode_offset_value",
    "encode_group_key",
    "encode_group_value",
    "encode_offset_key",
    "encode_offset_value",
    "encode_partition",
    "offset_key_prefix",
]

GROUP_KEY_VERSION: Final = 2
GROUP_VALUE_VERSION: Final = 3

_VERSION: Final = struct.Struct(">h")
_PARTITION: Final = struct.Struct(">i")
_VERSION_AND_LENGTH: Final = struct.Struct(">hh")
_VALUE_V3: Final = struct.Struct(">hqih")  # version, offset, leader epoch, length of the metadata
_VALUE_V1: Final = struct.Struct(">hqh")
_TIMESTAMP: Final = struct.Struct(">q")
_TIMESTAMPS: Final = struct.Struct(">qq")


class OffsetKey(NamedTuple):
    """The key of a committed offset, of version 0 or 1."""

    group: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """The key of a group's metadata."""

    group: str


class UnknownKey(NamedTuple):
    """A key of a record of another protocol; `raw` holds all its bytes."""

    version: int
    raw: bytes


Key: TypeAlias = OffsetKey | GroupKey | UnknownKey


def decode_key(data: bytes) -> Key:
    """Decode the key of a record; DecodeError if its version is known and the rest is malformed."""
    try:
        version, length = _VERSION_AND_LENGTH.unpack_from(data)
    except struct.error:
        if len(data) >= 2:
            (version,) = _VERSION.unpack_from(data)
            if not 0 <= version <= GROUP_KEY_VERSION:
                return UnknownKey(version, data)
        raise DecodeError("a key that ends early") from None
    if not 0 <= version <= GROUP_KEY_VERSION:
        return UnknownKey(version, data)
    if length < 0:
        raise DecodeError("a key without a group")
    try:
        position = 4 + length
        group = data[4:position].decode()
        if version == GROUP_KEY_VERSION:
            if position > len(data):
                raise DecodeError("a key that ends early")
            return GroupKey(group)
        (length,) = _VERSION.unpack_from(data, position)
        if length < 0:
            raise DecodeError("a key without a topic")
        topic = data[position + 2 : position + 2 + length].decode()
        (partition,) = _PARTITION.unpack_from(data, position + 2 + length)
    except struct.error:
        raise DecodeError("a key that ends early") from None
    except UnicodeDecodeError:
        raise DecodeError("a key that is not UTF-8") from None
    return OffsetKey(group, topic, partition)


def encode_offset_key(group: str, topic: str, partition: int) -> bytes:
    """Encode the key of a committed offset."""
    return offset_key_prefix(group, topic) + _PARTITION.pack(partition)


def offset_key_prefix(group: str, topic: str) -> bytes:
    """Return the common start of all offset keys of a group and topic; `encode_partition` gives the rest."""
    group_bytes = group.encode()
    topic_bytes = topic.encode()
    return b"".join(
        (_VERSION_AND_LENGTH.pack(1, len(group_bytes)), group_bytes, _VERSION.pack(len(topic_bytes)), topic_bytes)
    )


def encode_partition(partition: int) -> bytes:
    """Encode the last part of the key of an offset."""
    return _PARTITION.pack(partition)


def encode_group_key(group: str) -> bytes:
    """Encode the key of the metadata of a group."""
    group_bytes = group.encode()
    return _VERSION_AND_LENGTH.pack(GROUP_KEY_VERSION, len(group_bytes)) + group_bytes


def decode_offset_value(data: bytes) -> OffsetValue:
    """Decode the value of a committed offset, of any version."""
    return offsets_log.DECODE_OFFSET_VALUE[_known_version(data)](data, 2)


def encode_offset_value(value: OffsetValue) -> bytes:
    """Encode the value of a committed offset: version 1 if it has its own expiry, else 3."""
    metadata = value.metadata.encode()
    if value.expire_timestamp_ms == -1:
        return (
            _VALUE_V3.pack(3, value.offset, value.leader_epoch, len(metadata))
            + metadata
            + _TIMESTAMP.pack(value.commit_timestamp_ms)
        )
    return (
        _VALUE_V1.pack(1, value.offset, len(metadata))
        + metadata
        + _TIMESTAMPS.pack(value.commit_timestamp_ms, value.expire_timestamp_ms)
    )


def decode_group_value(data: bytes) -> GroupValue:
    """Decode the metadata of a group, of any version."""
    return offsets_log.DECODE_GROUP_VALUE[_known_version(data)](data, 2)


def encode_group_value(value: GroupValue) -> bytes:
    """Encode the metadata of a group in version 3, the one that Kafka writes."""
    return offsets_log.ENCODE_GROUP_VALUE[GROUP_VALUE_VERSION](value)


def _known_version(data: bytes) -> int:
    if len(data) < 2:
        raise DecodeError("a value without a version")
    (version,) = _VERSION.unpack_from(data)
    if version not in offsets_log.DECODE_OFFSET_VALUE:
        raise DecodeError(f"a value of version {version}")
    return int(version)

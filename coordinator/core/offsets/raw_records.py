"""Records of the offsets log while they are bytes: what a key is of, and what the value of an offset says.

A state key stands for all keys that mean the same: an old offset key has the meaning of a newer one, and a group's key
ends where the group's name does. Names are raw with their length in front, as keys have them.
"""

from __future__ import annotations

import struct
import sys
from typing import Final

from coordinator.core.offsets.committed import NO_TIMESTAMP, CommittedOffset
from protocol.errors import DecodeError
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value

OLD_OFFSET_KEY: Final = b"\0\0"
OFFSET_KEY: Final = b"\0\1"
GROUP_KEY: Final = b"\0\2"
PLAIN_FIELDS: Final = "hqihq"  # version, offset, leader epoch, size of metadata, commit time: if there is none of it
PLAIN_VALUE: Final = struct.Struct(">" + PLAIN_FIELDS)  # the commonest by far

RawRecord = tuple[bytes, int]  # value, log offset


def state_key(key: bytes) -> bytes:
    """The state key of a record's key; empty for kinds that are not ours."""
    kind = key[:2]
    if kind in (OLD_OFFSET_KEY, OFFSET_KEY):
        return OFFSET_KEY + key[2:]
    return GROUP_KEY + raw_name(key) if kind == GROUP_KEY else b""


def raw_name(key: bytes) -> bytes:
    """Length and text of the group, with which the keys of groups and of offsets both begin."""
    return key[2 : 4 + int.from_bytes(key[2:4], "big", signed=True)]


def raw_text(text: str) -> bytes:
    """Length and text of a name."""
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded


def text_of(name: bytes) -> str:
    """The group of a raw name. DecodeError if it is no text."""
    return str(decode_key(GROUP_KEY + name)[0])


def offset_key(key: bytes) -> OffsetKey:
    """The decoded key, with one string for each topic however many partitions have it."""
    decoded = decode_key(key)
    if not isinstance(decoded, OffsetKey):
        raise DecodeError("an offset key of another kind")
    return OffsetKey(decoded.group, sys.intern(decoded.topic), decoded.partition)


def committed_offset(value: bytes, log_offset: int) -> CommittedOffset:
    """What the value of an offset record says. DecodeError if it cannot be understood."""
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

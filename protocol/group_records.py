"""Keys and values of the records of KIP-848 groups and of share groups in `__consumer_offsets`.

A key starts with an int16, the kind of the record; the group id follows, then a member id or a regular expression if
the kind has one. Keys are not flexible. A value starts with its version. Source: Kafka's `CoordinatorRecordType` and
the message definitions of its group coordinator. Kinds 0 to 2 are those of `protocol.offsets_records`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias

from protocol.errors import DecodeError
from protocol.generated import consumer_group_records as generated
from protocol.generated import share_group_records as generated_share
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from protocol.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)

Value: TypeAlias = (
    ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
    | ShareGroupMetadataValue
    | ShareGroupMemberMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
)


class RecordKind(IntEnum):
    """Kinds of records; the number is the first field of the key."""

    CLASSIC_GROUP = 2
    CONSUMER_GROUP = 3
    CONSUMER_TOPICS = 4
    CONSUMER_MEMBER = 5
    CONSUMER_TARGET_EPOCH = 6
    CONSUMER_TARGET = 7
    CONSUMER_CURRENT = 8
    SHARE_TOPICS = 9
    SHARE_MEMBER = 10
    SHARE_GROUP = 11
    SHARE_TARGET_EPOCH = 12
    SHARE_TARGET = 13
    SHARE_CURRENT = 14
    SHARE_STATE = 15
    CONSUMER_REGEX = 16
    STREAMS_GROUP = 17
    STREAMS_TOPICS = 18
    STREAMS_MEMBER = 19
    STREAMS_TARGET_EPOCH = 20
    STREAMS_TARGET = 21
    STREAMS_CURRENT = 22
    STREAMS_TOPOLOGY = 23


KINDS: Final[Mapping[int, RecordKind]] = {kind.value: kind for kind in RecordKind}
HAS_SECOND: Final = frozenset(
    {
        RecordKind.CONSUMER_MEMBER,
        RecordKind.CONSUMER_TARGET,
        RecordKind.CONSUMER_CURRENT,
        RecordKind.CONSUMER_REGEX,
        RecordKind.SHARE_MEMBER,
        RecordKind.SHARE_TARGET,
        RecordKind.SHARE_CURRENT,
        RecordKind.STREAMS_MEMBER,
        RecordKind.STREAMS_TARGET,
        RecordKind.STREAMS_CURRENT,
    }
)


class RecordKey(NamedTuple):
    """The key of a record. `second` is a member id or a regular expression, or empty."""

    kind: RecordKind
    group: str
    second: str = ""


_VERSION: Final = struct.Struct(">h")
_VERSION_AND_LENGTH: Final = struct.Struct(">hh")
_DECODERS: Final[Mapping[RecordKind, Mapping[int, Callable[[bytes, int], Any]]]] = {
    RecordKind.CONSUMER_GROUP: generated.DECODE_CONSUMER_GROUP_METADATA_VALUE,
    RecordKind.CONSUMER_TOPICS: generated.DECODE_CONSUMER_GROUP_PARTITION_METADATA_VALUE,
    RecordKind.CONSUMER_MEMBER: generated.DECODE_CONSUMER_GROUP_MEMBER_METADATA_VALUE,
    RecordKind.CONSUMER_TARGET_EPOCH: generated.DECODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    RecordKind.CONSUMER_TARGET: generated.DECODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    RecordKind.CONSUMER_CURRENT: generated.DECODE_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    RecordKind.CONSUMER_REGEX: generated.DECODE_CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE,
    RecordKind.SHARE_GROUP: generated_share.DECODE_SHARE_GROUP_METADATA_VALUE,
    RecordKind.SHARE_MEMBER: generated_share.DECODE_SHARE_GROUP_MEMBER_METADATA_VALUE,
    RecordKind.SHARE_TARGET_EPOCH: generated_share.DECODE_SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    RecordKind.SHARE_TARGET: generated_share.DECODE_SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    RecordKind.SHARE_CURRENT: generated_share.DECODE_SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
}
_ENCODERS: Final[Mapping[type, Mapping[int, Callable[[Any], bytes]]]] = {
    ConsumerGroupMetadataValue: generated.ENCODE_CONSUMER_GROUP_METADATA_VALUE,
    ConsumerGroupPartitionMetadataValue: generated.ENCODE_CONSUMER_GROUP_PARTITION_METADATA_VALUE,
    ConsumerGroupMemberMetadataValue: generated.ENCODE_CONSUMER_GROUP_MEMBER_METADATA_VALUE,
    ConsumerGroupTargetAssignmentMetadataValue: generated.ENCODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ConsumerGroupTargetAssignmentMemberValue: generated.ENCODE_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ConsumerGroupCurrentMemberAssignmentValue: generated.ENCODE_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ConsumerGroupRegularExpressionValue: generated.ENCODE_CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE,
    ShareGroupMetadataValue: generated_share.ENCODE_SHARE_GROUP_METADATA_VALUE,
    ShareGroupMemberMetadataValue: generated_share.ENCODE_SHARE_GROUP_MEMBER_METADATA_VALUE,
    ShareGroupTargetAssignmentMetadataValue: generated_share.ENCODE_SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ShareGroupTargetAssignmentMemberValue: generated_share.ENCODE_SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ShareGroupCurrentMemberAssignmentValue: generated_share.ENCODE_SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
}


def decode_record_key(data: bytes) -> RecordKey | None:
    """Decode a key of kind 2 or above; None if the kind is not known. Raises DecodeError if it is malformed."""
    if len(data) < 2:
        raise DecodeError("a key without a kind")
    kind = KINDS.get(_VERSION.unpack_from(data)[0])
    if kind is None:
        return None
    group, position = _string(data, 2)
    if kind not in HAS_SECOND:
        return RecordKey(kind, group)
    return RecordKey(kind, group, _string(data, position)[0])


def encode_key(kind: RecordKind, group_id: str, second: str = "") -> bytes:
    """Encode a key. `second` is a member id or a regular expression, for the kinds that have one."""
    group = group_id.encode()
    key = _VERSION_AND_LENGTH.pack(kind, len(group)) + group
    if kind in HAS_SECOND:
        member = second.encode()
        key += _VERSION.pack(len(member)) + member
    return key


def decode_record_value(kind: RecordKind, data: bytes) -> Value:
    """Decode a value of a KIP-848 or share group. Raises DecodeError, also for a kind or version that is not known."""
    decoders = _DECODERS.get(kind)
    if decoders is None or len(data) < 2:
        raise DecodeError(f"a value of {kind.name} that cannot be read")
    (version,) = _VERSION.unpack_from(data)
    if version not in decoders:
        raise DecodeError(f"a value of {kind.name} of version {version}")
    return decoders[version](data, 2)  # type: ignore[no-any-return]


def encode_value(value: Value) -> bytes:
    """Encode a value: its version, and its fields in flexible encoding."""
    return _ENCODERS[type(value)][0](value)


def _string(data: bytes, position: int) -> tuple[str, int]:
    try:
        (length,) = _VERSION.unpack_from(data, position)
    except struct.error:
        raise DecodeError("a key that ends early") from None
    end = position + 2 + length
    if length < 0 or end > len(data):
        raise DecodeError("a key that ends early")
    try:
        return data[position + 2 : end].decode(), end
    except UnicodeDecodeError:
        raise DecodeError("a key that is not UTF-8") from None

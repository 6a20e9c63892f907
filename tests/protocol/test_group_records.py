"""Records of KIP-848 groups: bytes that Kafka writes, keys of all kinds, and what is malformed."""

from __future__ import annotations

import pytest

from protocol.errors import DecodeError
from protocol.group_records import (
    HAS_SECOND,
    RecordKey,
    RecordKind,
    Value,
    decode_record_key,
    decode_record_value,
    encode_key,
    encode_value,
)
from protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    SubscribedTopic,
    TargetPartitions,
)
from protocol.messages.share_group_records import (
    SharedPartitions,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)

TOPIC = bytes(15) + b"\1"

# The examples of the specification: kind, value, bytes.
EXAMPLES: list[tuple[RecordKind, Value, str]] = [
    (RecordKind.CONSUMER_GROUP, ConsumerGroupMetadataValue(epoch=1), "0000 00000001 00"),
    (
        RecordKind.CONSUMER_GROUP,
        ConsumerGroupMetadataValue(epoch=1, metadata_hash=0x0102030405060708),
        "0000 00000001 01 00 08 0102030405060708",
    ),
    (
        RecordKind.CONSUMER_TOPICS,
        ConsumerGroupPartitionMetadataValue(topics=[SubscribedTopic(TOPIC, "t", 2)]),
        "0000 02 00000000000000000000000000000001 02 74 00000002 01 00 00",
    ),
    (
        RecordKind.CONSUMER_MEMBER,
        ConsumerGroupMemberMetadataValue(None, None, "c", "/127.0.0.1", ["t"], None, 300_000, "uniform"),
        "0000 00 00 02 63 0b 2f3132372e302e302e31 02 02 74 00 000493e0 08 756e69666f726d 01 00 01 00",
    ),
    (
        RecordKind.CONSUMER_MEMBER,
        ConsumerGroupMemberMetadataValue(
            None,
            None,
            "c",
            "/127.0.0.1",
            ["t"],
            "",
            300_000,
            None,
            ClassicMemberMetadata(45_000, [ClassicProtocol("range", b"\1\2")]),
        ),
        "0000 00 00 02 63 0b 2f3132372e302e302e31 02 02 74 01 000493e0 00 01 00 11 01 0000afc8 02 06 72616e6765 03 0102"
        "00 00",
    ),
    (
        RecordKind.CONSUMER_TARGET_EPOCH,
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1),
        "0000 00000001 00",
    ),
    (
        RecordKind.CONSUMER_TARGET,
        ConsumerGroupTargetAssignmentMemberValue([TargetPartitions(TOPIC, [0, 1])]),
        "0000 02 00000000000000000000000000000001 03 00000000 00000001 00 00",
    ),
    (
        RecordKind.CONSUMER_CURRENT,
        ConsumerGroupCurrentMemberAssignmentValue(1, 0, 0, [CurrentPartitions(TOPIC, [0, 1])]),
        "0000 00000001 00000000 00 02 00000000000000000000000000000001 03 00000000 00000001 01 00 01 00 01 00",
    ),
    (
        RecordKind.CONSUMER_CURRENT,
        ConsumerGroupCurrentMemberAssignmentValue(2, 1, 0, [CurrentPartitions(TOPIC, [0, 1], [1, 2])]),
        "0000 00000002 00000001 00 02 00000000000000000000000000000001 03 00000000 00000001 01 00 09 03 00000001"
        "00000002 01 00",
    ),
    (
        RecordKind.CONSUMER_REGEX,
        ConsumerGroupRegularExpressionValue(["ab"], 12, 1_700_000_000_000),
        "0000 02 03 6162 000000000000000c 0000018bcfe56800 00",
    ),
    (RecordKind.SHARE_GROUP, ShareGroupMetadataValue(epoch=1), "0000 00000001 00"),
    (
        RecordKind.SHARE_MEMBER,
        ShareGroupMemberMetadataValue(None, "c", "/127.0.0.1", ["t"]),
        "0000 00 02 63 0b 2f3132372e302e302e31 02 02 74 00",
    ),
    (RecordKind.SHARE_TARGET_EPOCH, ShareGroupTargetAssignmentMetadataValue(1), "0000 00000001 00"),
    (
        RecordKind.SHARE_TARGET,
        ShareGroupTargetAssignmentMemberValue([SharedPartitions(TOPIC, [0, 1])]),
        "0000 02 00000000000000000000000000000001 03 00000000 00000001 00 00",
    ),
    (
        RecordKind.SHARE_CURRENT,
        ShareGroupCurrentMemberAssignmentValue(2, 1, 0, [SharedPartitions(TOPIC, [0])]),
        "0000 00000002 00000001 00 02 00000000000000000000000000000001 02 00000000 00 00",
    ),
]


KEYS: list[tuple[RecordKey, str]] = [
    (RecordKey(RecordKind.CONSUMER_GROUP, "g1"), "0003 0002 6731"),
    (RecordKey(RecordKind.CONSUMER_TOPICS, "g1"), "0004 0002 6731"),
    (RecordKey(RecordKind.CONSUMER_MEMBER, "g1", "m1"), "0005 0002 6731 0002 6d31"),
    (RecordKey(RecordKind.CONSUMER_TARGET_EPOCH, "g1"), "0006 0002 6731"),
    (RecordKey(RecordKind.CONSUMER_TARGET, "g1", "m1"), "0007 0002 6731 0002 6d31"),
    (RecordKey(RecordKind.CONSUMER_CURRENT, "g1", "m1"), "0008 0002 6731 0002 6d31"),
    (RecordKey(RecordKind.CONSUMER_REGEX, "g1", "a.*"), "0010 0002 6731 0003 612e2a"),
    (RecordKey(RecordKind.SHARE_MEMBER, "g1", "m1"), "000a 0002 6731 0002 6d31"),
    (RecordKey(RecordKind.SHARE_GROUP, "g1"), "000b 0002 6731"),
    (RecordKey(RecordKind.SHARE_TARGET_EPOCH, "g1"), "000c 0002 6731"),
    (RecordKey(RecordKind.SHARE_TARGET, "g1", "m1"), "000d 0002 6731 0002 6d31"),
    (RecordKey(RecordKind.SHARE_CURRENT, "g1", "m1"), "000e 0002 6731 0002 6d31"),
]


@pytest.mark.parametrize(("key", "text"), KEYS)
def test_keys_are_the_bytes_of_the_specification(key: RecordKey, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_key(*key) == data
    assert decode_record_key(data) == key


@pytest.mark.parametrize(("kind", "value", "text"), EXAMPLES)
def test_values_are_the_bytes_of_the_specification(kind: RecordKind, value: Value, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_value(value) == data
    assert decode_record_value(kind, data) == value


def test_a_member_without_the_tag_of_the_classic_protocol_is_one_of_the_consumer_protocol() -> None:
    """Kafka takes it for a classic one, but writes none. Earlier builds of this coordinator did."""
    data = bytes.fromhex("0000 00 00 02 63 0b 2f3132372e302e302e31 02 02 74 00 000493e0 08 756e69666f726d 00")
    value = decode_record_value(RecordKind.CONSUMER_MEMBER, data)
    assert isinstance(value, ConsumerGroupMemberMetadataValue)
    assert value.classic_member_metadata is None


def test_kafka_writes_a_null_in_a_tag_as_zero() -> None:
    data = bytes.fromhex(
        "0000 00 00 06 7765622d31 0b 2f3132372e302e302e31 02 07 6f7264657273 01 0000ea60 00 01 00 01 00"
    )
    value = decode_record_value(RecordKind.CONSUMER_MEMBER, data)
    assert isinstance(value, ConsumerGroupMemberMetadataValue)
    assert value.client_id == "web-1" and value.classic_member_metadata is None
    assert encode_value(value) == data


def test_a_tag_that_is_not_known_is_skipped() -> None:
    assert decode_record_value(RecordKind.CONSUMER_GROUP, bytes.fromhex("0000 00000001 01 01 02 abcd")) == (
        ConsumerGroupMetadataValue(epoch=1)
    )


@pytest.mark.parametrize("kind", RecordKind)
def test_keys_of_every_kind_are_read_as_they_were_written(kind: RecordKind) -> None:
    key = RecordKey(kind, "group", "second" if kind in HAS_SECOND else "")
    data = encode_key(*key)
    assert decode_record_key(data) == key
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            decode_record_key(data[:length])


def test_keys_of_other_kinds_are_unknown_and_broken_ones_are_errors() -> None:
    assert decode_record_key(b"\0\x63") is None
    assert decode_record_key(b"\xff\xfe") is None
    for broken in (b"\0\3\xff\xff", b"\0\3\0\1\xff", b"\0\5\0\1g\0\2m"):
        with pytest.raises(DecodeError):
            decode_record_key(broken)


def test_values_of_other_kinds_and_versions_are_errors() -> None:
    for kind, data in (
        (RecordKind.SHARE_GROUP, b"\0\0"),
        (RecordKind.CONSUMER_GROUP, b"\0\1\0\0\0\1\0"),
        (RecordKind.CONSUMER_GROUP, b"\0"),
    ):
        with pytest.raises(DecodeError):
            decode_record_value(kind, data)

"""Records of the offsets log: known bytes, every version, keys of other protocols, and random bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import DecodeError
from protocol.generated import offsets_log
from protocol.offsets_records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    UnknownKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
    offset_key_prefix,
)
from tests.protocol.definitions import definition
from tests.protocol.interpreter import encode as oracle

NOW = 1700000000000
STABLE = GroupValue(
    protocol_type="consumer",
    generation=1,
    protocol="range",
    leader="c-1",
    current_state_timestamp_ms=NOW,
    members=[MemberValue("c-1", None, "c", "/127.0.0.1", 300000, 45000, b"\x01\x02", b"\x03")],
)
STABLE_FACTS: dict[str, Any] = {
    "protocolType": "consumer",
    "generation": 1,
    "protocol": "range",
    "leader": "c-1",
    "currentStateTimestamp": NOW,
    "members": [
        {
            "memberId": "c-1",
            "clientId": "c",
            "clientHost": "/127.0.0.1",
            "rebalanceTimeout": 300000,
            "sessionTimeout": 45000,
            "subscription": b"\x01\x02",
            "assignment": b"\x03",
        }
    ],
}
TEXT = st.text(max_size=6)


def kafka_hex(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


def test_keys_are_written_and_read_as_kafka_does() -> None:
    offset = kafka_hex("0001 0002 6731 0001 74 00000003")
    assert encode_offset_key("g1", "t", 3) == offset
    assert decode_key(offset) == OffsetKey("g1", "t", 3)
    assert offset_key_prefix("g1", "t") + struct.pack(">i", 3) == offset
    group = kafka_hex("0002 0002 6731")
    assert encode_group_key("g1") == group
    assert decode_key(group) == GroupKey("g1")


def test_both_versions_of_an_offset_key_mean_the_same() -> None:
    newer = encode_offset_key("g1", "t", 3)
    assert decode_key(b"\x00\x00" + newer[2:]) == decode_key(newer)


def test_an_offset_is_written_in_version_3() -> None:
    data = kafka_hex("0003 000000000000002a 00000007 0001 6d 0000018bcfe56800")
    assert encode_offset_value(OffsetValue(42, 7, "m", NOW)) == data
    assert decode_offset_value(data) == OffsetValue(42, 7, "m", NOW, -1)


def test_an_offset_with_its_own_expiry_is_written_in_version_1_and_loses_its_leader_epoch() -> None:
    data = kafka_hex("0001 000000000000002a 0001 6d 0000018bcfe56800 0000018bcfe65260")
    assert encode_offset_value(OffsetValue(42, 7, "m", NOW, NOW + 60000)) == data
    assert decode_offset_value(data) == OffsetValue(42, -1, "m", NOW, NOW + 60000)


def test_group_values_are_written_and_read_as_kafka_does() -> None:
    empty = kafka_hex("0003 0000 00000000 ffff ffff 0000018bcfe56800 00000000")
    assert encode_group_value(GroupValue(protocol=None, leader=None, current_state_timestamp_ms=NOW)) == empty
    stable = kafka_hex(
        "0003 0008636f6e73756d6572 00000001 000572616e6765 0003632d31 0000018bcfe56800 00000001 0003632d31 ffff 000163"
        "000a2f3132372e302e302e31 000493e0 0000afc8 00000002 0102 00000001 03"
    )
    assert encode_group_value(STABLE) == stable
    assert decode_group_value(stable) == STABLE


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_value_is_read(version: int) -> None:
    prefix = struct.pack(">h", version)
    facts = {"offset": 42, "leaderEpoch": 7, "metadata": "m", "commitTimestamp": NOW, "expireTimestamp": NOW + 1}
    data = prefix + oracle(definition("OffsetCommitValue", version), facts)
    expected = OffsetValue(42, 7 if version >= 3 else -1, "m", NOW, NOW + 1 if version == 1 else -1)
    assert decode_offset_value(data) == expected
    assert offsets_log.ENCODE_OFFSET_VALUE[version](expected) == data

    data = prefix + oracle(definition("GroupMetadataValue", version), STABLE_FACTS)
    group = decode_group_value(data)
    assert (group.protocol_type, group.generation, group.protocol, group.leader) == ("consumer", 1, "range", "c-1")
    assert group.current_state_timestamp_ms == (NOW if version >= 2 else -1)
    assert group.members[0].rebalance_timeout_ms == (300000 if version >= 1 else -1)
    assert group.members[0].assignment == b"\x03"
    assert offsets_log.ENCODE_GROUP_VALUE[version](group) == data


@given(st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), TEXT, st.integers(-1, 2**62))
def test_the_hand_written_encoder_agrees_with_the_generated_one(
    offset: int, epoch: int, metadata: str, expiry: int
) -> None:
    value = OffsetValue(offset, epoch, metadata, NOW, expiry)
    version = 3 if expiry == -1 else 1
    assert encode_offset_value(value) == offsets_log.ENCODE_OFFSET_VALUE[version](value)


@given(TEXT, TEXT, st.integers(0, 2**31 - 1))
def test_any_key_round_trips_and_matches_kafkas_definition(group: str, topic: str, partition: int) -> None:
    key = encode_offset_key(group, topic, partition)
    facts = {"group": group, "topic": topic, "partition": partition}
    assert key == b"\x00\x01" + oracle(definition("OffsetCommitKey", 1), facts)
    assert decode_key(key) == OffsetKey(group, topic, partition)
    assert encode_group_key(group) == b"\x00\x02" + oracle(definition("GroupMetadataKey", 2), {"group": group})
    assert decode_key(encode_group_key(group)) == GroupKey(group)


@pytest.mark.parametrize("data", [b"\x00\x03", b"\x00\x0fwhatever", b"\xff\xff\x00\x01"])
def test_keys_of_other_protocols_are_kept_as_bytes(data: bytes) -> None:
    assert decode_key(data) == UnknownKey(struct.unpack(">h", data[:2])[0], data)


@pytest.mark.parametrize("data", [encode_offset_key("g1", "t", 3), encode_group_key("g1")])
def test_a_known_key_cut_at_any_byte_is_a_decode_error(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            decode_key(data[:length])


@pytest.mark.parametrize(
    "data", [b"\x00\x01\xff\xff", b"\x00\x01\x00\x01g\xff\xff\x00\x00\x00\x01", b"\x00\x02\x00\x01\xff"]
)
def test_a_known_key_with_a_null_or_bad_text_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_key(data)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x05rest", b"\xff\xff"])
def test_a_value_of_an_unknown_version_is_a_decode_error(data: bytes) -> None:
    for decode in (decode_offset_value, decode_group_value):
        with pytest.raises(DecodeError):
            decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_a_decode_error(data: bytes) -> None:
    for decode in (decode_key, decode_offset_value, decode_group_value):
        try:
            decode(data)
        except DecodeError:
            continue

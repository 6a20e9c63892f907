"""Packing raw records gives the same groups as decoding each record and putting it into the store."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coordinator.core.offsets.committed import GroupOffsets
from coordinator.core.offsets.packed_groups import encode_block, read_blocks
from coordinator.core.offsets.packing import PackedGroups, pack
from coordinator.core.offsets.raw_records import RawRecord, committed_offset, offset_key, raw_text
from coordinator.core.offsets.store import OffsetStore
from protocol.messages.offsets_log import OffsetValue
from protocol.offsets_records import encode_group_key, encode_offset_key, encode_offset_value

NAMES = st.sampled_from(["", "g", "group", "grüße", "\N{REPLACEMENT CHARACTER}"])
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.builds(
    OffsetValue,
    offset=NUMBERS,
    leader_epoch=st.integers(-1, 9),
    metadata=st.sampled_from(["", "", "", "meta"]),
    commit_timestamp_ms=NUMBERS,
    expire_timestamp_ms=st.sampled_from([-1, -1, -1, 7]),
).map(encode_offset_value)
OLD_AND_AS_LONG_AS_A_PLAIN_ONE = struct.pack(">hqh4sq", 0, 5, 4, b"meta", 9)
KEYS = st.builds(encode_offset_key, NAMES, NAMES, st.integers(-1, 3))
OFFSETS = st.dictionaries(
    KEYS,
    st.tuples(st.one_of(VALUES, st.just(OLD_AND_AS_LONG_AS_A_PLAIN_ONE)), st.integers(0, 2**63 - 1)),
    max_size=30,
)
GROUPS = st.dictionaries(NAMES, st.tuples(st.binary(max_size=5), st.integers(0, 99)), max_size=3)

PLAIN = encode_offset_value(OffsetValue(offset=5, leader_epoch=1, metadata="", commit_timestamp_ms=9))


def unpacked(packed: PackedGroups, offsets: dict[bytes, RawRecord]) -> OffsetStore:
    store = OffsetStore()
    store.adopt(packed.data, packed.positions, packed.count)
    for key in packed.left:
        store.put(*offset_key(key), committed_offset(*offsets[key]))
    return store


def decoded(offsets: dict[bytes, RawRecord]) -> dict[str, GroupOffsets]:
    found: dict[str, GroupOffsets] = {}
    for key, (value, log_offset) in offsets.items():
        group_id, topic, partition = offset_key(key)
        found.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed_offset(value, log_offset)
    return found


@given(OFFSETS, GROUPS, st.sets(NAMES, max_size=2), st.sampled_from([0, 1, 4, 4096]))
@example({encode_offset_key("g", "t", 0): (OLD_AND_AS_LONG_AS_A_PLAIN_ONE, 1)}, {}, set(), 9)
def test_packed_groups_equal_the_decoded_records(
    offsets: dict[bytes, RawRecord], groups: dict[str, RawRecord], left_unpacked: set[str], at_most: int
) -> None:
    records = {encode_group_key(group_id): record for group_id, record in groups.items()}
    packed = pack(offsets, records, {raw_text(group_id) for group_id in left_unpacked}, at_most)
    wanted = decoded(offsets)
    expected = {
        group_id: topics
        for group_id, topics in wanted.items()
        if group_id not in left_unpacked and sum(map(len, topics.values())) <= at_most
    }
    assert sorted(packed.positions) == sorted(expected)
    assert sorted(packed.names) == sorted(map(raw_text, expected))
    assert {offset_key(key).group for key in packed.left} == wanted.keys() - expected.keys()

    blocks = {block.group_id: block for block in read_blocks(packed.data, 0, len(packed.data))}
    assert {group_id: block.position for group_id, block in blocks.items()} == packed.positions
    for group_id, block in blocks.items():
        value, record_offset = groups.get(group_id, (None, -1))
        again = encode_block(group_id, value, record_offset, expected[group_id])
        assert packed.data[block.position : block.position + block.size] == again

    store = unpacked(packed, offsets)
    assert store.count == len(offsets)
    assert {group_id: store.of_group(group_id) for group_id in store.group_ids()} == wanted


def test_key_with_bytes_after_its_partition_is_not_packed() -> None:
    longer = encode_offset_key("g", "t", 0) + b"more"
    offsets = {
        longer: (PLAIN, 1),
        encode_offset_key("g", "t", 1): (PLAIN, 2),
        encode_offset_key("g", "u", 0): (PLAIN, 3),
    }
    packed = pack(offsets, {}, (), 4096)
    assert packed.left == [longer]
    assert packed.names == [raw_text("g")]
    assert unpacked(packed, offsets).of_group("g") == decoded(offsets)["g"]


@pytest.mark.parametrize("key", [b"\0\1\0\1g", b"\0\1\0\1\xff\0\1t" + bytes(4)], ids=["truncated", "not UTF-8"])
def test_malformed_key_is_left(key: bytes) -> None:
    sound = encode_offset_key("h", "t", 1)
    packed = pack({key: (PLAIN, 1), sound: (PLAIN, 2)}, {}, (), 4096)
    assert (packed.left, packed.names) == ([key], [raw_text("h")])


def test_group_with_a_malformed_value_is_left() -> None:
    keys = [encode_offset_key(group, "t", number) for group in ("g", "h") for number in (0, 1)]
    offsets = {key: (PLAIN, number) for number, key in enumerate(keys)}
    offsets[keys[1]] = (b"\0\3short", 1)
    packed = pack(offsets, {}, (), 4096)
    assert (packed.left, packed.names) == (keys[:2], [raw_text("h")])

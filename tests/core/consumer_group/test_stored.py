"""KIP-848 groups from the newest record of each of their keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer_group.stored import StoredGroup, StoredMember, stored_groups
from protocol.group_records import RecordKind, decode_record_key, decode_record_value, encode_key
from tests.compaction.logs import CONSUMER_KEYS

TOPIC = bytes(15) + b"\1"

# The examples of the specification (another target epoch), as an adopted log has them: group g1, member m1.
EPOCH = (bytes.fromhex("0003 0002 6731"), bytes.fromhex("0000 00000001 01 00 08 0102030405060708"))
OLD_TOPICS = (
    bytes.fromhex("0004 0002 6731"),
    bytes.fromhex("0000 02 00000000000000000000000000000001 02 74 00000002 01 00 00"),
)
MEMBER = (
    bytes.fromhex("0005 0002 6731 0002 6d31"),
    bytes.fromhex("0000 00 00 02 63 0b 2f3132372e302e302e31 02 02 74 00 000493e0 08 756e69666f726d 00"),
)
TARGET_EPOCH = (bytes.fromhex("0006 0002 6731"), bytes.fromhex("0000 00000005 00"))
TARGET = (
    bytes.fromhex("0007 0002 6731 0002 6d31"),
    bytes.fromhex("0000 02 00000000000000000000000000000001 03 00000000 00000001 00 00"),
)
CURRENT = (
    bytes.fromhex("0008 0002 6731 0002 6d31"),
    bytes.fromhex("0000 00000001 00000000 00 02 00000000000000000000000000000001 03 00000000 00000001 00 01 00"),
)
REGEX = (
    bytes.fromhex("0010 0002 6731 0003 612e2a"),
    bytes.fromhex("0000 02 03 6162 000000000000000c 0000018bcfe56800 00"),
)
ALL = (EPOCH, OLD_TOPICS, MEMBER, TARGET_EPOCH, TARGET, CURRENT, REGEX)


def sound(*records: tuple[bytes, bytes]) -> list[StoredGroup]:
    """Return the groups of records at the log offsets 10, 11 and so on."""
    groups, damaged = stored_groups({key: (value, 10 + number) for number, (key, value) in enumerate(records)})
    assert not damaged
    return groups


def test_the_records_of_the_specification_make_one_group() -> None:
    (group,) = sound(*ALL)
    assert (group.group_id, group.epoch, group.metadata_hash) == ("g1", 1, 0x0102030405060708)
    assert (group.has_old_topics, group.assignment_epoch, group.record_offset) == (True, 5, 16)
    member = group.members["m1"]
    assert member.metadata is not None and member.current is not None
    assert (member.metadata.client_id, member.metadata.subscribed_topic_names) == ("c", ["t"])
    assert (member.metadata.rebalance_timeout_ms, member.metadata.server_assignor) == (300_000, "uniform")
    assert (member.current.member_epoch, member.current.previous_member_epoch, member.current.state) == (1, 0, 0)
    assert [(each.topic_id, each.partitions) for each in member.current.assigned_partitions] == [(TOPIC, [0, 1])]
    assert [(each.topic_id, each.partitions) for each in group.targets["m1"].topic_partitions] == [(TOPIC, [0, 1])]
    assert group.regexes["a.*"].topics == ["ab"]


@given(st.permutations(ALL))
def test_the_order_of_the_records_does_not_matter(records: list[tuple[bytes, bytes]]) -> None:
    assert sound(*records) == sound(*ALL)


@pytest.mark.parametrize("record", ALL)
def test_a_record_alone_makes_a_group_with_defaults_for_the_rest(record: tuple[bytes, bytes]) -> None:
    (group,) = sound(record)
    key = decode_record_key(record[0])
    assert key is not None
    value = decode_record_value(key.kind, record[1])
    expected = StoredGroup("g1", record_offset=10)
    match key.kind:
        case RecordKind.CONSUMER_GROUP:
            expected.epoch, expected.metadata_hash = 1, 0x0102030405060708
        case RecordKind.CONSUMER_TOPICS:
            expected.has_old_topics = True
        case RecordKind.CONSUMER_MEMBER:
            expected.members["m1"] = StoredMember(value, None)  # type: ignore[arg-type]
        case RecordKind.CONSUMER_TARGET_EPOCH:
            expected.assignment_epoch = 5
        case RecordKind.CONSUMER_TARGET:
            expected.targets["m1"] = value  # type: ignore[assignment]
        case RecordKind.CONSUMER_CURRENT:
            expected.members["m1"] = StoredMember(None, value)  # type: ignore[arg-type]
        case _:
            expected.regexes["a.*"] = value  # type: ignore[assignment]
    assert group == expected


def test_groups_are_apart_and_each_knows_its_newest_record() -> None:
    groups, _ = stored_groups(
        {
            EPOCH[0]: (EPOCH[1], 9),
            encode_key(RecordKind.CONSUMER_GROUP, "other"): (EPOCH[1], 4),
            TARGET_EPOCH[0]: (TARGET_EPOCH[1], 3),
        }
    )
    assert [(group.group_id, group.record_offset, group.assignment_epoch) for group in groups] == [
        ("g1", 9, 5),
        ("other", 4, StoredGroup("").assignment_epoch),
    ]


@pytest.mark.parametrize("cut", [b"", b"\0", b"\0\1", b"\0\0\0\0\0\1"], ids=["nothing", "a byte", "version 1", "cut"])
def test_a_value_that_cannot_be_decoded_takes_its_group_away_and_no_other(cut: bytes) -> None:
    other = encode_key(RecordKind.CONSUMER_GROUP, "other")
    groups, damaged = stored_groups({EPOCH[0]: (EPOCH[1], 1), TARGET[0]: (cut, 2), other: (EPOCH[1], 3)})
    assert [group.group_id for group in groups] == ["other"]
    assert [(each.key, each.group_id, each.log_offset) for each in damaged] == [(TARGET[0], "g1", 2)]
    assert damaged[0].reason


def test_of_two_keys_of_one_meaning_the_newer_counts() -> None:
    longer = EPOCH[0] + b"of a later version"
    newer = bytes.fromhex("0000 00000007 00")
    for first, second, epoch in ((1, 2, 7), (2, 1, 1)):
        (group,), _ = stored_groups({EPOCH[0]: (EPOCH[1], first), longer: (newer, second)})
        assert (group.epoch, group.record_offset) == (epoch, 2)


@given(st.dictionaries(st.sampled_from(CONSUMER_KEYS), st.tuples(st.binary(max_size=60), st.integers(0, 99))))
def test_any_bytes_are_decoded_or_damaged(consumer: dict[bytes, tuple[bytes, int]]) -> None:
    groups, damaged = stored_groups(consumer)
    names = {"kip", "ä😀"}
    assert {group.group_id for group in groups} <= names - {each.group_id for each in damaged}
    assert {each.key for each in damaged} <= consumer.keys()

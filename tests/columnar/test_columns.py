"""The table has the fields that the plain decoders return, whatever key and value a record has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.columnar.columns import SCHEMA, offsets_table
from coordinator.columnar.kernel import read_batches, read_records, read_segment
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.errors import DecodeError
from protocol.generated.offsets_log import ENCODE_GROUP_VALUE, ENCODE_OFFSET_VALUE
from protocol.messages.offsets_log import GroupValue, MemberValue, OffsetValue
from protocol.offsets_records import (
    GroupKey,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_offset_key,
)
from protocol.record_batch import Record, control_type
from tests.compaction.segments import (
    CONTROL,
    DELETE_HORIZON,
    TRANSACTIONAL,
    BatchOf,
    RecordOf,
    plainly_read,
    segment_of,
)
from tests.conformance.exchange import KEPT_LOG

HERE = Path("00000000000000000000.log")
OF_A_KIND = tuple(SCHEMA.names[SCHEMA.get_field_index("kind") :])


def table_of(data: bytes, **options: bool) -> pa.Table:
    batches, _ = read_batches(data, path=HERE)
    return offsets_table(batches, read_records(data, batches, path=HERE), log_partition=7, **options)


def plain_row(record: Record, is_control: bool) -> dict[str, Any]:
    """Return the expected row by the plain decoders, without columns that are null."""
    facts: dict[str, Any] = {"tombstone": record.value is None and not is_control}
    if is_control:
        return facts | {"kind": "marker", "marker": control_type(record).name.lower()}
    raw = {"key": record.key, "value": record.value}
    if record.key is None:
        return facts | {"kind": "record"} | raw
    try:
        key = decode_key(record.key)
    except DecodeError as error:
        return facts | {"kind": "undecodable", "problem": str(error)} | raw
    try:
        if isinstance(key, OffsetKey):
            facts |= {"kind": "offset"} | key._asdict()
            return facts if record.value is None else facts | of_offset(decode_offset_value(record.value))
        if isinstance(key, GroupKey):
            facts |= {"kind": "group"} | key._asdict()
            return facts if record.value is None else facts | of_group(decode_group_value(record.value))
    except DecodeError as error:
        return facts | {"kind": "undecodable", "problem": str(error)} | raw
    return facts | {"kind": "unknown"} | raw


def of_offset(value: OffsetValue) -> dict[str, Any]:
    return {
        "committed_offset": value.offset,
        "leader_epoch": value.leader_epoch if value.leader_epoch >= 0 else None,
        "metadata": value.metadata,
        "committed_ms": value.commit_timestamp_ms,
        "expires_ms": value.expire_timestamp_ms if value.expire_timestamp_ms >= 0 else None,
    }


def of_group(value: GroupValue) -> dict[str, Any]:
    return {
        "generation": value.generation,
        "protocol_type": value.protocol_type,
        "protocol": value.protocol,
        "leader": value.leader,
        "since_ms": value.current_state_timestamp_ms if value.current_state_timestamp_ms >= 0 else None,
        "members": len(value.members),
    }


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    rows = []
    for row in table.select(OF_A_KIND).to_pylist():
        if row["members"] is not None:
            row["members"] = len(row["members"])
        rows.append({name: value for name, value in row.items() if value is not None})
    return rows


def expected_rows(data: bytes) -> list[dict[str, Any]]:
    rows = [plain_row(record, header.is_control) for header, records in plainly_read(data) for record in records]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


_times = st.sampled_from((-1, 0, 1_700_000_000_000)) | st.integers(-(2**63), 2**63 - 1)
_names = st.sampled_from(("", "orders", "ä😀")) | st.text(max_size=5)
_offset_values = st.builds(
    OffsetValue,
    offset=st.integers(-(2**63), 2**63 - 1),
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=_names,
    commit_timestamp_ms=_times,
    expire_timestamp_ms=_times,
)
_members = st.builds(
    MemberValue,
    member_id=_names,
    group_instance_id=st.none() | _names,
    client_id=_names,
    client_host=_names,
    rebalance_timeout_ms=st.integers(-1, 10**6),
    session_timeout_ms=st.integers(0, 10**6),
    subscription=st.binary(max_size=9),
    assignment=st.binary(max_size=9),
)
_group_values = st.builds(
    GroupValue,
    protocol_type=st.sampled_from(("consumer", "connect", "")),
    generation=st.integers(-1, 2**31 - 1),
    protocol=st.none() | _names,
    leader=st.none() | _names,
    current_state_timestamp_ms=_times,
    members=st.lists(_members, max_size=2),
)
_versions = st.integers(0, 4)
_sound_offsets = st.tuples(
    st.builds(encode_offset_key, _names, _names, st.integers(-(2**31), 2**31 - 1)),
    st.none() | st.builds(lambda version, value: ENCODE_OFFSET_VALUE[version](value), _versions, _offset_values),
)
_old_offsets = _sound_offsets.map(lambda pair: (b"\0\0" + pair[0][2:], pair[1]))
_sound_groups = st.tuples(
    st.builds(encode_group_key, _names),
    st.none() | st.builds(lambda version, value: ENCODE_GROUP_VALUE[version](value), _versions, _group_values),
)
_anything = st.binary(max_size=30) | st.binary(max_size=6).map(lambda tail: b"\0\1\0\2" + tail)
_sound = _sound_offsets | _sound_offsets | _sound_offsets | _sound_groups | _old_offsets
_unsound = st.tuples(st.none() | _anything, st.none() | _anything)


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[bytes | None, bytes | None]:
    """Records with a key or value that is cut short, made longer, or has a byte changed."""
    pair = []
    for part in draw(_sound):
        if part and draw(st.booleans()):
            at = draw(st.integers(0, len(part) - 1))
            part = draw(st.sampled_from((part[:at], part + b"\0" * at, part[:at] + b"\xff" + part[at + 1 :])))
        pair.append(part)
    return pair[0], pair[1]


_pairs = _sound | _sound | _damaged() | _unsound


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs=st.lists(_pairs, max_size=12), others=st.lists(_pairs, max_size=3))
def test_every_record_is_decoded_as_by_the_plain_decoders(
    pairs: list[tuple[bytes | None, bytes | None]], others: list[tuple[bytes | None, bytes | None]]
) -> None:
    marker = BatchOf([RecordOf(b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=TRANSACTIONAL | CONTROL, producer=(1, 0, -1))
    data = segment_of([BatchOf([RecordOf(*pair) for pair in pairs]), marker, BatchOf([RecordOf(*p) for p in others])])
    assert without_names(rows_of(table_of(data.data))) == without_names(expected_rows(data.data))


def broken_in_every_way(data: bytes) -> list[bytes]:
    """Return the bytes cut at each position, one byte longer, and with each byte changed to extreme values."""
    cut = [data[:at] for at in range(len(data))]
    changed = [
        data[:at] + new + data[at + 1 :] for at in range(len(data)) for new in (b"\0", b"\x01", b"\x7f", b"\xff")
    ]
    null = [data[:at] + b"\xff\xff" + data[at + 2 :] for at in range(len(data) - 1)]
    return [data, *cut, *changed, *null, data + b"\0"]


@pytest.mark.parametrize("version", range(5))
def test_broken_keys_and_values_are_decoded_as_by_the_plain_decoders(version: int) -> None:
    offset_key, group_key = encode_offset_key("grp", "top", 5), encode_group_key("grp")
    offset = ENCODE_OFFSET_VALUE[version](OffsetValue(7, 3, "note", 5, 6))
    bare = ENCODE_OFFSET_VALUE[version](OffsetValue(7, 3, "", 5, 6))
    member = MemberValue("m", "i", "c", "h", 1, 2, b"\0\0\0\0\0\0", b"")
    group = ENCODE_GROUP_VALUE[version](GroupValue("consumer", 1, "range", "m", 5, [member]))
    records = [
        *(RecordOf(offset_key, value) for value in broken_in_every_way(offset)),
        *(RecordOf(offset_key, value) for value in broken_in_every_way(bare)),
        *(RecordOf(group_key, value) for value in broken_in_every_way(group)),
        *(RecordOf(key, offset) for key in broken_in_every_way(offset_key)),
        *(RecordOf(key, None) for key in broken_in_every_way(bytes((0, version)) + group_key[2:])),
    ]
    data = segment_of([BatchOf(records)]).data
    assert without_names(rows_of(table_of(data))) == without_names(expected_rows(data))


def without_names(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove the fields that the table has of an undecodable record, which the plain decoders do not return."""
    names = ("group", "topic", "partition")
    return [
        {name: value for name, value in row.items() if row["kind"] != "undecodable" or name not in names}
        for row in rows
    ]


def test_facts_of_the_batch_stand_beside_each_record() -> None:
    records = [RecordOf(encode_offset_key("g", "t", 1), None, delay_ms=5)] * 2
    data = segment_of(
        [
            BatchOf(records, attributes=TRANSACTIONAL, producer=(8, 2, 30), leader_epoch=9),
            BatchOf(records, attributes=DELETE_HORIZON, base_timestamp=99),
        ],
        base_offset=40,
    ).data
    rows = table_of(data).to_pylist()
    before_kind = SCHEMA.names[: SCHEMA.get_field_index("kind")]
    assert [[row[name] for name in before_kind] for row in rows] == [
        [7, 40, 1_700_000_000_005, 40, 9, 8, 2, 30, True, None],
        [7, 41, 1_700_000_000_005, 40, 9, 8, 2, 30, True, None],
        [7, 42, 104, 42, 3, -1, -1, -1, False, 99],
        [7, 43, 104, 42, 3, -1, -1, -1, False, 99],
    ]


def test_members_have_their_topics_and_their_partitions() -> None:
    value = GroupValue(
        protocol_type="consumer", generation=3, protocol="range", leader="a", current_state_timestamp_ms=5
    )
    assigned = Assignment([TopicPartitions("t", [0, 2]), TopicPartitions("u", [1])])
    value.members = [
        MemberValue("a", "i", "app", "/10.0.0.1", 60_000, 45_000, encode_subscription(Subscription(["t", "u"])),
                    encode_assignment(assigned)),
        MemberValue("b", None, "app", "/10.0.0.2", -1, 45_000, b"\0", b""),
        MemberValue("c", None, "app", "/10.0.0.3", -1, 45_000, b"", b"no assignment"),
    ]  # fmt: skip
    data = segment_of([BatchOf([RecordOf(encode_group_key("g"), ENCODE_GROUP_VALUE[3](value))])]).data
    first, second, third = table_of(data)["members"].to_pylist()[0]
    assert first == {
        "member_id": "a",
        "group_instance_id": "i",
        "client_id": "app",
        "client_host": "/10.0.0.1",
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 60_000,
        "topics": ["t", "u"],
        "assignment": [{"topic": "t", "partitions": [0, 2]}, {"topic": "u", "partitions": [1]}],
    }
    assert (second["rebalance_timeout_ms"], second["topics"], second["assignment"]) == (None, None, [])
    assert third["assignment"] is None


def test_assignments_of_another_protocol_are_null() -> None:
    member = MemberValue(
        member_id="a",
        group_instance_id=None,
        client_id="w",
        client_host="/h",
        rebalance_timeout_ms=1,
        session_timeout_ms=1,
        subscription=encode_subscription(Subscription(["t"])),
        assignment=encode_assignment(Assignment()),
    )
    value = GroupValue(protocol_type="connect", generation=1, protocol="x", leader="a", members=[member])
    data = segment_of([BatchOf([RecordOf(encode_group_key("g"), ENCODE_GROUP_VALUE[2](value))])]).data
    (found,) = table_of(data)["members"].to_pylist()[0]
    assert (found["topics"], found["assignment"]) == (None, None)


def test_records_of_another_topic_are_kept_as_they_are() -> None:
    data = segment_of([BatchOf([RecordOf(encode_group_key("g"), b"v"), RecordOf(None, None)])]).data
    rows = rows_of(table_of(data, is_offsets_log=False))
    assert rows == [
        {"kind": "record", "tombstone": False, "key": encode_group_key("g"), "value": b"v"},
        {"kind": "record", "tombstone": True},
    ]


def test_no_records_make_an_empty_table_of_the_same_schema() -> None:
    assert table_of(b"").schema == SCHEMA == table_of(segment_of([BatchOf([])]).data).schema
    assert table_of(b"").num_rows == 0


@pytest.mark.parametrize("path", sorted(KEPT_LOG.glob("*/*.log")), ids=lambda path: path.name)
def test_a_log_that_kafka_wrote_is_decoded_as_by_the_plain_decoders(path: Path) -> None:
    batches, records, _ = read_segment(path)
    assert rows_of(offsets_table(batches, records, log_partition=0)) == expected_rows(path.read_bytes())

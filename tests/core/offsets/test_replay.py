"""Recovery: groups and offsets from a log that Kafka or this coordinator has written."""

from __future__ import annotations

import struct

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from protocol.offsets_records import (
    GroupValue,
    MemberValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import build_batch
from tests.support.cluster import Cluster, subscription

T0 = ("t", 0)
Records = list[tuple[bytes, bytes | None]]


def load(cluster: Cluster, *records: tuple[bytes, bytes | None]) -> None:
    """Load a coordinator from a log with these records, one batch each."""
    log = cluster.log.partitions[cluster.core.partition_for("g")]
    for record in records:
        log.durable.append(bytes(build_batch([record], base_offset=log.next_offset, timestamp_ms=1)))
        log.next_offset = log.high_watermark = log.next_offset + 1
    cluster.load()


def offset_record(offset: int, version: int = 1) -> tuple[bytes, bytes]:
    key = encode_offset_key("g", "t", 0)
    return struct.pack(">h", version) + key[2:], encode_offset_value(OffsetValue(offset, -1, "", 1, -1))


def group_record(
    *members: MemberValue, leader: str | None = None, generation: int = 3, timestamp_ms: int = 5
) -> tuple[bytes, bytes]:
    value = GroupValue(
        protocol_type="consumer",
        generation=generation,
        protocol="range" if members else None,
        leader=leader,
        current_state_timestamp_ms=timestamp_ms,
        members=list(members),
    )
    return encode_group_key("g"), encode_group_value(value)


def member(name: str, *, rebalance_timeout_ms: int = 60_000) -> MemberValue:
    return MemberValue(
        member_id=name,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=10_000,
        subscription=subscription("t"),
        assignment=b"for " + name.encode(),
    )


@pytest.fixture
def unloaded() -> Cluster:
    return Cluster(loaded=False)


def test_group_with_members_is_stable_and_its_members_continue(unloaded: Cluster) -> None:
    load(unloaded, group_record(member("a"), member("b"), leader="b"))
    group = unloaded.group()
    assert (group.state.value, group.generation, group.leader_id) == ("Stable", 3, "b")
    assert (group.protocol_type, group.protocol_name, group.state_timestamp_ms) == ("consumer", "range", 5)
    assert group.subscribed_topics == {"t"}
    assert unloaded.heartbeat("g", "a", 3).error is ErrorCode.NONE
    assert unloaded.sync("g", "a", 3).answer.assignment == b"for a"
    described = unloaded.describe("g").members[0]
    assert (described.client_id, described.client_host, described.member_assignment) == ("c", "/h", b"for a")


@pytest.mark.parametrize("leader", [None, "unknown"])
def test_first_member_leads_if_the_leader_is_unknown(unloaded: Cluster, leader: str | None) -> None:
    load(unloaded, group_record(member("a"), member("b"), leader=leader))
    assert unloaded.group().leader_id == "a"


def test_missing_rebalance_timeout_is_the_session_timeout(unloaded: Cluster) -> None:
    load(unloaded, group_record(member("a", rebalance_timeout_ms=-1)))
    assert unloaded.group().members["a"].rebalance_timeout_ms == 10_000


def test_member_that_joins_with_two_protocols_counts_as_changed(unloaded: Cluster) -> None:
    load(unloaded, group_record(member("a"), member("b"), leader="a"))
    one, two = ("range", subscription("t")), ("roundrobin", b"")
    assert unloaded.join(member_id="b", protocols=[one]).error is ErrorCode.NONE
    assert unloaded.join(member_id="b", protocols=[one, two]).is_parked


def test_newest_record_of_a_group_wins_and_offsets_are_kept(unloaded: Cluster) -> None:
    load(unloaded, offset_record(7), group_record(member("a")), group_record(generation=4))
    assert (unloaded.state(), unloaded.group().generation) == ("Empty", 4)
    assert unloaded.committed("g") == {T0: 7}


def test_tombstone_removes_a_group(unloaded: Cluster) -> None:
    load(unloaded, group_record(member("a")), (encode_group_key("g"), None))
    assert unloaded.state() == "none"


def test_offset_without_a_group_record_creates_a_simple_group(unloaded: Cluster) -> None:
    load(unloaded, offset_record(7))
    group = unloaded.group()
    assert (group.state.value, group.protocol_type, group.generation, group.is_simple) == ("Empty", None, 0, True)
    assert list(unloaded.list_groups()) == ["g"]


def test_group_without_offsets_exists_until_its_own_tombstone(unloaded: Cluster) -> None:
    load(unloaded, offset_record(7), (encode_offset_key("g", "t", 0), None))
    assert unloaded.state() == "Empty"
    assert unloaded.committed("g") == {}


def test_keys_of_version_0_and_1_are_the_same_offset(unloaded: Cluster) -> None:
    load(unloaded, offset_record(1, version=1), offset_record(2, version=0))
    assert unloaded.committed("g") == {T0: 2}
    other = Cluster(loaded=False)
    load(other, offset_record(1, version=0), (encode_offset_key("g", "t", 0), None))
    assert other.committed("g") == {}


def test_records_of_unknown_kinds_are_counted_and_skipped(unloaded: Cluster) -> None:
    load(unloaded, (b"\0\x09anything", b"\0\0"), (b"\0\x0f", None), offset_record(7))
    assert unloaded.committed("g") == {T0: 7}
    assert unloaded.core.unknown_records == 2


def test_appends_continue_at_the_end_of_the_log(unloaded: Cluster) -> None:
    load(unloaded, offset_record(1), offset_record(2))
    unloaded.commit("g", {T0: 3})  # the log checks the offsets
    unloaded.crash_and_recover()
    assert unloaded.committed("g") == {T0: 3}


def test_group_of_the_maximum_size_stays_stable() -> None:
    cluster = Cluster(Config(group_max_size=2), loaded=False)
    load(cluster, group_record(member("a"), member("b")))
    assert cluster.state() == "Stable"


def test_pending_member_id_is_unknown_after_a_crash(cluster: Cluster) -> None:
    member_id = cluster.join().answer.member_id
    cluster.crash_and_recover()
    assert cluster.join(member_id=member_id).error is ErrorCode.UNKNOWN_MEMBER_ID

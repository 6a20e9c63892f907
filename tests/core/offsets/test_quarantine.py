"""A record that cannot be used quarantines its group: the others of its partition are served, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.committed_rows import committed_rows
from coordinator.core.offsets.replay import Replay
from protocol.error_codes import ErrorCode
from protocol.offsets_records import GroupValue, MemberValue, encode_group_key, encode_group_value, encode_offset_key
from protocol.record_batch import ControlType, build_batch, build_control_batch
from tests.core.offsets.test_replay import T0, load, offset_record
from tests.support.cluster import Cluster

ERROR = ErrorCode.UNKNOWN_SERVER_ERROR
BAD_VALUE = (encode_offset_key("g", "t", 0), b"\0\3short")
OTHER = "other"


def twice_the_same_member() -> bytes:
    member = MemberValue(
        member_id="a", client_id="c", client_host="/h", rebalance_timeout_ms=1, session_timeout_ms=10_000,
        subscription=b"", assignment=b"",
    )  # fmt: skip
    value = GroupValue(protocol_type="consumer", generation=1, protocol="range", leader="a",
                       current_state_timestamp_ms=1, members=[member, member])  # fmt: skip
    return encode_group_value(value)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(partitions=1)
    cluster.commit(OTHER, {T0: 5})
    cluster.commit("g", {("t", 1): 6})
    cluster.crash()
    return cluster


def refused(cluster: Cluster) -> None:
    """Every request of the group gets the one error, and nothing about its offsets."""
    assert cluster.join().error is ERROR
    assert cluster.heartbeat("g", "x", 1).error is ERROR
    assert cluster.sync("g", "x", 1).error is ERROR
    assert cluster.leave("g", "x").error is ERROR
    assert cluster.commit("g", {T0: 9}).errors == {T0: ERROR}
    assert cluster.txn_commit("g", {T0: 9}).errors == {T0: ERROR}
    assert cluster.delete_offsets("g", T0).error is ERROR
    for asked in ([T0, ("t", 1)], None):
        (fetched,) = cluster.fetch("g", asked).answer.groups
        assert fetched.error_code == ERROR
        told = [each.error_code for topic in fetched.topics for each in topic.partitions]
        assert told == [ERROR] * len(asked or ()), "aiokafka reads the errors of partitions only"
    (old,) = cluster.fetch("g", [T0], version=1).answer.topics
    assert [each.error_code for each in old.partitions] == [ERROR]
    described = cluster.describe("g")
    assert described.error_code == ERROR
    assert "coordinator log repair" in (described.error_message or "")


def others_are_served(cluster: Cluster) -> None:
    assert cluster.core.partitions_by_state["active"] == 1
    assert cluster.committed(OTHER) == {T0: 5}
    assert cluster.join(OTHER).error is ErrorCode.MEMBER_ID_REQUIRED
    assert cluster.commit(OTHER, {("t", 3): 7}).errors == {("t", 3): ErrorCode.NONE}


@pytest.mark.parametrize(
    "record",
    [
        (b"\0\1\0\1g\0\1t", b""),
        BAD_VALUE,
        (encode_offset_key("g", "t", 0), b"\0\x09" + bytes(40)),
        (encode_group_key("g"), b"\0\3"),
        (encode_group_key("g"), b""),
        (encode_group_key("g"), twice_the_same_member()),
    ],
    ids=["cut key", "cut value", "unknown version", "cut group", "no value", "a member twice"],
)
def test_a_record_that_cannot_be_used_quarantines_its_group_alone(
    cluster: Cluster, record: tuple[bytes, bytes]
) -> None:
    load(cluster, record)
    refused(cluster)
    others_are_served(cluster)
    assert (cluster.core.quarantined_groups, cluster.core.quarantined_records) == (1, 1)
    assert cluster.core.unknown_records == 0
    assert cluster.list_groups()["g"].group_state == "Quarantined"
    assert list(cluster.list_groups(states=["quarantined"])) == ["g"]
    assert list(cluster.list_groups(states=["Empty"])) == [OTHER]


@pytest.mark.parametrize(
    "record",
    [
        (b"\0", b"v"),
        (b"", b"v"),
        (b"\0\2\xff\xff", b"v"),
        (b"\0\1\0\2\xff\xff\0\1t\0\0\0\0", b"v"),
        (b"\0\1\0\x09g", b"v"),
    ],
    ids=["half a key", "empty key", "no group name", "name no UTF-8", "cut name"],
)
def test_a_record_whose_key_names_no_group_is_set_aside_alone(cluster: Cluster, record: tuple[bytes, bytes]) -> None:
    load(cluster, record)
    others_are_served(cluster)
    assert cluster.committed("g") == {("t", 1): 6}
    assert (cluster.core.quarantined_groups, cluster.core.quarantined_records) == (0, 1)


def test_a_tombstone_that_names_no_group_is_no_fault(cluster: Cluster) -> None:
    load(cluster, (b"\0\2\xff\xff", None), (b"", None), (b"\0\1\0\x09g", None))
    others_are_served(cluster)
    assert cluster.core.quarantined_records == 0


@pytest.mark.parametrize(
    "record", [offset_record(8), (encode_offset_key("g", "t", 0), None)], ids=["value", "tombstone"]
)
def test_a_newer_sound_record_of_the_key_ends_the_quarantine(
    cluster: Cluster, record: tuple[bytes, bytes | None]
) -> None:
    load(cluster, BAD_VALUE, record)
    others_are_served(cluster)
    expected = {("t", 1): 6} | ({T0: 8} if record[1] else {})
    assert cluster.committed("g") == expected


def test_an_administrator_deletes_a_quarantined_group_for_good(cluster: Cluster) -> None:
    load(cluster, BAD_VALUE, (encode_group_key("g"), b"\0\3"))
    (result,) = cluster.delete_groups("g").answer.results
    assert result.error_code == ErrorCode.NONE
    assert (cluster.core.quarantined_groups, cluster.core.quarantined_records) == (0, 0)
    assert cluster.committed("g") == {}
    cluster.commit("g", {T0: 1})
    cluster.crash_and_recover()
    assert cluster.committed("g") == {T0: 1}
    others_are_served(cluster)


def test_a_failed_deletion_leaves_the_group_in_quarantine(cluster: Cluster) -> None:
    load(cluster, BAD_VALUE)
    with cluster.log_held():
        call = cluster.delete_groups("g")
        cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
    (result,) = call.answer.results
    assert result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    refused(cluster)
    cluster.crash_and_recover()
    refused(cluster)


def test_a_quarantined_group_whose_tombstones_do_not_fit_in_one_append_can_be_deleted() -> None:
    cluster = Cluster(Config(message_max_bytes=4096), partitions=1)
    cluster.commit(OTHER, {T0: 5})
    for first in range(0, 200, 50):
        cluster.commit("g", {("t", partition): 6 for partition in range(first, first + 50)})
    cluster.crash()
    load(cluster, BAD_VALUE)
    with cluster.log_held():
        call = cluster.delete_groups("g")
        cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert [result.error_code for result in call.answer.results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    refused(cluster)
    (result,) = cluster.delete_groups("g").answer.results
    assert result.error_code == ErrorCode.NONE
    assert cluster.core.quarantined_groups == 0
    cluster.crash_and_recover()
    assert cluster.committed("g") == {}
    others_are_served(cluster)


def test_compaction_finds_the_records_of_a_quarantined_group_in_memory(cluster: Cluster) -> None:
    load(cluster, BAD_VALUE, (encode_group_key("g"), b"\0\3"), (b"\0\2\xff\xff", b"v"))
    rows = [row for some in committed_rows(cluster.core.partition(0), 1 << 40) for row in some]
    assert (BAD_VALUE[0], 2) in rows
    assert ("g", 3) in rows
    assert (b"\0\2\xff\xff", 4) in rows
    assert ("g", "t", 1) in [row[:3] for row in rows]


def test_a_damaged_offset_of_an_open_transaction_quarantines_its_group_until_it_is_aborted() -> None:
    def batch(offset: int, **settings: Any) -> bytes:
        return bytes(build_batch([BAD_VALUE], base_offset=offset, timestamp_ms=1, producer_id=7, producer_epoch=0,
                                 is_transactional=True, **settings))  # fmt: skip

    cluster = Cluster(partitions=1, loaded=False)
    log = cluster.log.partitions[0]
    log.durable.append(batch(0))
    log.next_offset = log.high_watermark = 1
    cluster.load()
    refused(cluster)
    cluster.end_transaction("g", commit=True)
    assert "g" not in cluster.core.groups
    refused(cluster)
    cluster.crash_and_recover()
    refused(cluster)
    log = cluster.log.partitions[0]
    log.durable[1] = bytes(
        build_control_batch(ControlType.ABORT, base_offset=1, timestamp_ms=1, producer_id=7, producer_epoch=0)
    )
    cluster.crash_and_recover()
    assert cluster.committed("g") == {}


def test_a_record_without_a_key_is_counted_and_skipped() -> None:
    replay = Replay()
    replay.add_record(None, b"v", 0)
    replay.settle()
    assert (replay.unknown, replay.damaged) == (1, {})

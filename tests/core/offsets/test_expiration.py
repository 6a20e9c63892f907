"""Retention: which offsets and groups expire when, and that a scan never delays other events for long."""

from __future__ import annotations

import sys

import pytest

from coordinator.config.config import Config
from coordinator.core.offsets import scan
from protocol.error_codes import ErrorCode
from protocol.offsets_records import OffsetValue
from tests.support.cluster import Cluster, subscription

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
DAY = 24 * 3_600_000


@pytest.fixture
def cluster() -> Cluster:
    """A cluster with a retention of one day and a scan every hour."""
    return Cluster(Config(offsets_retention_minutes=24 * 60, offsets_retention_check_interval_ms=3_600_000))


def test_offset_of_a_simple_group_expires_a_retention_time_after_its_commit(cluster: Cluster) -> None:
    cluster.advance("30m")
    cluster.commit("g", {T0: 1})
    cluster.advance("24h")
    assert cluster.committed("g") == {T0: 1}
    cluster.advance("30m")
    assert cluster.committed("g") == {}
    assert cluster.state() == "none"
    assert cluster.core.metrics.offset_expirations == 1


def test_offsets_of_an_empty_group_expire_a_retention_time_after_it_became_empty(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, session_timeout="30m")
    a.commit({T0: 1})
    cluster.advance("40h", heartbeating=[a], every="20m")
    a.leave()
    cluster.advance("23h")
    cluster.commit("g", {T1: 2})  # by an administrator; it expires with the rest
    cluster.advance("2h")
    assert cluster.state() == "none"


def test_offsets_of_a_live_group_stay_while_it_subscribes_to_their_topic(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, session_timeout="30m", protocols=[("range", subscription("t"))])
    a.commit({T0: 1, U0: 2})
    cluster.advance("26h", heartbeating=[a], every="20m")
    assert cluster.committed("g") == {T0: 1}
    assert cluster.state() == "Stable"


@pytest.mark.parametrize(
    ("protocol_type", "metadata"),
    [("connect", subscription("t")), ("consumer", b"\0"), ("consumer", b"")],
    ids=["not consumers", "malformed subscription", "empty subscription"],
)
def test_no_offset_expires_if_subscriptions_are_unknown(cluster: Cluster, protocol_type: str, metadata: bytes) -> None:
    (a,) = cluster.stable_group(
        members=1, session_timeout="30m", protocol_type=protocol_type, protocols=[("range", metadata)]
    )
    a.commit({T0: 1, U0: 2})
    cluster.advance("26h", heartbeating=[a], every="20m")
    assert cluster.committed("g") == {T0: 1, U0: 2}


def test_no_offset_expires_while_the_group_rebalances(cluster: Cluster) -> None:
    a, b = cluster.stable_group(
        session_timeout="30m", rebalance_timeout=2**31 - 1, protocols=[("range", subscription("t"))]
    )
    a.commit({U0: 2})
    a.join()
    cluster.advance("26h", heartbeating=[b], every="20m")
    assert cluster.state() == "PreparingRebalance"
    assert cluster.committed("g") == {U0: 2}


def test_pending_offset_keeps_its_partition_and_its_group(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1, T1: 1})
    cluster.txn_commit("g", {T0: 2})
    cluster.txn_commit("only-pending", {T0: 2})
    cluster.advance("26h")
    assert cluster.committed("g") == {T0: 1}
    assert cluster.state("only-pending") == "Empty"


def test_retention_requested_by_the_client_starts_at_the_commit(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1}, retention_ms=7_200_000, version=4)
    value = cluster.written("g")[0].value
    assert isinstance(value, OffsetValue)
    assert (value.expire_timestamp_ms, value.leader_epoch) == (cluster.clock.wall_ms + 7_200_000, -1)
    cluster.advance("119m")
    assert cluster.committed("g") == {T0: 1}
    cluster.crash_and_recover()
    cluster.advance("1h")
    assert cluster.committed("g") == {}


def test_longer_requested_retention_keeps_an_offset_longer(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1}, retention_ms=2 * DAY, version=4)
    cluster.advance("47h")
    assert cluster.committed("g") == {T0: 1}
    cluster.advance("2h")
    assert cluster.committed("g") == {}


def test_empty_group_without_offsets_is_deleted_by_the_next_scan(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert cluster.state() == "Empty"
    cluster.advance("1h")
    assert cluster.state() == "none"


def test_group_with_a_pending_member_id_is_not_deleted(cluster: Cluster) -> None:
    cluster.advance(3_600_000 - 5_000)
    member_id = cluster.join().answer.member_id
    cluster.advance("6s")
    assert cluster.join(member_id=member_id).is_parked


def test_offsets_whose_tombstones_fail_stay_until_the_next_scan(
    cluster: Cluster,
) -> None:
    cluster.commit("g", {T0: 1})
    cluster.failing_with = ErrorCode.KAFKA_STORAGE_ERROR
    cluster.advance("25h")
    assert cluster.committed("g") == {T0: 1}
    assert cluster.state() == "Empty"
    cluster.failing_with = None
    cluster.advance("1h")
    assert cluster.state() == "none"
    cluster.crash_and_recover()
    assert cluster.state() == "none"


def test_restart_does_not_change_since_when_a_group_is_empty(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.commit({T0: 1})
    a.leave()
    cluster.advance("20h")
    cluster.crash_and_recover()
    cluster.advance("3h")
    assert cluster.state() == "Empty"
    cluster.advance("2h")
    assert cluster.state() == "none"


def begin_long_scan(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the offsets of 95 groups expire at once, and begin a scan that takes many steps."""
    monkeypatch.setattr(scan, "OFFSETS_PER_STEP", 20)
    for number in range(95):
        cluster.commit(f"group-{number}", {T0: 1})
    cluster.advance(DAY - 1)
    cluster.holds_work = True
    cluster.clock.now_ms += 1
    cluster.tick()


def test_one_step_scans_a_bounded_number_of_groups(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_long_scan(cluster, monkeypatch)
    assert len(cluster.core.groups) == 95
    sizes = []
    while cluster.core.has_work:
        before = len(cluster.core.groups)
        cluster.step()
        cluster.flush()
        sizes.append(before - len(cluster.core.groups))
    assert sum(sizes) == 95
    assert max(sizes) <= 10, "a group and its offset count as two"


def test_scan_keeps_no_id_of_a_group_that_it_has_deleted(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids of 100,000 groups hold memory pages of all else that is deleted, and free them in one step at the end."""
    begin_long_scan(cluster, monkeypatch)
    ids = list(cluster.core.groups)
    while len(cluster.core.groups) > 20:
        cluster.step()
        cluster.flush()
    deleted = [place for place in range(len(ids)) if ids[place] not in cluster.core.groups]
    assert len(deleted) >= 75
    first = deleted[:50]  # of the newest, the last steps know something
    counts = [sys.getrefcount(ids[place]) for place in first]
    while cluster.core.has_work:
        cluster.step()
        cluster.flush()
    assert counts == [sys.getrefcount(ids[place]) for place in first], "the scan referred to none of them any more"


@pytest.mark.parametrize("when", range(1, 8))
def test_offsets_committed_during_a_long_scan_stay(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    """New commits stay, and so does the group, before or after any of its steps."""
    monkeypatch.setattr(scan, "OFFSETS_PER_STEP", 10)
    cluster.commit("g", {("t", number): 1 for number in range(35)})
    cluster.advance(DAY - 1)
    cluster.holds_work = True
    cluster.clock.now_ms += 1
    cluster.tick()
    for _ in range(when):
        if cluster.core.has_work:
            cluster.step()
    for partition in (3, 17, 34):
        cluster.commit("g", {("t", partition): 2})
    cluster.holds_work = False
    cluster.advance("2m")
    expected = {("t", partition): 2 for partition in (3, 17, 34)}
    if when < 7:
        assert {key: offset for key, offset in cluster.committed("g").items() if offset == 2} == expected
    cluster.advance("1h")
    assert {key: offset for key, offset in cluster.committed("g").items() if offset == 2} == expected
    cluster.crash_and_recover()
    assert {key: offset for key, offset in cluster.committed("g").items() if offset == 2} == expected


def test_long_scan_ends_when_a_commit_is_in_flight(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "OFFSETS_PER_STEP", 10)
    cluster.commit("g", {("t", number): 1 for number in range(35)})
    cluster.advance(DAY - 1)
    cluster.holds_work = True
    cluster.clock.now_ms += 1
    cluster.tick()
    cluster.step()
    with cluster.log_held():
        cluster.step()
        cluster.commit("g", {("t", 30): 2})
        in_flight = cluster.core.appends_in_flight
        while cluster.core.has_work:
            cluster.step()
        assert cluster.core.appends_in_flight == in_flight, "the scan of the group ends; the next scan continues"
    assert cluster.committed("g")["t", 30] == 2


def test_very_many_expired_offsets_of_one_group_take_several_appends(cluster: Cluster) -> None:
    cluster.commit("g", {("t", number): 1 for number in range(2_500)})
    cluster.advance("25h")
    assert cluster.state() == "none"
    partition = cluster.core.partition_for("g")
    sizes = [len(records) for _, records in cluster.log.records(partition)]
    assert sizes == [2_500, *[scan.OFFSETS_PER_STEP] * 5, 1]
    cluster.crash_and_recover()
    assert cluster.state() == "none"
    assert cluster.core.offset_count == 0


def test_tombstones_with_a_long_group_id_stay_below_message_max_bytes() -> None:
    cluster = Cluster(
        Config(
            offsets_retention_minutes=24 * 60, offsets_retention_check_interval_ms=3_600_000, message_max_bytes=3_000
        )
    )
    group_id = "g" * 1_000
    for number in range(20):
        cluster.commit(group_id, {("t", number): 1})
    cluster.advance("25h")
    assert cluster.state(group_id) == "none"
    cluster.crash_and_recover()
    assert cluster.core.offset_count == 0

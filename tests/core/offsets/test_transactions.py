"""Offsets committed in a transaction are pending until its end marker, live and after a restart."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster

T0, T1 = ("t", 0), ("t", 1)
NONE = ErrorCode.NONE


@pytest.fixture(params=["live", "recovered"])
def recover(request: pytest.FixtureRequest) -> bool:
    """True if the process crashes and recovers before the offsets are fetched."""
    return bool(request.param == "recovered")


def committed_offsets(cluster: Cluster, recover: bool) -> dict[tuple[str, int], int]:
    if recover:
        cluster.crash_and_recover()
    return cluster.committed("g")


def test_aborted_transaction_leaves_no_offsets(cluster: Cluster, recover: bool) -> None:
    cluster.commit("g", {T0: 1})
    cluster.txn_commit("g", {T0: 2, T1: 3})
    cluster.end_transaction("g", commit=False)
    assert committed_offsets(cluster, recover) == {T0: 1}
    assert not cluster.fetch("g", [T0], require_stable=True).answer.groups[0].topics[0].partitions[0].error_code


def test_offsets_without_a_marker_stay_pending(cluster: Cluster, recover: bool) -> None:
    cluster.txn_commit("g", {T0: 2})
    assert committed_offsets(cluster, recover) == {}
    (partition,) = cluster.fetch("g", [T0], require_stable=True).answer.groups[0].topics[0].partitions
    assert partition.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    cluster.end_transaction("g", commit=True)
    assert committed_offsets(cluster, recover) == {T0: 2}


def test_transactional_offset_newer_than_a_plain_commit_wins(cluster: Cluster, recover: bool) -> None:
    cluster.commit("g", {T0: 7})
    cluster.txn_commit("g", {T0: 5})
    cluster.end_transaction("g", commit=True)
    assert committed_offsets(cluster, recover) == {T0: 5}


def test_two_transactions_are_independent(cluster: Cluster, recover: bool) -> None:
    cluster.txn_commit("g", {T0: 1, T1: 1}, producer_id=1)
    cluster.txn_commit("g", {T0: 2}, producer_id=2)
    cluster.end_transaction("g", commit=False, producer_id=2)
    assert committed_offsets(cluster, recover) == {}
    cluster.end_transaction("g", commit=True, producer_id=1)
    assert committed_offsets(cluster, recover) == {T0: 1, T1: 1}


def test_last_commit_in_a_transaction_wins(cluster: Cluster, recover: bool) -> None:
    cluster.txn_commit("g", {T0: 1})
    cluster.txn_commit("g", {T0: 2})
    cluster.end_transaction("g", commit=True)
    assert committed_offsets(cluster, recover) == {T0: 2}


def test_tombstone_drops_the_pending_offset_of_its_partition(cluster: Cluster, recover: bool) -> None:
    cluster.commit("g", {T0: 1})
    cluster.txn_commit("g", {T0: 2, T1: 3})
    cluster.delete_offsets("g", T0)
    cluster.end_transaction("g", commit=True)
    assert committed_offsets(cluster, recover) == {T1: 3}


def test_marker_without_pending_offsets_is_ignored(cluster: Cluster, recover: bool) -> None:
    cluster.commit("g", {T0: 1})
    cluster.end_transaction("g", commit=True, producer_id=99)
    assert committed_offsets(cluster, recover) == {T0: 1}


def test_marker_takes_a_log_offset(cluster: Cluster) -> None:
    cluster.txn_commit("g", {T0: 1})
    cluster.end_transaction("g", commit=True)
    cluster.commit("g", {T1: 1})  # the log checks the offsets
    assert [record.offset for record in cluster.written("g")] == [0, 2]


def test_marker_is_applied_when_it_is_durable(cluster: Cluster) -> None:
    cluster.txn_commit("g", {T0: 1})
    with cluster.log_held():
        cluster.end_transaction("g", commit=True)
        assert cluster.committed("g") == {}
        cluster.fail_appends()
    assert cluster.committed("g") == {}
    cluster.end_transaction("g", commit=True)
    assert cluster.committed("g") == {T0: 1}


def test_marker_is_not_written_to_a_partition_that_is_not_loaded() -> None:
    cluster = Cluster(loaded=False)
    cluster.end_transaction("g", commit=True)
    assert cluster.log.partitions[cluster.core.partition_for("g")].next_offset == 0


@pytest.mark.parametrize("generation", [-1, 0])
def test_unknown_group_is_created_for_a_commit_without_a_generation(cluster: Cluster, generation: int) -> None:
    expected = NONE if generation < 0 else ErrorCode.GROUP_ID_NOT_FOUND  # the API has its form before version 6
    assert cluster.txn_commit("g", {T0: 1}, generation=generation).errors == {T0: expected}
    assert cluster.state() == ("Empty" if generation < 0 else "none")


def test_first_failing_check_decides_the_error(cluster: Cluster) -> None:
    cluster.existing_topics = {"t": 1}
    a, b = cluster.stable_group(instance_ids=["S0", "S1"])

    def error(**identity: object) -> ErrorCode:
        return cluster.txn_commit("g", {T0: 1}, **identity).errors[T0]

    assert cluster.txn_commit("", {T1: 1}).errors == {T1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert cluster.txn_commit("", {T0: 1}).errors == {T0: ErrorCode.INVALID_GROUP_ID}
    assert error(member_id="x") is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(member_id=b.member_id, instance_id="S0", generation=1) is ErrorCode.FENCED_INSTANCE_ID
    assert error(member_id=a.member_id, generation=5) is ErrorCode.ILLEGAL_GENERATION
    assert error(member_id=a.member_id, generation=1) is NONE
    assert error() is NONE


def test_transactional_commit_does_not_restart_the_session(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance("9s", heartbeating=[a])
    cluster.txn_commit("g", {T0: 1}, member_id=b.member_id, generation=1)
    cluster.advance("1s", heartbeating=[a])
    assert b.member_id not in cluster.group().members


def test_failed_append_is_an_error_on_every_partition(cluster: Cluster) -> None:
    with cluster.log_held():
        call = cluster.txn_commit("g", {T0: 1, T1: 2})
        cluster.fail_appends()
    assert set(call.errors.values()) == {ErrorCode.NOT_COORDINATOR}
    assert cluster.state() == "none"

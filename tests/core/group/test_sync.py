"""SyncGroup beyond the vectors: repeated requests, late outcomes of appends, and their responses."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster, Member


@pytest.fixture
def pair(cluster: Cluster) -> tuple[Member, Member]:
    """Return the leader A and the follower B of a new generation, before any SyncGroup."""
    members = cluster.member(), cluster.member()
    for member in members:
        member.join()
    cluster.advance("6s")
    for member in members:
        member.take_id()
    return members


def test_repeated_sync_replaces_the_parked_one_which_gets_an_error(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    first, second = b.sync(), b.sync()
    assert (first.error, second.is_parked) == (ErrorCode.REBALANCE_IN_PROGRESS, True)
    a.sync()
    assert second.error is ErrorCode.NONE


def test_leader_that_syncs_twice_is_answered_by_the_first_record(cluster: Cluster, pair: tuple[Member, Member]) -> None:
    a, b = pair
    with cluster.log_held():
        first = a.sync({a.member_id: b"first"})
        second = a.sync({a.member_id: b"second"})
        assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
        cluster.flush(at_most=1)
        assert second.answer.assignment == b"first"
        assert cluster.state() == "Stable"
    assert b.sync().answer.assignment == b""
    cluster.crash_and_recover()
    assert cluster.group().members[a.member_id].assignment == b"second"


def test_assignments_of_unknown_members_are_dropped_and_the_last_of_two_counts(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    a.sync({a.member_id: b"a", "zzz": b"z", b.member_id: b"b"})
    assert b.sync().answer.assignment == b"b"
    assert len(cluster.group().members) == 2


def test_assignments_from_a_follower_are_ignored(cluster: Cluster, pair: tuple[Member, Member]) -> None:
    a, b = pair
    b.sync({a.member_id: b"mine"})
    a.sync({a.member_id: b"leader's"})
    assert a.last_sync.answer.assignment == b"leader's"


def test_outcome_of_the_append_is_ignored_if_a_rebalance_began_meanwhile(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.sync()
    with cluster.log_held():
        a.sync()
        new = cluster.member()
        new.join()
        assert a.last_sync.error is b.last_sync.error is ErrorCode.REBALANCE_IN_PROGRESS
        assert cluster.state() == "PreparingRebalance"
    assert cluster.state() == "PreparingRebalance"
    for member in (a, b):
        member.join()
    cluster.settle([a, b, new])
    assert cluster.group().generation == 2


def test_record_of_the_previous_generation_does_not_make_the_next_one_stable(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    with cluster.log_held():
        a.sync()
        b.leave()
        a.join()
        assert (cluster.state(), a.generation) == ("CompletingRebalance", 2)
    assert cluster.state() == "CompletingRebalance"
    assert a.sync().error is ErrorCode.NONE


def test_append_that_times_out_makes_all_members_rejoin_and_its_outcome_is_ignored(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.sync()
    with cluster.log_held():
        a.sync()
        cluster.advance(4_999)
        assert a.last_sync.is_parked
        cluster.advance(1)
        assert a.last_sync.error is b.last_sync.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert cluster.state() == "PreparingRebalance"
    assert cluster.state() == "PreparingRebalance"
    for member in (a, b):
        member.join()
    cluster.settle([a, b])
    assert cluster.group().generation == 2


def test_sync_after_a_lost_answer_gets_the_assignment_of_the_stable_group(
    cluster: Cluster, pair: tuple[Member, Member]
) -> None:
    a, b = pair
    b.sync()
    a.sync()
    assert b.sync().answer.assignment == f"for {b.member_id}".encode()


def test_sync_in_a_stable_group_renews_the_session(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance("9s", heartbeating=[a])
    b.sync()
    cluster.advance("9s", heartbeating=[a])
    assert b.member_id in cluster.group().members


def test_first_failing_check_is_the_answer(cluster: Cluster, pair: tuple[Member, Member]) -> None:
    a, _ = pair
    sync = cluster.sync
    assert sync("", "x", 0, protocol_name=None).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync("", "x", 0).error is ErrorCode.INVALID_GROUP_ID
    assert sync("other", "x", 0).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync("g", "x", 0, protocol_name="rr").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync("g", a.member_id, 0, protocol_name="rr").error is ErrorCode.ILLEGAL_GENERATION
    assert sync("g", a.member_id, 1, protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(("version", "error"), [(2, 27), (3, 14)])
def test_old_clients_get_rebalance_in_progress_while_loading(version: int, error: int) -> None:
    cluster = Cluster(loaded=False)
    assert cluster.sync("g", "x", 1, version=version).error == error

"""Conformance vectors 41 - 64: SyncGroup, Heartbeat, LeaveGroup and their timers. Numbers are in the names.

Unless a test says otherwise: type `consumer`, protocol `range`, session 10 s, rebalance timeout 60 s. A leads, B
follows.
"""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue
from tests.support.cluster import Cluster, Member


def completing_group(cluster: Cluster, members: int = 2, **identity: object) -> list[Member]:
    """Return members with the responses of a new generation, before any SyncGroup."""
    joined = [cluster.member(**identity) for _ in range(members)]
    for member in joined:
        member.join()
    cluster.advance("6s")
    for member in joined:
        member.take_id()
    assert cluster.state() == "CompletingRebalance"
    return joined


def test_vector_41_sync_of_a_follower_waits_for_the_leader(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync().is_parked
    assert cluster.state() == "CompletingRebalance"


def test_vector_42_sync_of_the_leader_is_recorded_and_then_all_are_answered(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    b.sync()
    with cluster.log_held():
        a.sync({a.member_id: b"for a", b.member_id: b"for b"})
        assert a.last_sync.is_parked
        assert b.last_sync.is_parked
        assert cluster.state() == "CompletingRebalance"
    for member, assignment in ((a, b"for a"), (b, b"for b")):
        answer = member.last_sync.answer
        assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, assignment)
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert cluster.state() == "Stable"
    value = cluster.written("g")[-1].value
    assert isinstance(value, GroupValue)
    assert {member.member_id: member.assignment for member in value.members} == {
        a.member_id: b"for a",
        b.member_id: b"for b",
    }
    assert (value.generation, value.leader, value.protocol) == (1, a.member_id, "range")


def test_vector_43_member_without_an_assignment_gets_an_empty_one(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    a.sync({a.member_id: b"all"})
    answer = b.sync().answer
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")


def test_vector_44_sync_in_a_stable_group_returns_the_stored_assignment_at_once(cluster: Cluster) -> None:
    _, b = cluster.stable_group()
    answer = b.sync().answer
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, f"for {b.member_id}".encode())


def test_vector_45_sync_of_another_generation_is_illegal(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(generation=0).error is ErrorCode.ILLEGAL_GENERATION


def test_vector_46_sync_version_5_must_name_the_protocol(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(protocol_name=None).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_vector_47_protocol_of_a_sync_must_be_that_of_the_group(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(protocol_name="rr").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert b.sync(protocol_name="rr", version=4).is_parked  # version 4 has no such field


def test_vector_48_sync_while_preparing_gets_rebalance_in_progress(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    assert b.sync().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_vector_49_sync_with_an_empty_group_is_from_an_unknown_member(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert a.sync().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_50_all_members_rejoin_if_the_assignments_cannot_be_stored(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    b.sync()
    with cluster.log_held():
        a.sync()
        cluster.fail_appends(ErrorCode.REQUEST_TIMED_OUT)
    assert a.last_sync.error is b.last_sync.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (a.last_sync.answer.assignment, a.last_sync.answer.protocol_type) == (b"", None)
    assert cluster.state() == "PreparingRebalance"


def test_vector_51_member_that_never_syncs_is_removed_after_the_rebalance_timeout(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    a.sync()
    assert cluster.state() == "Stable"
    cluster.advance(59_999, heartbeating=[a, b])
    assert cluster.state() == "Stable"
    cluster.advance(1)
    assert cluster.state() == "PreparingRebalance"
    assert list(cluster.group().members) == [a.member_id]
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_vector_51_leader_that_never_syncs_is_removed_too(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    b.sync()
    cluster.advance(60_000, heartbeating=[a])
    assert b.last_sync.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(cluster.group().members) == [b.member_id]


def test_vector_52_heartbeat_while_completing_renews_the_session(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    cluster.advance("9s")
    assert a.heartbeat().error is b.heartbeat().error is ErrorCode.NONE
    cluster.advance("9s")
    assert cluster.state() == "CompletingRebalance"


def test_vector_53_heartbeat_must_name_the_generation_member_and_instance(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0", "S1"])
    assert a.heartbeat(generation=0).error is ErrorCode.ILLEGAL_GENERATION
    assert cluster.heartbeat("g", "zzz", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.heartbeat("g", b.member_id, 1, instance_id="S0").error is ErrorCode.FENCED_INSTANCE_ID


def test_vector_54_heartbeats_succeed_while_loading_and_other_requests_are_refused() -> None:
    cluster = Cluster(loaded=False)
    assert cluster.heartbeat("g", "unknown", 3).error is ErrorCode.NONE
    assert cluster.join().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (group,) = cluster.fetch("g", [("t", 0)]).answer.groups
    assert (group.error_code, group.topics) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


def test_vector_55_member_is_removed_after_its_session_timeout_and_the_others_rejoin(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance(9_999, heartbeating=[a])
    assert cluster.state() == "Stable"
    cluster.advance(1)
    assert list(cluster.group().members) == [a.member_id]
    assert cluster.state() == "PreparingRebalance"
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert b.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_56_member_with_a_parked_join_needs_no_heartbeats(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    b.join(protocols=[("range", b"other")])
    cluster.advance("50s", heartbeating=[a])
    assert list(cluster.group().members) == [a.member_id, b.member_id]
    a.join()
    assert b.generation == 2


def test_vector_57_new_member_waits_at_most_five_minutes(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(rebalance_timeout="400s", session_timeout="10s")
    new = cluster.member()
    new.join()
    cluster.advance(299_999, heartbeating=[a])
    assert new.last_join.is_parked
    cluster.advance(1)
    assert (new.last_join.error, new.last_join.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(cluster.group().members) == [a.member_id]


def test_vector_58_group_is_empty_in_the_next_generation_when_its_last_member_leaves(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    with cluster.log_held():
        left = a.leave()
        assert cluster.state() == "Empty"
        assert left.is_parked  # until the record of the empty group is durable
    assert left.error is ErrorCode.NONE
    assert (cluster.group().generation, cluster.group().leader_id, cluster.group().protocol_name) == (2, None, None)
    value = cluster.written("g")[-1].value
    assert value == GroupValue("consumer", 2, None, None, cluster.clock.wall_ms, [])


def test_vector_59_batch_leave_answers_each_entry(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    answer = cluster.leave("g", a.member_id, "zzz").answer
    assert answer.error_code == ErrorCode.NONE
    assert [(member.member_id, member.error_code) for member in answer.members] == [
        (a.member_id, ErrorCode.NONE),
        ("zzz", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert cluster.state() == "PreparingRebalance"
    assert cluster.group().leader_id == b.member_id


def test_vector_60_administrator_removes_a_static_member_by_its_instance_id(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(instance_ids=[None, "S0"])
    (entry,) = cluster.leave("g", ("", "S0")).answer.members
    assert (entry.member_id, entry.group_instance_id, entry.error_code) == ("", "S0", ErrorCode.NONE)
    assert list(cluster.group().members) == [a.member_id]
    assert cluster.state() == "PreparingRebalance"


def test_vector_61_wrong_member_id_for_an_instance_id_is_fenced(cluster: Cluster) -> None:
    cluster.stable_group(instance_ids=[None, "S0"])
    (entry,) = cluster.leave("g", ("X", "S0")).answer.members
    assert entry.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert cluster.state() == "Stable"


def test_vector_62_leaving_a_group_that_does_not_exist_is_an_error_of_the_entry(cluster: Cluster) -> None:
    newer = cluster.leave("g", "A").answer
    assert (newer.error_code, newer.members[0].error_code) == (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    assert cluster.leave("g", "A", version=2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_63_pending_id_may_be_given_back(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    (entry,) = cluster.leave("g", pending_id).answer.members
    assert entry.error_code == ErrorCode.NONE
    assert cluster.state() == "Empty"
    assert cluster.join(member_id=pending_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_64_others_are_answered_when_the_missing_member_leaves(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.leave()
    assert a.generation == 2
    assert cluster.state() == "CompletingRebalance"


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_heartbeat_succeeds(cluster: Cluster, version: int) -> None:
    a, _ = cluster.stable_group()
    assert cluster.heartbeat("g", a.member_id, 1, version=version).error is ErrorCode.NONE

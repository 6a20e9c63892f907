"""Conformance vectors 41 - 64 of the specification (section 15): SyncGroup, Heartbeat, LeaveGroup and their timers.

Unless a test says otherwise: type `consumer`, protocol `range`, session 10 s, rebalance timeout 60 s. A leads, B
follows.
"""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue
from tests.support.cluster import Cluster, Member


def completing_group(cluster: Cluster, members: int = 2, **identity: object) -> list[Member]:
    """Everybody has the answer of a new generation, and nobody has synced."""
    joined = [cluster.member(**identity) for _ in range(members)]
    for member in joined:
        member.join()
    cluster.advance("6s")
    for member in joined:
        member.take_id()
    assert cluster.state() == "CompletingRebalance"
    return joined


def test_vector_41_a_followers_sync_waits_for_the_leaders(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync().is_parked
    assert cluster.state() == "CompletingRebalance"


def test_vector_42_the_leaders_sync_is_recorded_and_then_answers_everybody(cluster: Cluster) -> None:
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


def test_vector_43_whom_the_leader_leaves_out_gets_an_empty_assignment(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    a.sync({a.member_id: b"all"})
    answer = b.sync().answer
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")


def test_vector_44_in_a_stable_group_the_stored_assignment_is_given_at_once(cluster: Cluster) -> None:
    _, b = cluster.stable_group()
    answer = b.sync().answer
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, f"for {b.member_id}".encode())


def test_vector_45_a_sync_of_another_generation_is_illegal(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(generation=0).error is ErrorCode.ILLEGAL_GENERATION


def test_vector_46_version_5_must_name_the_protocol(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(protocol_name=None).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_vector_47_the_protocol_named_must_be_the_groups(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    assert b.sync(protocol_name="rr").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert b.sync(protocol_name="rr", version=4).is_parked  # which cannot carry it


def test_vector_48_a_sync_while_preparing_is_sent_back_to_join(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    assert b.sync().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_vector_49_nobody_syncs_with_an_empty_group(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert a.sync().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_50_when_the_assignments_cannot_be_stored_everybody_joins_again(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    b.sync()
    with cluster.log_held():
        a.sync()
        cluster.fail_appends(ErrorCode.REQUEST_TIMED_OUT)
    assert a.last_sync.error is b.last_sync.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (a.last_sync.answer.assignment, a.last_sync.answer.protocol_type) == (b"", None)
    assert cluster.state() == "PreparingRebalance"


def test_vector_51_a_member_that_never_syncs_is_removed_after_the_rebalance_timeout(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    a.sync()
    assert cluster.state() == "Stable"
    cluster.advance(59_999, heartbeating=[a, b])
    assert cluster.state() == "Stable"
    cluster.advance(1)
    assert cluster.state() == "PreparingRebalance"
    assert list(cluster.group().members) == [a.member_id]
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_vector_51_a_leader_that_never_syncs_is_removed_too(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    b.sync()
    cluster.advance(60_000, heartbeating=[a])
    assert b.last_sync.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(cluster.group().members) == [b.member_id]


def test_vector_52_a_heartbeat_while_completing_keeps_the_member_alive(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    cluster.advance("9s")
    assert a.heartbeat().error is b.heartbeat().error is ErrorCode.NONE
    cluster.advance("9s")
    assert cluster.state() == "CompletingRebalance"


def test_vector_53_a_heartbeat_must_be_of_the_generation_the_member_and_the_instance(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0", "S1"])
    assert a.heartbeat(generation=0).error is ErrorCode.ILLEGAL_GENERATION
    assert cluster.heartbeat("g", "zzz", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.heartbeat("g", b.member_id, 1, instance_id="S0").error is ErrorCode.FENCED_INSTANCE_ID


def test_vector_54_while_loading_heartbeats_succeed_and_everything_else_waits() -> None:
    cluster = Cluster(loaded=False)
    assert cluster.heartbeat("g", "anybody", 3).error is ErrorCode.NONE
    assert cluster.join().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (group,) = cluster.fetch("g", [("t", 0)]).answer.groups
    assert (group.error_code, group.topics) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


def test_vector_55_a_member_silent_for_its_session_timeout_is_removed_and_the_others_rejoin(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance(9_999, heartbeating=[a])
    assert cluster.state() == "Stable"
    cluster.advance(1)
    assert list(cluster.group().members) == [a.member_id]
    assert cluster.state() == "PreparingRebalance"
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert b.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_56_a_member_that_waits_in_a_join_is_alive_without_saying_so(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    b.join(protocols=[("range", b"other")])
    cluster.advance("50s", heartbeating=[a])
    assert list(cluster.group().members) == [a.member_id, b.member_id]
    a.join()
    assert b.generation == 2


def test_vector_57_a_new_member_waits_at_most_five_minutes(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(rebalance_timeout="400s", session_timeout="10s")
    new = cluster.member()
    new.join()
    cluster.advance(299_999, heartbeating=[a])
    assert new.last_join.is_parked
    cluster.advance(1)
    assert (new.last_join.error, new.last_join.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(cluster.group().members) == [a.member_id]


def test_vector_58_when_the_last_member_leaves_the_group_is_empty_in_the_next_generation(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    with cluster.log_held():
        left = a.leave()
        assert cluster.state() == "Empty"
        assert left.is_parked  # until the record that says so is durable
    assert left.error is ErrorCode.NONE
    assert (cluster.group().generation, cluster.group().leader_id, cluster.group().protocol_name) == (2, None, None)
    value = cluster.written("g")[-1].value
    assert value == GroupValue("consumer", 2, None, None, cluster.clock.wall_ms, [])


def test_vector_59_a_batch_leave_answers_each_entry(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    answer = cluster.leave("g", a.member_id, "zzz").answer
    assert answer.error_code == ErrorCode.NONE
    assert [(member.member_id, member.error_code) for member in answer.members] == [
        (a.member_id, ErrorCode.NONE),
        ("zzz", ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert cluster.state() == "PreparingRebalance"
    assert cluster.group().leader_id == b.member_id


def test_vector_60_an_administrator_removes_a_static_member_by_its_instance(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(instance_ids=[None, "S0"])
    (entry,) = cluster.leave("g", ("", "S0")).answer.members
    assert (entry.member_id, entry.group_instance_id, entry.error_code) == ("", "S0", ErrorCode.NONE)
    assert list(cluster.group().members) == [a.member_id]
    assert cluster.state() == "PreparingRebalance"


def test_vector_61_a_wrong_member_id_for_an_instance_is_fenced(cluster: Cluster) -> None:
    cluster.stable_group(instance_ids=[None, "S0"])
    (entry,) = cluster.leave("g", ("X", "S0")).answer.members
    assert entry.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert cluster.state() == "Stable"


def test_vector_62_leaving_a_group_that_does_not_exist_is_an_error_of_the_entry(cluster: Cluster) -> None:
    newer = cluster.leave("g", "A").answer
    assert (newer.error_code, newer.members[0].error_code) == (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    assert cluster.leave("g", "A", version=2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_63_an_id_that_was_handed_out_may_be_given_back(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    (entry,) = cluster.leave("g", pending_id).answer.members
    assert entry.error_code == ErrorCode.NONE
    assert cluster.state() == "Empty"
    assert cluster.join(member_id=pending_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_vector_64_when_the_one_that_was_missing_leaves_the_others_are_answered(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.leave()
    assert a.generation == 2
    assert cluster.state() == "CompletingRebalance"


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_heartbeat_reaches_the_member(cluster: Cluster, version: int) -> None:
    a, _ = cluster.stable_group()
    assert cluster.heartbeat("g", a.member_id, 1, version=version).error is ErrorCode.NONE

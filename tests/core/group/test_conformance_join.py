"""Conformance vectors 1 - 40: JoinGroup. The number is in the name of the test.

Unless a test says otherwise: type `consumer`, protocol `range`, session 10 s, rebalance timeout 60 s, initial delay 3
s, JoinGroup v9. A leads, B follows.
"""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue
from tests.support.cluster import Cluster, Member

RANGE = ("range", b"r")
ROUNDROBIN = ("roundrobin", b"rr")


def test_vector_01_first_join_gets_an_id_and_creates_an_empty_group(cluster: Cluster) -> None:
    answer = cluster.join(client_id="app").answer
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("app-")
    assert len(answer.member_id) == len("app-") + 36
    assert (answer.generation_id, answer.protocol_type, answer.protocol_name) == (-1, None, None)
    assert (answer.leader, answer.members, answer.skip_assignment) == ("", [], False)
    assert cluster.state() == "Empty"
    (record,) = cluster.written("g")
    assert record.value == GroupValue("", 0, None, None, cluster.clock.wall_ms, [])


def test_vector_02_join_with_that_id_is_parked_for_the_initial_delay(cluster: Cluster) -> None:
    member_id = cluster.join().answer.member_id
    call = cluster.join(member_id=member_id)
    assert call.is_parked
    assert cluster.state() == "PreparingRebalance"
    cluster.advance(2999)
    assert call.is_parked


def test_vector_03_after_the_delay_it_leads_generation_one_alone(cluster: Cluster) -> None:
    member_id = cluster.join().answer.member_id
    call = cluster.join(member_id=member_id)
    cluster.advance("3s")
    answer = call.answer
    assert answer.error_code == ErrorCode.NONE
    assert (answer.generation_id, answer.protocol_type, answer.protocol_name) == (1, "consumer", "range")
    assert answer.leader == answer.member_id == member_id
    assert [member.member_id for member in answer.members] == [member_id]
    assert answer.skip_assignment is False
    assert cluster.state() == "CompletingRebalance"


def test_vector_04_join_before_version_4_is_parked_at_once(cluster: Cluster) -> None:
    assert cluster.join(version=3).is_parked
    assert cluster.state() == "PreparingRebalance"


def test_vector_05_static_member_is_parked_at_once_with_an_id_made_of_its_instance_id(cluster: Cluster) -> None:
    call = cluster.join(instance_id="S0")
    assert call.is_parked
    assert cluster.state() == "PreparingRebalance"
    (member_id,) = cluster.group().members
    assert member_id.startswith("S0-")


def test_vector_06_invented_id_is_unknown_and_creates_no_group(cluster: Cluster) -> None:
    answer = cluster.join(member_id="x").answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "x")
    assert cluster.state() == "none"


@pytest.mark.parametrize(
    ("timeout_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_vector_07_bounds_of_the_session_timeout_are_allowed(
    cluster: Cluster, timeout_ms: int, error: ErrorCode
) -> None:
    assert cluster.join(session_timeout=timeout_ms).error is error


def test_vector_07_error_of_an_invalid_session_timeout_echoes_the_member_id(cluster: Cluster) -> None:
    assert cluster.join(member_id="me", session_timeout=5_999).answer.member_id == "me"


def test_vector_08_empty_list_of_protocols_is_refused_and_the_group_exists(cluster: Cluster) -> None:
    answer = cluster.join(protocols=[]).answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert cluster.state() == "Empty"
    assert len(cluster.written("g")) == 1


def test_vector_09_empty_group_id_is_invalid(cluster: Cluster) -> None:
    assert cluster.join("").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    ("arrivals_ms", "answered_after_ms"),
    [([1_000, 4_000, 7_000, 9_500], 10_000), ([1_000], 6_000), ([], 3_000), ([1_000, 4_000], 9_000)],
    ids=["vector 10: the rebalance timeout ends it", "vector 11: one extension", "no extension", "two extensions"],
)
def test_vectors_10_and_11_new_members_extend_the_initial_delay(
    cluster: Cluster, arrivals_ms: list[int], answered_after_ms: int
) -> None:
    start_ms = cluster.clock.now_ms
    first = cluster.join(version=3, rebalance_timeout="10s")
    calls = [first]
    for arrival_ms in arrivals_ms:
        cluster.advance(start_ms + arrival_ms - cluster.clock.now_ms)
        assert all(call.is_parked for call in calls)
        calls.append(cluster.join(version=3, rebalance_timeout="10s"))
    cluster.advance("20s")
    assert {call.answered_at_ms - start_ms for call in calls} == {answered_after_ms}
    assert {call.answer.generation_id for call in calls} == {1}
    assert {call.answer.leader for call in calls} == {first.answer.member_id}
    assert [len(call.answer.members) for call in calls] == [len(calls)] + [0] * len(arrivals_ms)


def test_vector_12_unchanged_follower_rejoins_a_stable_group_without_a_rebalance(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    answer = b.join().answer
    assert (answer.error_code, answer.generation_id, answer.members) == (ErrorCode.NONE, 1, [])
    assert answer.leader == a.member_id
    assert cluster.state() == "Stable"
    assert a.heartbeat().error is ErrorCode.NONE


def test_vector_13_leader_that_rejoins_starts_a_rebalance(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    b.take_id()
    assert a.join().is_parked
    assert cluster.state() == "PreparingRebalance"
    assert b.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_vector_14_when_all_have_rejoined_all_are_answered_and_only_the_leader_gets_the_members(
    cluster: Cluster,
) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    assert (a.generation, b.generation) == (2, 2)
    assert [member.member_id for member in a.last_join.answer.members] == [a.member_id, b.member_id]
    assert b.last_join.answer.members == []
    assert cluster.state() == "CompletingRebalance"


def test_vector_15_follower_with_changed_metadata_starts_a_rebalance(cluster: Cluster) -> None:
    _, b = cluster.stable_group()
    assert b.join(protocols=[("range", b"other")]).is_parked
    assert cluster.state() == "PreparingRebalance"


def completing_group(cluster: Cluster) -> tuple[Member, Member]:
    """Return A and B with the responses of a new generation, before any SyncGroup."""
    a, b = cluster.member(), cluster.member()
    a.join()
    b.join()
    cluster.advance("6s")
    a.take_id()
    b.take_id()
    assert cluster.state() == "CompletingRebalance"
    return a, b


def test_vector_16_unchanged_follower_that_rejoins_while_completing_is_answered_again(cluster: Cluster) -> None:
    _, b = completing_group(cluster)
    answer = b.join().answer
    assert (answer.error_code, answer.generation_id, answer.members) == (ErrorCode.NONE, 1, [])
    assert cluster.state() == "CompletingRebalance"


def test_vector_17_unchanged_leader_that_rejoins_while_completing_gets_the_members_again(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    answer = a.join().answer
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    assert [member.member_id for member in answer.members] == [a.member_id, b.member_id]
    assert cluster.state() == "CompletingRebalance"


def test_vector_18_change_while_completing_answers_parked_syncs_with_rebalance_in_progress(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    parked = b.sync()
    assert parked.is_parked
    assert a.join(protocols=[("range", b"other")]).is_parked
    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert parked.answer.assignment == b""
    assert cluster.state() == "PreparingRebalance"


def test_vector_19_new_member_waits_until_all_others_have_rejoined(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    new = cluster.member()
    assert new.join().is_parked
    assert cluster.state() == "PreparingRebalance"
    a.join()
    assert new.last_join.is_parked
    b.join()
    assert new.generation == a.generation == b.generation == 2


def test_vector_20_member_that_has_not_rejoined_at_the_deadline_is_removed(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    cluster.advance(60_000, heartbeating=[b])
    assert a.generation == 2
    assert [member.member_id for member in a.last_join.answer.members] == [a.member_id]
    assert b.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


class TestVector21:
    """A pending id keeps the join phase open until it is used, given back, or forgotten."""

    @pytest.fixture
    def waiting(self, cluster: Cluster) -> tuple[Cluster, Member, Member, str]:
        a, b = cluster.stable_group()
        a.join()
        pending_id = cluster.join(session_timeout="20s").answer.member_id
        b.join()
        assert a.last_join.is_parked
        assert b.last_join.is_parked
        return cluster, a, b, pending_id

    def test_vector_21_until_it_joins(self, waiting: tuple[Cluster, Member, Member, str]) -> None:
        cluster, a, b, pending_id = waiting
        new = cluster.join(member_id=pending_id)
        assert a.generation == b.generation == new.answer.generation_id == 2

    def test_vector_21_until_it_leaves(self, waiting: tuple[Cluster, Member, Member, str]) -> None:
        cluster, a, b, pending_id = waiting
        assert cluster.leave("g", pending_id).answer.members[0].error_code == ErrorCode.NONE
        assert a.generation == b.generation == 2

    def test_vector_21_until_its_session_timeout(self, waiting: tuple[Cluster, Member, Member, str]) -> None:
        cluster, a, b, _ = waiting
        cluster.advance(19_999)
        assert a.last_join.is_parked
        cluster.advance(1)
        assert a.generation == b.generation == 2

    def test_vector_21_until_the_deadline_of_the_join_phase(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        cluster.join(session_timeout="100s")
        a.join()
        b.join()
        cluster.advance(59_999)
        assert a.last_join.is_parked
        cluster.advance(1)
        assert a.generation == b.generation == 2


def test_vector_22_static_member_that_does_not_rejoin_stays_in_the_group(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"], session_timeout="120s")
    a.join()
    cluster.advance("60s")
    listed = {member.member_id: member.group_instance_id for member in a.last_join.answer.members}
    assert a.generation == 2
    assert listed == {a.member_id: None, b.member_id: "S0"}


def test_vector_23_absent_static_leader_loses_the_leadership_and_stays(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0"], session_timeout="120s")
    b.join(protocols=[("range", b"other")])
    cluster.advance("60s")
    assert b.is_leader
    assert {member.member_id for member in b.last_join.answer.members} == {a.member_id, b.member_id}


def test_vector_24_join_phase_restarts_if_only_absent_static_members_remain(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0", None], session_timeout="300s")
    b.leave()
    cluster.advance("60s")
    cluster.advance("60s")
    assert cluster.state() == "PreparingRebalance"
    assert cluster.group().generation == 1
    assert list(cluster.group().members) == [a.member_id]


def test_vector_25_new_member_must_support_a_protocol_that_all_support(cluster: Cluster) -> None:
    a, b = cluster.member(protocols=[RANGE, ROUNDROBIN]), cluster.member(protocols=[RANGE])
    a.join()
    b.join()
    cluster.settle([a, b])
    answer = cluster.join(protocols=[ROUNDROBIN]).answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


def test_vector_26_new_member_must_have_the_protocol_type_of_the_group(cluster: Cluster) -> None:
    cluster.stable_group()
    assert cluster.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_vector_27_empty_group_takes_the_protocol_type_of_its_next_first_member(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert cluster.list_groups()["g"].protocol_type == "consumer"
    worker = cluster.member(protocol_type="connect", protocols=[("sessioned", b"")])
    assert worker.join().is_parked
    assert cluster.list_groups()["g"].protocol_type == "connect"


def test_vector_28_protocol_that_most_members_prefer_is_selected(cluster: Cluster) -> None:
    xy, yx = [("x", b"1"), ("y", b"2")], [("y", b"2"), ("x", b"1")]
    members = [cluster.member(protocols=protocols) for protocols in (xy, yx, yx)]
    for member in members:
        member.join()
    cluster.advance("10s")
    assert [member.last_join.answer.protocol_name for member in members] == ["y", "y", "y"]


def test_vector_29_single_member_cannot_change_to_a_protocol_it_did_not_offer(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    assert a.join(protocols=[ROUNDROBIN]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert cluster.state() == "Stable"


def test_vector_30_full_group_refuses_a_new_member() -> None:
    cluster = Cluster(Config(group_max_size=2))
    cluster.stable_group()
    answer = cluster.join().answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert cluster.state() == "Stable"


def test_vector_31_full_group_accepts_its_own_members() -> None:
    cluster = Cluster(Config(group_max_size=2))
    a, _ = cluster.stable_group()
    assert a.join().is_parked
    assert cluster.state() == "PreparingRebalance"


def test_vector_32_group_loaded_with_too_many_members_keeps_those_that_rejoin_first() -> None:
    cluster = Cluster()
    a, b = cluster.stable_group()
    cluster.config = Config(group_max_size=1)
    cluster.crash_and_recover()
    assert cluster.state() == "PreparingRebalance"
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert b.join().is_parked
    assert a.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert b.generation == 2  # no member is missing, so it is answered at once
    assert list(cluster.group().members) == [b.member_id]


def restarted(cluster: Cluster, member: Member, **changes: object) -> Member:
    """Return the next run of a static member."""
    identity = {
        "instance_id": member.instance_id,
        "protocols": member.protocols,
        "client_id": "next-run",
        "version": member.version,
        **changes,
    }
    return cluster.member(member.group_id, **identity)


def test_vector_33_returning_static_follower_gets_its_generation_without_a_rebalance(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"])
    b2 = restarted(cluster, b)
    with cluster.log_held():
        assert b2.join().is_parked  # until the record with its new id is durable
    answer = b2.last_join.answer
    assert (answer.error_code, answer.generation_id, answer.members) == (ErrorCode.NONE, 1, [])
    assert (answer.leader, answer.skip_assignment) == (a.member_id, False)
    assert answer.member_id != b.member_id
    assert cluster.state() == "Stable"
    assert b.heartbeat().error is ErrorCode.FENCED_INSTANCE_ID
    assert cluster.heartbeat("g", b.member_id, 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert b2.sync().answer.assignment == f"for {b.member_id}".encode()


def test_vector_34_returning_static_leader_is_told_not_to_assign(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0"])
    a2 = restarted(cluster, a)
    answer = a2.join().answer
    assert (answer.error_code, answer.generation_id, answer.skip_assignment) == (ErrorCode.NONE, 1, True)
    assert answer.leader == answer.member_id != a.member_id
    assert {member.member_id for member in answer.members} == {answer.member_id, b.member_id}
    assert cluster.state() == "Stable"


def test_vector_35_returning_static_leader_before_version_9_gets_its_old_id_as_leader(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(instance_ids=["S0"])
    answer = restarted(cluster, a, version=8).join().answer
    assert (answer.error_code, answer.leader, answer.members) == (ErrorCode.NONE, a.member_id, [])
    assert answer.member_id != a.member_id
    assert cluster.state() == "Stable"


def test_vector_36_changed_subscription_of_a_returning_static_member_starts_no_rebalance(cluster: Cluster) -> None:
    _, b = cluster.stable_group(instance_ids=[None, "S0"])
    assert restarted(cluster, b, protocols=[("range", b"other")]).join().error is ErrorCode.NONE
    assert cluster.state() == "Stable"


def test_vector_37_static_member_that_returns_while_completing_starts_a_rebalance(cluster: Cluster) -> None:
    members = [cluster.member(), cluster.member(instance_id="S0"), cluster.member()]
    for member in members:
        member.join()
    cluster.advance("10s")
    _, b, c = members
    parked = [b.sync(), c.sync()]
    assert restarted(cluster, b).join().is_parked
    assert [call.error for call in parked] == [ErrorCode.FENCED_INSTANCE_ID, ErrorCode.REBALANCE_IN_PROGRESS]
    assert cluster.state() == "PreparingRebalance"


def test_vector_38_static_member_that_returns_while_preparing_replaces_the_parked_join(cluster: Cluster) -> None:
    _, b, _ = cluster.stable_group(members=3, instance_ids=[None, "S0"])
    parked = b.join(protocols=[("range", b"other")])
    again = restarted(cluster, b).join()
    assert (parked.error, parked.answer.member_id) == (ErrorCode.FENCED_INSTANCE_ID, b.member_id)
    assert again.is_parked
    assert cluster.state() == "PreparingRebalance"


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance"])
def test_vector_39_instance_id_of_another_member_id_is_fenced(cluster: Cluster, state: str) -> None:
    a, _ = cluster.stable_group(instance_ids=[None, "S0"])
    if state == "PreparingRebalance":
        a.join()
    answer = cluster.join(member_id="X", instance_id="S0").answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.FENCED_INSTANCE_ID, "X")


def test_vector_40_member_id_with_an_unknown_instance_id_is_unknown(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    for member_id in ("X", a.member_id):
        assert cluster.join(member_id=member_id, instance_id="S9").error is ErrorCode.UNKNOWN_MEMBER_ID

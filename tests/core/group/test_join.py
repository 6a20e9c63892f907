"""JoinGroup beyond the conformance vectors: the order of checks, ids handed out, limits, versions."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.timers import FORGOTTEN_AT_ONCE
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster


def test_the_first_check_that_fails_is_the_answer(cluster: Cluster) -> None:
    cluster.stable_group()
    # group id before session timeout before member, and an incompatible protocol before an unknown member
    assert cluster.join("", session_timeout=1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.join(member_id="x", session_timeout=1).error is ErrorCode.INVALID_SESSION_TIMEOUT
    wrong = cluster.join(member_id="x", protocols=[("other", b"")]).answer
    assert (wrong.error_code, wrong.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "x")
    assert cluster.join(member_id="x").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_in_an_empty_group_an_unknown_id_is_told_so_if_it_offers_any_protocol(cluster: Cluster) -> None:
    cluster.join()
    assert cluster.join(member_id="x", protocols=[]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert cluster.join(member_id="x").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_error_carries_no_protocol_and_no_generation(cluster: Cluster) -> None:
    for version, nothing in ((6, ""), (7, None)):
        answer = cluster.join(member_id="x", version=version).answer
        assert (answer.protocol_name, answer.generation_id, answer.leader) == (nothing, -1, "")


def test_version_0_uses_its_one_timeout_for_both_purposes(cluster: Cluster) -> None:
    cluster.join(version=0, session_timeout="20s")
    (member,) = cluster.group().members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 20_000)


def test_a_missing_client_id_still_makes_an_id(cluster: Cluster) -> None:
    assert cluster.join(client_id="").answer.member_id.startswith("-")


def test_a_client_that_asks_again_for_an_id_leaves_another_one_behind(cluster: Cluster) -> None:
    first, second = cluster.join().answer.member_id, cluster.join().answer.member_id
    assert first != second
    assert list(cluster.group().pending_join) == [first, second]
    cluster.advance("10s")
    assert list(cluster.group().pending_join) == []


def test_an_id_that_was_handed_out_does_not_live_by_heartbeats(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    assert cluster.heartbeat("g", pending_id, 0).error is ErrorCode.UNKNOWN_MEMBER_ID
    cluster.advance("10s")
    assert cluster.join(member_id=pending_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_handed_out_belongs_to_no_static_member(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    answer = cluster.join(member_id=pending_id, instance_id="S0").answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert cluster.join(member_id=pending_id).is_parked


@pytest.mark.parametrize("delay_ms", [0, 3000])
@pytest.mark.parametrize("version", [3, 9])
def test_while_nothing_can_be_written_a_join_that_would_make_a_group_hears_so(version: int, delay_ms: int) -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=delay_ms))
    cluster.failing_with = ErrorCode.NOT_ENOUGH_REPLICAS
    member_id, errors = "", []
    for _ in range(6):
        answer = cluster.join(member_id=member_id, version=version).answer
        errors.append(ErrorCode(answer.error_code))
        member_id = answer.member_id if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED else ""
    assert errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 6
    assert cluster.state() == "none"


def test_every_join_that_comes_before_the_groups_record_is_durable_waits_for_it(cluster: Cluster) -> None:
    with cluster.log_held():
        first, second = cluster.join(), cluster.join()
        assert first.is_parked and second.is_parked
        cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
        assert first.error is second.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        third, fourth = cluster.join(), cluster.join()
        cluster.advance("5s")
        assert third.error is fourth.error is ErrorCode.COORDINATOR_NOT_AVAILABLE, "the commit timeout"
        fifth = cluster.join()
    assert fifth.error is ErrorCode.MEMBER_ID_REQUIRED
    assert cluster.join().error is ErrorCode.MEMBER_ID_REQUIRED


def test_ids_handed_out_are_bounded_over_all_groups_and_the_oldest_are_forgotten() -> None:
    """A client uses its id within milliseconds, so a flood of ids that are never used takes nothing from it."""
    bound = 3 * FORGOTTEN_AT_ONCE
    cluster = Cluster(Config(group_max_pending_members=bound))
    first = cluster.join("g0")
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    for number in range(1, 2 * bound):
        assert cluster.join(f"g{number % 7}").error is ErrorCode.MEMBER_ID_REQUIRED
        assert sum(len(group.pending_join) for group in cluster.core.groups.values()) <= bound
    last = cluster.join("g0")
    assert cluster.join("g0", first.answer.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.join("g0", last.answer.member_id).is_parked
    assert cluster.core.metrics.forgotten_members > 0
    for _ in range(2):
        cluster.advance("10s")
    assert cluster.core.timers.pending.waiting == 0


def test_a_join_phase_goes_on_when_the_id_it_waits_for_is_forgotten() -> None:
    cluster = Cluster(Config(group_max_pending_members=1))
    (a,) = cluster.stable_group("g", members=1)
    cluster.join("g")
    assert a.join().is_parked, "somebody was given an id and is awaited"
    cluster.join("other")
    assert a.last_join.error is ErrorCode.NONE


def test_a_repeated_join_replaces_the_parked_one_which_hears_of_it(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    first = b.join(protocols=[("range", b"other")])
    second = b.join()
    assert (first.error, first.answer.member_id) == (ErrorCode.REBALANCE_IN_PROGRESS, b.member_id)
    assert second.is_parked
    a.join()
    assert second.answer.generation_id == 2


def test_client_id_and_host_stay_those_of_the_first_join(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, client_id="first")
    a.join(client_id="second")
    assert cluster.group().members[a.member_id].client_id == "first"


def test_a_protocol_listed_twice_counts_once(cluster: Cluster) -> None:
    member = cluster.member(protocols=[("range", b"1"), ("range", b"2")])
    member.join()
    cluster.settle([member])
    assert cluster.describe("g").members[0].member_metadata == b"1"


@pytest.mark.parametrize("leader_prefers", ["x", "y"])
def test_a_tied_vote_is_decided_by_the_leader(cluster: Cluster, leader_prefers: str) -> None:
    orders = {"x": [("x", b""), ("y", b"")], "y": [("y", b""), ("x", b"")]}
    follower_prefers = "y" if leader_prefers == "x" else "x"
    members = [cluster.member(protocols=orders[leader_prefers]), cluster.member(protocols=orders[follower_prefers])]
    for member in members:
        member.join()
    cluster.advance("6s")
    assert {member.last_join.answer.protocol_name for member in members} == {leader_prefers}


def test_the_members_timeouts_are_those_of_the_latest_join(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    b.join(protocols=[("range", b"other")], session_timeout="30s", rebalance_timeout="90s")
    member = cluster.group().members[b.member_id]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (30_000, 90_000)
    a.join()
    cluster.advance("29s", heartbeating=[a])
    assert b.member_id in cluster.group().members


def test_a_longer_rebalance_timeout_does_not_lengthen_a_phase_that_runs(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    b.join(protocols=[("range", b"other")])
    a.join(rebalance_timeout="500s")
    cluster.advance("60s", heartbeating=[c])
    assert a.generation == b.generation == 2


@pytest.mark.parametrize("rebalance_timeout_ms", [-1, -(2**31), 0])
def test_a_rebalance_timeout_that_makes_no_sense_is_taken_as_no_time_at_all(
    cluster: Cluster, rebalance_timeout_ms: int
) -> None:
    a = cluster.member(rebalance_timeout=rebalance_timeout_ms)
    a.join()
    cluster.advance("3s")
    assert a.generation == 1
    assert a.sync().error is ErrorCode.UNKNOWN_MEMBER_ID  # the sync timer had no time either
    assert cluster.state() == "Empty"


def test_the_longest_rebalance_timeout_there_is_can_be_waited_for(cluster: Cluster) -> None:
    a, b = cluster.stable_group(rebalance_timeout=2**31 - 1, session_timeout="30m")
    a.join()
    cluster.advance(2**31 - 2, heartbeating=[b], every="29m")
    assert a.last_join.is_parked
    cluster.advance(1)
    assert a.generation == 2


class TestAFullGroup:
    def test_a_pending_id_can_be_refused_when_it_comes_back(self) -> None:
        cluster = Cluster(Config(group_max_size=1))
        first, second = cluster.join().answer.member_id, cluster.join().answer.member_id
        assert cluster.join(member_id=first).is_parked
        assert cluster.join(member_id=second).error is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert list(cluster.group().pending_join) == []

    def test_a_static_replacement_is_refused_too(self) -> None:
        cluster = Cluster(Config(group_max_size=1))
        (a,) = cluster.stable_group(members=1, instance_ids=["S0"])
        assert cluster.join(instance_id="S0").error is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert a.heartbeat().error is ErrorCode.NONE


def test_one_more_group_than_allowed_is_refused_and_can_be_tried_again() -> None:
    cluster = Cluster(Config(max_groups=1))
    cluster.join("first")
    assert cluster.join("second").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert cluster.commit("third", {("t", 0): 1}).errors == {("t", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert cluster.core.metrics.refused_groups == 2
    cluster.delete_groups("first")
    assert cluster.join("second").error is ErrorCode.MEMBER_ID_REQUIRED


def test_when_the_record_of_a_new_group_is_lost_the_group_vanishes_and_its_joins_hear_why(cluster: Cluster) -> None:
    with cluster.log_held():
        call = cluster.join(version=3)
        assert call.is_parked
        cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert (call.error, call.answer.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert cluster.state() == "none"
    assert len(cluster.core.timers.wheel) == len(cluster.log.partitions) * 1 + 1  # the scans, and the append watch


def test_a_new_group_is_listed_once_its_record_is_durable(cluster: Cluster) -> None:
    with cluster.log_held():
        cluster.join()
        assert cluster.list_groups() == {}
    listed = cluster.list_groups()["g"]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "")


def test_a_generation_that_cannot_grow_begins_again_at_one(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.group().generation = 2**31 - 1
    a.join()
    b.join()
    assert a.generation == 1

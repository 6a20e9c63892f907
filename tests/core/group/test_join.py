"""JoinGroup beyond the conformance vectors: order of checks, pending ids, limits, versions."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.timers import FORGOTTEN_AT_ONCE
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster


def test_first_failing_check_is_the_answer(cluster: Cluster) -> None:
    cluster.stable_group()
    # group id before session timeout before member, and an incompatible protocol before an unknown member
    assert cluster.join("", session_timeout=1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.join(member_id="x", session_timeout=1).error is ErrorCode.INVALID_SESSION_TIMEOUT
    wrong = cluster.join(member_id="x", protocols=[("other", b"")]).answer
    assert (wrong.error_code, wrong.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "x")
    assert cluster.join(member_id="x").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_unknown_id_in_an_empty_group_is_an_unknown_member_if_it_offers_a_protocol(cluster: Cluster) -> None:
    cluster.join()
    assert cluster.join(member_id="x", protocols=[]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert cluster.join(member_id="x").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_error_has_no_protocol_and_no_generation(cluster: Cluster) -> None:
    for version, nothing in ((6, ""), (7, None)):
        answer = cluster.join(member_id="x", version=version).answer
        assert (answer.protocol_name, answer.generation_id, answer.leader) == (nothing, -1, "")


def test_version_0_uses_its_session_timeout_as_rebalance_timeout(cluster: Cluster) -> None:
    cluster.join(version=0, session_timeout="20s")
    (member,) = cluster.group().members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 20_000)


def test_member_id_is_made_without_a_client_id(cluster: Cluster) -> None:
    assert cluster.join(client_id="").answer.member_id.startswith("-")


def test_each_join_without_an_id_adds_a_pending_id(cluster: Cluster) -> None:
    first, second = cluster.join().answer.member_id, cluster.join().answer.member_id
    assert first != second
    assert list(cluster.group().pending_join) == [first, second]
    cluster.advance("10s")
    assert list(cluster.group().pending_join) == []


def test_heartbeats_do_not_renew_a_pending_id(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    assert cluster.heartbeat("g", pending_id, 0).error is ErrorCode.UNKNOWN_MEMBER_ID
    cluster.advance("10s")
    assert cluster.join(member_id=pending_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_cannot_use_a_pending_id(cluster: Cluster) -> None:
    pending_id = cluster.join().answer.member_id
    answer = cluster.join(member_id=pending_id, instance_id="S0").answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert cluster.join(member_id=pending_id).is_parked


@pytest.mark.parametrize("delay_ms", [0, 3000])
@pytest.mark.parametrize("version", [3, 9])
def test_first_join_gets_an_error_while_appends_fail(version: int, delay_ms: int) -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=delay_ms))
    cluster.failing_with = ErrorCode.NOT_ENOUGH_REPLICAS
    member_id, errors = "", []
    for _ in range(6):
        answer = cluster.join(member_id=member_id, version=version).answer
        errors.append(ErrorCode(answer.error_code))
        member_id = answer.member_id if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED else ""
    assert errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 6
    assert cluster.state() == "none"


def test_joins_wait_until_the_first_record_of_the_group_is_durable(cluster: Cluster) -> None:
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


def test_pending_ids_are_limited_over_all_groups_and_the_oldest_are_forgotten() -> None:
    """A client uses its id within milliseconds, so a flood of unused ids does not affect it."""
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


def test_join_phase_completes_when_its_last_pending_id_is_forgotten() -> None:
    cluster = Cluster(Config(group_max_pending_members=1))
    (a,) = cluster.stable_group("g", members=1)
    cluster.join("g")
    assert a.join().is_parked, "the group waits for a pending id"
    cluster.join("other")
    assert a.last_join.error is ErrorCode.NONE


def test_repeated_join_replaces_the_parked_one_which_gets_an_error(cluster: Cluster) -> None:
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


def test_protocol_listed_twice_counts_once(cluster: Cluster) -> None:
    member = cluster.member(protocols=[("range", b"1"), ("range", b"2")])
    member.join()
    cluster.settle([member])
    assert cluster.describe("g").members[0].member_metadata == b"1"


@pytest.mark.parametrize("leader_prefers", ["x", "y"])
def test_leader_decides_a_tied_vote(cluster: Cluster, leader_prefers: str) -> None:
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


def test_longer_rebalance_timeout_does_not_extend_the_current_phase(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    b.join(protocols=[("range", b"other")])
    a.join(rebalance_timeout="500s")
    cluster.advance("60s", heartbeating=[c])
    assert a.generation == b.generation == 2


@pytest.mark.parametrize("rebalance_timeout_ms", [-1, -(2**31), 0])
def test_negative_rebalance_timeout_counts_as_zero(cluster: Cluster, rebalance_timeout_ms: int) -> None:
    a = cluster.member(rebalance_timeout=rebalance_timeout_ms)
    a.join()
    cluster.advance("3s")
    assert a.generation == 1
    assert a.sync().error is ErrorCode.UNKNOWN_MEMBER_ID  # the sync deadline has passed too
    assert cluster.state() == "Empty"


def test_largest_rebalance_timeout_is_accepted(cluster: Cluster) -> None:
    a, b = cluster.stable_group(rebalance_timeout=2**31 - 1, session_timeout="30m")
    a.join()
    cluster.advance(2**31 - 2, heartbeating=[b], every="29m")
    assert a.last_join.is_parked
    cluster.advance(1)
    assert a.generation == 2


class TestAFullGroup:
    def test_refuses_the_second_join_of_a_pending_id(self) -> None:
        cluster = Cluster(Config(group_max_size=1))
        first, second = cluster.join().answer.member_id, cluster.join().answer.member_id
        assert cluster.join(member_id=first).is_parked
        assert cluster.join(member_id=second).error is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert list(cluster.group().pending_join) == []

    def test_takes_a_static_member_back(self) -> None:
        cluster = Cluster(Config(group_max_size=1))
        (a,) = cluster.stable_group(members=1, instance_ids=["S0"])
        assert cluster.join(instance_id="S0").error is ErrorCode.NONE
        assert a.heartbeat().error is ErrorCode.FENCED_INSTANCE_ID
        assert len(cluster.group().members) == 1
        assert cluster.join(instance_id="S1").error is ErrorCode.GROUP_MAX_SIZE_REACHED

    def test_refuses_a_static_member_that_was_replaced(self) -> None:
        cluster = Cluster(Config(group_max_size=1))
        (a,) = cluster.stable_group(members=1, instance_ids=["S0"])
        assert cluster.join(instance_id="S0").error is ErrorCode.NONE
        assert cluster.join(member_id=a.member_id, instance_id="S0").error is ErrorCode.GROUP_MAX_SIZE_REACHED

    def test_that_rebalances_takes_a_static_member_back_while_there_is_room(self) -> None:
        cluster = Cluster(Config(group_max_size=2))
        a, b = cluster.stable_group(instance_ids=["S0", "S1"])
        assert a.join().is_parked
        assert cluster.join(instance_id="S1").error is ErrorCode.NONE
        assert b.heartbeat().error is ErrorCode.FENCED_INSTANCE_ID


def test_group_beyond_max_groups_is_refused_and_can_be_retried() -> None:
    cluster = Cluster(Config(max_groups=1))
    cluster.join("first")
    assert cluster.join("second").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert cluster.commit("third", {("t", 0): 1}).errors == {("t", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert cluster.core.metrics.refused_groups == 2
    cluster.delete_groups("first")
    assert cluster.join("second").error is ErrorCode.MEMBER_ID_REQUIRED


def test_group_is_removed_and_its_joins_fail_if_its_first_record_is_lost(cluster: Cluster) -> None:
    with cluster.log_held():
        call = cluster.join(version=3)
        assert call.is_parked
        cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert (call.error, call.answer.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert cluster.state() == "none"
    assert len(cluster.core.timers.wheel) == len(cluster.log.partitions) * 1 + 1  # the scans, and the append watch


def test_parked_sync_that_a_join_refuses_gets_a_sync_error_if_the_first_record_is_lost() -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=0))
    with cluster.log_held():
        a = cluster.member(version=3)
        a.join()
        cluster.advance(1)
        sync = a.sync()
        assert sync.is_parked
        cluster.member(version=3).join()
        assert sync.is_parked  # its error is held back with the answer to the join
        cluster.fail_appends()
    assert sync.error is ErrorCode.NOT_COORDINATOR


def test_new_group_is_listed_once_its_record_is_durable(cluster: Cluster) -> None:
    with cluster.log_held():
        cluster.join()
        assert cluster.list_groups() == {}
    listed = cluster.list_groups()["g"]
    assert (listed.group_state, listed.protocol_type) == ("Empty", "")


def test_generation_after_the_largest_is_one(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.group().generation = 2**31 - 1
    a.join()
    b.join()
    assert a.generation == 1

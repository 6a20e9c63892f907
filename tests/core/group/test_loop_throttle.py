"""A client that joins in a loop is told to wait, and no other client."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.coordinator import LOOP_JOINS
from protocol.error_codes import ErrorCode
from tests.support.call import Call
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(Config(group_loop_throttle_ms=3_000, group_initial_rebalance_delay_ms=0))


def asks_for_id(member: Member) -> Call:
    """Send the first JoinGroup of a new run."""
    member.member_id = ""
    return member._join_once()


def loop(cluster: Cluster, member: Member, web: Member, turns: int, pause: str = "10s") -> None:
    for _ in range(turns):
        member.member_id = ""
        member.join()
        web.join()
        cluster.settle([web, member])
        cluster.advance(pause, heartbeating=[web, member])
        member.leave()
        web.join()
        web.sync()


@pytest.fixture
def web(cluster: Cluster) -> Member:
    (member,) = cluster.stable_group(members=1, client_id="web-1")
    return member


def test_fourth_join_of_a_client_within_five_minutes_is_throttled(cluster: Cluster, web: Member) -> None:
    looping = cluster.member(client_id="web-7")
    for turn in range(1, LOOP_JOINS + 1):
        call = asks_for_id(looping)
        assert call.error is ErrorCode.MEMBER_ID_REQUIRED
        assert call.answer.throttle_time_ms == (3_000 if turn == LOOP_JOINS else 0)
        loop(cluster, looping, web, 1)
    assert all(call.answer.throttle_time_ms == 0 for call in cluster.calls if call.api == "sync" and not call.is_parked)


def test_no_other_client_waits(cluster: Cluster, web: Member) -> None:
    loop(cluster, cluster.member(client_id="web-7"), web, 5)
    assert web.last_join.answer.throttle_time_ms == 0
    assert asks_for_id(cluster.member(client_id="web-8")).answer.throttle_time_ms == 0
    assert asks_for_id(cluster.member(client_id="web-7", host="/10.0.0.9")).answer.throttle_time_ms == 0
    assert asks_for_id(cluster.member("other-group", client_id="web-7")).answer.throttle_time_ms == 0


def test_joining_with_a_member_id_is_not_throttled(cluster: Cluster, web: Member) -> None:
    """Otherwise the group would wait for the SyncGroup behind it."""
    looping = cluster.member(client_id="web-7")
    loop(cluster, looping, web, 5)
    assert asks_for_id(looping).answer.throttle_time_ms == 3_000
    looping.join()
    web.join()
    cluster.settle([web, looping])
    assert looping.last_join.answer.throttle_time_ms == 0


def test_nor_is_a_join_without_one_that_succeeds(cluster: Cluster, web: Member) -> None:
    """A client before version 4 joins without a member id, and its SyncGroup follows."""
    looping = cluster.member(client_id="web-7")
    loop(cluster, looping, web, 5)
    call = cluster.join(client_id="web-7", version=3)
    web.join()
    cluster.advance("1s")
    assert call.error is ErrorCode.NONE and call.answer.throttle_time_ms == 0


def test_nor_a_static_member_for_whose_sync_a_rebalance_would_wait(cluster: Cluster) -> None:
    cluster.stable_group(members=1, instance_ids=["S0"])
    for turn in range(5):
        cluster.join(instance_id="S0", client_id=("two", "one")[turn % 2])
    cluster.member(client_id="new").join()
    assert cluster.state() == "PreparingRebalance"
    assert cluster.join(instance_id="S0", client_id="two").answer.throttle_time_ms == 0


def test_client_that_stays_for_long_is_not_in_a_loop(cluster: Cluster, web: Member) -> None:
    looping = cluster.member(client_id="web-7")
    loop(cluster, looping, web, 6, pause="170s")
    assert asks_for_id(looping).answer.throttle_time_ms == 0


def test_clients_that_start_together_under_one_name_are_no_loop(cluster: Cluster) -> None:
    members = cluster.stable_group(members=6)
    assert all(member.last_join.answer.throttle_time_ms == 0 for member in members)
    assert asks_for_id(cluster.member()).answer.throttle_time_ms == 0


def test_processes_with_one_instance_id_are_throttled(cluster: Cluster) -> None:
    cluster.stable_group(members=1, instance_ids=["S0"])
    calls = [cluster.join(instance_id="S0", client_id=("two", "one")[turn % 2]) for turn in range(6)]
    assert [call.answer.throttle_time_ms for call in calls] == [0, 0, 0, 3_000, 3_000, 3_000]


def test_brake_is_off_by_default() -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=0))
    (web,) = cluster.stable_group(members=1, client_id="web-1")
    looping = cluster.member(client_id="web-7")
    loop(cluster, looping, web, 6)
    assert asks_for_id(looping).answer.throttle_time_ms == 0

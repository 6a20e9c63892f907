"""A session ends after its timeout without a request, and a heartbeat does not touch the wheel."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import Cause
from coordinator.core.group.heartbeat import HeartbeatTemplate
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster, Member


def test_heartbeat_moves_the_deadline_and_does_not_touch_the_wheel(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    session = cluster.group().members[a.member_id].session
    assert session is not None
    armed_for = session.fires_at_ms
    cluster.advance("1s")
    a.heartbeat()
    assert session.fires_at_ms == armed_for
    assert cluster.group().members[a.member_id].session_deadline_ms == cluster.clock.now_ms + 10_000


def test_new_member_without_heartbeats_is_removed_after_its_session_timeout_not_after_five_minutes(
    cluster: Cluster,
) -> None:
    member = cluster.member()
    member.join()  # parked, with a timeout of 300 s
    cluster.advance("3s")
    assert member.generation == 1
    cluster.advance(9_999)
    assert len(cluster.group().members) == 1
    cluster.advance(1)
    assert cluster.state() == "Empty"


def test_shorter_session_timeout_applies_after_the_next_response(cluster: Cluster) -> None:
    a, b = cluster.stable_group(session_timeout="60s")
    b.join(protocols=[("range", b"other")], session_timeout="6s")
    a.join()
    cluster.settle([a, b])
    cluster.advance(5_999, heartbeating=[a])
    assert cluster.state() == "Stable"
    cluster.advance(1)
    assert list(cluster.group().members) == [a.member_id]


@pytest.mark.parametrize("heartbeats", [0, 1, 7])
def test_session_ends_exactly_one_timeout_after_the_last_heartbeat(cluster: Cluster, heartbeats: int) -> None:
    a, b = cluster.stable_group(members=2)
    for _ in range(heartbeats):
        cluster.advance("3s")
        a.heartbeat()
        b.heartbeat()
    last_ms = cluster.clock.now_ms
    cluster.advance("30s", heartbeating=[a])
    running = cluster.group().rebalance
    assert running is not None
    assert (running.trigger.cause, running.trigger.member.member_id) == (Cause.SESSION_EXPIRED, b.member_id)
    assert running.started_ms == last_ms + 10_000


def test_session_of_a_member_with_a_parked_request_starts_with_the_answer(cluster: Cluster) -> None:
    a, b = cluster.stable_group(rebalance_timeout="100s")
    b.join(protocols=[("range", b"other")])
    cluster.advance("50s", heartbeating=[a])  # its timer has fired without effect
    a.join()
    answered_ms = cluster.clock.now_ms
    cluster.settle([a, b])
    cluster.advance(9_999, heartbeating=[a])
    assert b.member_id in cluster.group().members
    cluster.advance(1)
    assert cluster.clock.now_ms == answered_ms + 10_000
    assert b.member_id not in cluster.group().members


def test_member_that_has_not_rejoined_needs_heartbeats_while_preparing(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    cluster.advance(9_999)
    assert a.last_join.is_parked
    cluster.advance(1)
    assert a.generation == 2
    assert b.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_with_a_parked_sync_needs_no_heartbeats(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    b.sync()
    cluster.advance("50s", heartbeating=[a])
    assert b.last_sync.is_parked
    a.sync()
    assert b.last_sync.error is ErrorCode.NONE


def test_group_is_empty_after_the_session_timeout_of_all_members(cluster: Cluster) -> None:
    cluster.stable_group(members=5)
    cluster.advance("10s")
    assert (cluster.state(), cluster.group().generation) == ("Empty", 2)
    assert cluster.core.metrics.expired_sessions == 5


def test_sessions_restart_when_the_group_is_loaded(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    cluster.advance("9s")
    cluster.crash_and_recover()
    cluster.advance(9_999)
    assert len(cluster.group().members) == 2
    a.heartbeat()
    cluster.advance(1)
    assert list(cluster.group().members) == [a.member_id]


def test_first_failing_check_is_the_answer(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0", "S1"])
    beat = cluster.heartbeat
    assert beat("", "x", 0).error is ErrorCode.INVALID_GROUP_ID
    assert beat("other", "x", 0).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat("g", "x", 0, instance_id="S9").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat("g", b.member_id, 0, instance_id="S0").error is ErrorCode.FENCED_INSTANCE_ID
    assert beat("g", a.member_id, 0, instance_id="S0").error is ErrorCode.ILLEGAL_GENERATION
    assert beat("g", a.member_id, 1).error is ErrorCode.NONE  # a static member may leave its instance id out


class TestHeartbeatTemplate:
    """A heartbeat by its template does exactly what `heartbeat` does, or declines."""

    @pytest.fixture
    def group(self, cluster: Cluster) -> tuple[Cluster, Member, Member, HeartbeatTemplate]:
        a, b = cluster.stable_group(instance_ids=["S0"])
        a.heartbeat()
        template = cluster.core.heartbeat_template("g", a.member_id, "S0", 1)
        assert template is not None
        return cluster, a, b, template

    def test_it_renews_the_session(self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]) -> None:
        cluster, a, b, template = group
        for _ in range(10):
            cluster.advance("5s", heartbeating=[b])
            assert template.renew(cluster.clock.now_ms)
        assert a.member_id in cluster.group().members
        cluster.advance("10s", heartbeating=[b])
        assert a.member_id not in cluster.group().members
        assert not template.renew(cluster.clock.now_ms)

    def test_it_declines_while_the_group_prepares(
        self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]
    ) -> None:
        cluster, _, b, template = group
        b.join(protocols=[("range", b"other")])
        assert not template.renew(cluster.clock.now_ms)

    def test_it_declines_in_another_generation(self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]) -> None:
        cluster, a, b, template = group
        b.join(protocols=[("range", b"other")])
        a.join()
        cluster.settle([a, b])
        assert cluster.state() == "Stable"
        assert not template.renew(cluster.clock.now_ms)

    def test_it_declines_for_a_member_that_was_replaced(
        self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]
    ) -> None:
        cluster, _, _, template = group
        cluster.member(instance_id="S0").join()
        assert cluster.state() == "Stable"
        assert not template.renew(cluster.clock.now_ms)

    def test_it_declines_after_shutdown(self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]) -> None:
        cluster, _, _, template = group
        cluster.shutdown()
        assert not template.renew(cluster.clock.now_ms)

    def test_it_declines_when_the_timer_would_have_to_be_moved_earlier(
        self, group: tuple[Cluster, Member, Member, HeartbeatTemplate]
    ) -> None:
        cluster, a, _, template = group
        cluster.group().members[a.member_id].session_timeout_ms = 1
        assert not template.renew(cluster.clock.now_ms)

    def test_heartbeat_that_would_fail_has_no_template(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group(instance_ids=["S0"])
        template = cluster.core.heartbeat_template
        assert template("other", a.member_id, None, 1) is None
        assert template("g", "x", None, 1) is None
        assert template("g", a.member_id, None, 2) is None
        assert template("g", b.member_id, "S0", 1) is None

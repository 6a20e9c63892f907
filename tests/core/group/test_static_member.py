"""Static members beyond the vectors: replacements with a change, a failing log, or a restart."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.events.model import Cause
from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue
from tests.support.cluster import Cluster, Member


@pytest.fixture
def group(cluster: Cluster) -> tuple[Cluster, Member, Member]:
    """Return the cluster, the leader A, and B, the static member S0."""
    a, b = cluster.stable_group(instance_ids=[None, "S0"])
    return cluster, a, b


def recorded_members(cluster: Cluster) -> list[str]:
    value = cluster.written("g")[-1].value
    assert isinstance(value, GroupValue)
    return [member.member_id for member in value.members]


def test_replacement_is_recorded_with_the_assignment_it_inherits(group: tuple[Cluster, Member, Member]) -> None:
    cluster, a, b = group
    new = cluster.member(instance_id="S0")
    new.join()
    new.take_id()
    assert recorded_members(cluster) == [a.member_id, new.member_id]
    cluster.crash_and_recover()
    assert new.heartbeat().error is ErrorCode.NONE
    assert new.sync().answer.assignment == f"for {b.member_id}".encode()
    assert b.heartbeat().error is ErrorCode.FENCED_INSTANCE_ID


def test_replacement_that_would_change_the_protocol_starts_a_rebalance(cluster: Cluster) -> None:
    both = [("x", b""), ("y", b"")]
    members = [cluster.member(protocols=both), cluster.member(instance_id="S0", protocols=both)]
    for member in members:
        member.join()
    cluster.settle(members)
    assert cluster.group().protocol_name == "x"
    assert cluster.member(instance_id="S0", protocols=[("y", b"")]).join().is_parked
    assert cluster.state() == "PreparingRebalance"


def test_replacement_keeps_client_id_and_host_and_takes_new_timeouts(
    group: tuple[Cluster, Member, Member],
) -> None:
    cluster, _, _ = group
    new = cluster.member(instance_id="S0", client_id="another", session_timeout="30s")
    new.join()
    new.take_id()
    member = cluster.group().members[new.member_id]
    assert (member.client_id, member.session_timeout_ms) == ("client", 30_000)
    assert member.session_deadline_ms == cluster.clock.now_ms + 10_000  # the old one, until its first heartbeat
    new.heartbeat()
    assert member.session_deadline_ms == cluster.clock.now_ms + 30_000


def test_timer_of_the_replaced_member_has_no_effect(group: tuple[Cluster, Member, Member]) -> None:
    cluster, a, _ = group
    new = cluster.member(instance_id="S0")
    new.join()
    cluster.advance("60s", heartbeating=[a, new])
    assert cluster.state() == "Stable"


def test_replacement_before_the_first_sync_inherits_the_pending_sync(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"])
    a.join()
    b.join()
    a.sync()
    assert cluster.state() == "Stable"  # and S0 has not synced yet
    new = cluster.member(instance_id="S0")
    new.join()
    cluster.advance("59s", heartbeating=[a, new])
    assert new.sync().error is ErrorCode.NONE
    cluster.advance("10s", heartbeating=[a, new])
    assert cluster.state() == "Stable"


def test_replacement_that_never_sends_the_pending_sync_is_removed(
    cluster: Cluster,
) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"])
    a.join()
    b.join()
    a.sync()
    new = cluster.member(instance_id="S0")
    new.join()
    cluster.advance("60s", heartbeating=[a, new])
    assert list(cluster.group().members) == [a.member_id]
    running = cluster.group().rebalance
    assert running is not None
    assert running.trigger.cause is Cause.NO_SYNC


class TestWhenTheRecordIsLost:
    def test_replaced_member_is_restored_and_the_join_gets_the_error(
        self, group: tuple[Cluster, Member, Member]
    ) -> None:
        cluster, a, b = group
        new = cluster.member(instance_id="S0", session_timeout="30s", protocols=[("range", b"other")])
        with cluster.log_held():
            new.join()
            cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
        answer = new.last_join.answer
        assert (answer.error_code, answer.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
        assert (answer.generation_id, answer.protocol_name, answer.leader) == (1, "range", a.member_id)
        assert answer.members == []
        assert b.heartbeat().error is ErrorCode.NONE
        member = cluster.group().members[b.member_id]
        assert (member.session_timeout_ms, member.protocols) == (10_000, b.protocols)
        assert cluster.state() == "Stable"

    def test_leader_is_leader_again(self, cluster: Cluster) -> None:
        a, _ = cluster.stable_group(instance_ids=["S0"])
        with cluster.log_held():
            cluster.member(instance_id="S0").join()
            assert cluster.group().leader_id != a.member_id
            cluster.fail_appends()
        assert cluster.group().leader_id == a.member_id

    def test_join_takes_part_in_a_rebalance_that_began_meanwhile(self, group: tuple[Cluster, Member, Member]) -> None:
        cluster, a, _ = group
        new = cluster.member(instance_id="S0")
        with cluster.log_held():
            new.join()
            a.join()
            cluster.fail_appends()
        assert a.generation == new.generation == 2

    def test_record_that_is_durable_too_late_is_corrected(self, group: tuple[Cluster, Member, Member]) -> None:
        cluster, a, b = group
        new = cluster.member(instance_id="S0")
        with cluster.log_held():
            new.join()
            cluster.advance("5s", heartbeating=[a, b])
            assert new.last_join.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert recorded_members(cluster) == [a.member_id, b.member_id]
        cluster.crash_and_recover()
        assert b.heartbeat().error is ErrorCode.NONE


def test_rebalance_that_begins_during_the_append_answers_the_join(
    group: tuple[Cluster, Member, Member],
) -> None:
    cluster, a, _ = group
    new = cluster.member(instance_id="S0")
    with cluster.log_held():
        new.join()
        a.join()
        assert new.generation == a.generation == 2
    cluster.settle([a, new])
    assert cluster.state() == "Stable"


def test_record_does_not_answer_a_join_that_belongs_to_a_rebalance(cluster: Cluster) -> None:
    a, _, c = cluster.stable_group(members=3, instance_ids=[None, "S0"])
    new = cluster.member(instance_id="S0")
    with cluster.log_held():
        new.join()
        a.join()
    assert cluster.state() == "PreparingRebalance"
    assert new.last_join.is_parked
    c.join()
    assert new.generation == 2


def test_second_replacement_during_the_append_fences_the_first(
    group: tuple[Cluster, Member, Member],
) -> None:
    cluster, _, _ = group
    second, third = cluster.member(instance_id="S0"), cluster.member(instance_id="S0")
    with cluster.log_held():
        second.join()
        third.join()
        assert second.last_join.error is ErrorCode.FENCED_INSTANCE_ID
    assert third.last_join.error is ErrorCode.NONE


@pytest.mark.parametrize("prefix", ["S0", ""])
def test_any_instance_id_is_accepted_even_an_empty_one(cluster: Cluster, prefix: str) -> None:
    member = cluster.member(instance_id=prefix)
    member.join()
    cluster.settle([member])
    assert member.member_id.startswith(f"{prefix}-")
    assert cluster.group().static_members == {prefix: member.member_id}


def test_session_of_a_replacement_that_fired_during_the_append_is_armed_again() -> None:
    """The session of a member with a parked request does not end; once it is answered, it must end again."""
    cluster = Cluster(Config(offsets_commit_timeout_ms=30_000))
    a, _ = cluster.stable_group(instance_ids=[None, "S0"])
    with cluster.log_held():
        new = cluster.member(instance_id="S0")
        new.join()
        cluster.advance("15s", heartbeating=[a])
    new.take_id()
    assert new.last_join.error is ErrorCode.NONE
    cluster.advance("9s", heartbeating=[a])
    assert cluster.state() == "Stable"
    cluster.advance("1s", heartbeating=[a])
    assert cluster.state() == "PreparingRebalance"
    assert new.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_replacement_in_flight_at_shutdown_is_answered_like_a_failed_append(
    group: tuple[Cluster, Member, Member],
) -> None:
    cluster, a, _ = group
    cluster.flushes_at_once = False
    new = cluster.member(instance_id="S0")
    new.join()
    cluster.shutdown()
    answer = new.last_join.answer
    assert new.last_join.error is ErrorCode.NOT_COORDINATOR
    assert (answer.member_id, answer.leader, answer.generation_id) == ("", a.member_id, 1)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")

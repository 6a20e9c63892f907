"""A parked heartbeat is answered by the first thing that touches its member, and else when its time is over."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import ClientSoftware
from coordinator.core.group.parked_heartbeat import Release
from protocol.error_codes import ErrorCode
from tests.support.call import Call
from tests.support.cluster import Cluster, Member

NONE = ErrorCode.NONE


def released(cluster: Cluster) -> dict[str, int]:
    """Return how many heartbeats ended, by the reason."""
    return {why: count for why, count in cluster.core.metrics.released_heartbeats.items() if count}


def session_ends_ms(cluster: Cluster, member: Member) -> int:
    return cluster.group(member.group_id).members[member.member_id].session_deadline_ms


class TestRelease:
    """Each reason, with its code."""

    def test_a_member_that_joins(self, cluster: Cluster) -> None:
        calls = [member.park() for member in cluster.stable_group(members=3)]
        assert all(call.is_parked for call in calls)
        cluster.member().join()
        assert [call.error for call in calls] == [ErrorCode.REBALANCE_IN_PROGRESS] * 3
        assert released(cluster) == {"rebalance": 3}

    def test_a_member_that_leaves_is_unknown_and_the_others_rebalance(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        calls = [a.park(), b.park()]
        b.leave()
        assert [call.error for call in calls] == [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID]
        assert released(cluster) == {"rebalance": 1, "member_removed": 1}

    def test_a_session_that_ends(self, cluster: Cluster) -> None:
        a, _ = cluster.stable_group()
        cluster.advance("8s", heartbeating=[a], every="1s")
        call = a.park()
        cluster.advance("2s")
        assert call.error is ErrorCode.REBALANCE_IN_PROGRESS

    def test_a_leader_that_rejoins_alone_hears_it_before_its_next_generation(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        call = a.park()
        a.join()
        assert not a.last_join.is_parked, "the join phase was over at once"
        assert call.error is ErrorCode.REBALANCE_IN_PROGRESS

    @pytest.mark.parametrize(
        ("names_its_instance", "error"), [(True, ErrorCode.FENCED_INSTANCE_ID), (False, ErrorCode.UNKNOWN_MEMBER_ID)]
    )
    def test_a_static_member_is_fenced_by_its_next_run(
        self, cluster: Cluster, names_its_instance: bool, error: ErrorCode
    ) -> None:
        a, b = cluster.stable_group(instance_ids=["one", "two"])
        a.instance_id = "one" if names_its_instance else None
        calls = [a.park(), b.park()]
        cluster.member(instance_id="one").join()
        assert calls[0].error is error
        assert calls[1].is_parked, "the group stays Stable"
        assert released(cluster) == {"member_replaced": 1}

    def test_a_replacement_that_is_undone_leaves_nothing_parked(self, cluster: Cluster) -> None:
        cluster.stable_group(instance_ids=["one"], members=1)
        with cluster.log_held():
            successor = cluster.member(instance_id="one")
            successor.join()
            (successor.member_id,) = cluster.group().members
            call = successor.park(1)
            cluster.fail_appends()
        assert call.error is ErrorCode.FENCED_INSTANCE_ID

    def test_shutdown(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        call = a.park()
        cluster.shutdown()
        assert call.error is ErrorCode.NOT_COORDINATOR
        assert released(cluster) == {"unloaded": 1}

    def test_a_partition_that_is_loaded_again(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        call = a.park()
        cluster.load()
        assert call.error is ErrorCode.NOT_COORDINATOR
        assert a.park().is_parked, "the member is there again"

    def test_a_newer_heartbeat_on_another_connection(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        older = a.park()
        newer = a.park()
        assert (older.error, newer.error) == (NONE, NONE)
        assert released(cluster) == {"other_connection": 1}
        assert a.park().is_parked

    @pytest.mark.parametrize("request_of", ["join", "sync"])
    def test_a_needless_join_or_sync_on_another_connection(self, cluster: Cluster, request_of: str) -> None:
        _, b = cluster.stable_group()
        call = b.park()
        answer: Call = getattr(b, request_of)()
        assert (call.error, answer.error) == (NONE, NONE)
        assert released(cluster) == {"other_connection": 1}

    def test_bytes_behind_it(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        call = a.park()
        cluster.send_bytes_behind(call)
        assert call.error is NONE
        assert released(cluster) == {"next_bytes": 1}

    def test_a_lost_connection_gets_no_answer(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        call = a.park()
        ends_ms = session_ends_ms(cluster, a)
        cluster.lose_connection_of(call)
        cluster.advance("5s")
        assert call.is_parked and session_ends_ms(cluster, a) == ends_ms
        assert released(cluster) == {"connection_lost": 1}

    def test_its_time_is_over(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1, session_timeout="30s")
        call = a.park()
        cluster.advance(5_749)
        assert call.is_parked
        cluster.advance(1)
        assert call.error is NONE
        assert released(cluster) == {"time_over": 1}

    def test_there_is_a_count_for_each_reason(self, cluster: Cluster) -> None:
        assert cluster.core.metrics.released_heartbeats == dict.fromkeys((why.value for why in Release), 0)

    def test_it_is_answered_once(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        call = a.park()
        b.leave()
        cluster.send_bytes_behind(call)
        cluster.lose_connection_of(call)
        cluster.advance("5s", heartbeating=[a])
        assert call.error is ErrorCode.REBALANCE_IN_PROGRESS, "and the cluster has refused no second answer"
        assert released(cluster) == {"rebalance": 1}


class TestBound:
    @pytest.mark.parametrize(
        ("park_ms", "session", "bound_ms"),
        [
            (4_000, "30s", 4_000),
            (5_750, "30s", 5_750),
            (5_750, "12s", 2_750),
            (9_000, "25s", 5_750),
            (4_000, "6s", 2_000),
            (9_000, "10m", 9_000),
            (1_100, "30s", 1_000),
        ],
    )
    def test_the_setting_and_a_third_of_the_session_in_steps(self, park_ms: int, session: str, bound_ms: int) -> None:
        cluster = Cluster(Config(group_heartbeat_park_ms=park_ms))
        (a,) = cluster.stable_group(members=1, session_timeout=session)
        call = a.park()
        began_ms = cluster.clock.now_ms
        cluster.advance("9s")
        assert call.answered_at_ms - began_ms == bound_ms

    @pytest.mark.parametrize(("park_ms", "bound_ms"), [(4_000, 8_000), (6_000, 9_000), (0, 0)])
    def test_a_client_that_counts_from_the_answer_waits_twice_as_long(self, park_ms: int, bound_ms: int) -> None:
        cluster = Cluster(Config(group_heartbeat_park_ms=park_ms))
        (a,) = cluster.stable_group(members=1, session_timeout="30s", software=ClientSoftware("kgo", "1.22"))
        call = a.park()
        began_ms = cluster.clock.now_ms
        cluster.advance("9s")
        assert call.answered_at_ms - began_ms == bound_ms

    @pytest.mark.parametrize(("park_ms", "session", "bound_ms"), [(5_750, "30s", 2_900), (2_000, "30s", 2_000)])
    def test_a_client_that_polls_without_a_pause_meanwhile_waits_for_less_than_its_interval(
        self, park_ms: int, session: str, bound_ms: int
    ) -> None:
        cluster = Cluster(Config(group_heartbeat_park_ms=park_ms))
        software = ClientSoftware("kafka-python", "3.0.12")
        (a,) = cluster.stable_group(members=1, session_timeout=session, software=software)
        call = a.park()
        began_ms = cluster.clock.now_ms
        cluster.advance("9s")
        assert call.answered_at_ms - began_ms == bound_ms

    def test_the_software_is_known_at_the_first_heartbeat_after_a_start(self) -> None:
        cluster = Cluster(Config())
        software = ClientSoftware("kafka-python", "3.0.12")
        (a,) = cluster.stable_group(members=1, session_timeout="30s", software=software)
        cluster.crash_and_recover()
        call = a.park()
        began_ms = cluster.clock.now_ms
        cluster.advance("9s")
        assert call.answered_at_ms - began_ms == 2_900

    @pytest.mark.parametrize(("park_ms", "session"), [(0, "30s"), (249, "30s"), (4_000, 700)])
    def test_none_is_parked_for_less_than_a_step(self, park_ms: int, session: str | int) -> None:
        cluster = Cluster(Config(group_heartbeat_park_ms=park_ms, group_min_session_timeout_ms=1))
        (a,) = cluster.stable_group(members=1, session_timeout=session)
        assert a.park().error is NONE

    def test_those_of_one_session_timeout_share_a_timer(self, cluster: Cluster) -> None:
        members = [*cluster.stable_group("g", members=5), *cluster.stable_group("h", members=5)]
        timers = len(cluster.core.timers.wheel)
        for member in members:
            member.park()
        assert len(cluster.core.timers.wheel) == timers + 1
        assert cluster.core.timers.parked_heartbeats.waiting == 10
        cluster.advance("4s")
        assert cluster.core.timers.parked_heartbeats.waiting == 0

    def test_short_ones_do_not_wait_for_long_ones(self, cluster: Cluster) -> None:
        (long,) = cluster.stable_group("long", members=1, session_timeout="60s")
        (short,) = cluster.stable_group("short", members=1, session_timeout="6s")
        first, second = long.park(), short.park()
        cluster.advance("2s")
        assert first.is_parked and second.error is NONE


class TestSession:
    def test_arrival_renews_and_release_does_not(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        cluster.advance("2s")
        a.park()
        ends_ms = session_ends_ms(cluster, a)
        assert ends_ms == cluster.clock.now_ms + 10_000
        cluster.advance("4s")
        assert session_ends_ms(cluster, a) == ends_ms

    def test_a_silent_member_is_removed_one_session_after_its_last_heartbeat_arrived(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        a.park()
        cluster.advance(9_999, heartbeating=[b])
        assert len(cluster.group().members) == 2
        cluster.advance(1)
        assert list(cluster.group().members) == [b.member_id]

    def test_it_tells_the_software_of_a_member_that_was_loaded(self, cluster: Cluster) -> None:
        kgo = ClientSoftware("kgo", "1.22.2")
        (a,) = cluster.stable_group(members=1, software=kgo)
        cluster.crash_and_recover()
        assert a.park().is_parked
        assert cluster.group().members[a.member_id].client_software == kgo


class TestRefusal:
    """The core declines, and the heartbeat is answered at once."""

    def test_a_group_that_is_not_stable(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        b.join(protocols=[("range", b"other")])
        assert a.park().error is ErrorCode.REBALANCE_IN_PROGRESS
        a.join()
        assert cluster.state() == "CompletingRebalance"
        a.take_id()
        assert a.park().error is NONE

    def test_an_old_generation_and_an_unknown_member(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        assert a.park(generation=0).error is ErrorCode.ILLEGAL_GENERATION
        a.leave()
        assert a.park(generation=1).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_broken_group_answers_its_parked_heartbeats() -> None:
    cluster = Cluster()
    cluster.expects_faults = True
    a, b = cluster.stable_group()
    call = a.park()
    group = cluster.group()
    group.protocol_counts.clear()  # the next member that is removed finds no count of its protocol
    b.leave()
    assert call.error is ErrorCode.NOT_COORDINATOR
    assert cluster.core.take_broken_partitions()

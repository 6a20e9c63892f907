"""Faults in one group do not affect others, shutdown answers all parked requests, and no timers are left over."""

from __future__ import annotations

from contextlib import suppress

import pytest

from coordinator.core.coordinator import MAX_TIMERS_PER_EVENT
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster, Member


@pytest.fixture
def two_partitions(cluster: Cluster) -> Cluster:
    """Return a cluster in which groups `a` and `b` are in different partitions."""
    assert cluster.core.partition_for("a") != cluster.core.partition_for("b")
    return cluster


def break_invariant(cluster: Cluster, group_id: str) -> None:
    """Corrupt the leader's protocols; the next event that removes or changes them raises InvariantError."""
    group = cluster.group(group_id)
    assert group.leader is not None
    group.leader.protocols = (("not counted", b""),)


class TestABrokenInvariant:
    def test_is_answered_and_only_its_partition_is_loaded_again(self, two_partitions: Cluster) -> None:
        cluster = two_partitions
        cluster.expects_faults = True
        (a,) = cluster.stable_group("a", members=1)
        (b,) = cluster.stable_group("b", members=1)
        a.commit({("t", 0): 5})
        number = cluster.core.partition_for("a")
        parked = cluster.member("a")
        parked.join()
        break_invariant(cluster, "a")
        assert cluster.join("a", a.member_id, protocols=a.protocols).error is ErrorCode.UNKNOWN_SERVER_ERROR
        assert parked.last_join.error is ErrorCode.NOT_COORDINATOR
        assert cluster.core.take_broken_partitions() == [number]
        assert cluster.core.take_broken_partitions() == []
        assert cluster.heartbeat("a", a.member_id, 1).error is ErrorCode.NONE  # its partition loads
        assert cluster.commit("a", {("t", 0): 6}).errors == {("t", 0): ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        assert b.heartbeat().error is ErrorCode.NONE
        self.reload(cluster, number)
        assert a.heartbeat().error is ErrorCode.NONE
        assert cluster.committed("a") == {("t", 0): 5}

    def test_in_a_timer_is_contained_too(self, two_partitions: Cluster) -> None:
        cluster = two_partitions
        cluster.expects_faults = True
        cluster.stable_group("a", members=1)
        (b,) = cluster.stable_group("b", members=1, session_timeout="60s")
        break_invariant(cluster, "a")
        cluster.clock.now_ms += 10_000
        cluster.execute(cluster.core.advance_clock(cluster.clock.now_ms))
        assert cluster.core.take_broken_partitions() == [cluster.core.partition_for("a")]
        assert "no member was counted" in cluster.core.take_faults()[0]
        assert b.heartbeat().error is ErrorCode.NONE

    @pytest.mark.plain("sets a number to None, which the compiled build refuses")
    def test_in_a_scan_for_expired_offsets_does_not_end_the_scans(self, two_partitions: Cluster) -> None:
        """The partition is loaded again like any other broken one, and loading schedules the next scan."""
        cluster = two_partitions
        cluster.expects_faults = True
        cluster.commit("a", {("t", 0): 5})
        number = cluster.core.partition_for("a")
        cluster.group("a").protocol_type = "connect"
        cluster.group("a").state_timestamp_ms = None  # type: ignore[assignment]
        cluster.advance("10m")
        assert cluster.core.take_broken_partitions() == [number]
        self.reload(cluster, number)
        assert cluster.committed("a") == {("t", 0): 5}
        cluster.advance("7.1d")
        assert cluster.state("a") == "none"

    @pytest.mark.plain("a state that is none: the compiled build refuses to store it")
    def test_in_describing_a_group_is_answered(self, two_partitions: Cluster) -> None:
        cluster = two_partitions
        cluster.expects_faults = True
        cluster.stable_group("a", members=1)
        cluster.group("a").state = "no state"  # type: ignore[assignment]
        with suppress(KeyError):  # the checks cannot count such a state either
            cluster.describe("a")
        assert cluster.calls[-1].answer.groups[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    def test_answers_requests_that_wait_for_an_append_and_ignores_its_outcome(self, two_partitions: Cluster) -> None:
        cluster = two_partitions
        cluster.expects_faults = True
        (a,) = cluster.stable_group("a", members=1)
        number = cluster.core.partition_for("a")
        with cluster.log_held():
            commit = a.commit({("t", 0): 5})
            fetch = cluster.fetch("a", require_stable=True)
            break_invariant(cluster, "a")
            assert a.leave().error is ErrorCode.UNKNOWN_SERVER_ERROR
            assert commit.errors == {("t", 0): ErrorCode.NOT_COORDINATOR}
            assert fetch.answer.groups[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self.reload(cluster, number)
        assert cluster.committed("a") == {("t", 0): 5}  # written, although the client got an error

    @staticmethod
    def reload(cluster: Cluster, number: int) -> None:
        cluster.load_one(number)
        cluster.check()


class TestShutdown:
    def test_answers_all_parked_requests(self, cluster: Cluster) -> None:
        cluster.stable_group("left", members=1)[0].leave()
        a, b = cluster.stable_group("syncing")
        a.join()
        b.join()
        b.sync()
        joining = cluster.member("joining")
        joining.join()
        cluster.flushes_at_once = False
        commit = cluster.commit("simple", {("t", 0): 1})
        fetch = cluster.fetch("simple", require_stable=True)
        deletion = cluster.delete_groups("simple")
        deleting = cluster.delete_groups("left")
        a.sync()
        cluster.shutdown()
        again = ErrorCode.NOT_COORDINATOR
        assert joining.last_join.error is a.last_sync.error is b.last_sync.error is again
        assert joining.last_join.answer.member_id.startswith("client-")
        assert commit.errors == {("t", 0): again}
        assert fetch.answer.groups[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert deletion.answer.results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert deleting.answer.results[0].error_code == again
        assert not any(call.is_parked for call in cluster.calls)

    def test_refuses_all_requests_afterwards(self, cluster: Cluster) -> None:
        a, _ = cluster.stable_group()
        cluster.shutdown()
        again = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert cluster.join().error is again
        assert cluster.join("").error is again  # before any other check
        assert a.sync().error is a.heartbeat().error is a.leave().error is again
        assert cluster.commit("g", {("t", 0): 1}).errors == {("t", 0): again}
        assert cluster.txn_commit("g", {("t", 0): 1}).errors == {("t", 0): again}
        assert cluster.fetch("g").answer.groups[0].error_code == again
        assert cluster.describe("g").error_code == again
        assert cluster.delete_offsets("g", ("t", 0)).error is again
        assert cluster.delete_groups("g").answer.results[0].error_code == again
        with pytest.raises(AssertionError):
            cluster.list_groups()
        assert cluster.calls[-1].error is again

    def test_durable_state_is_loaded_by_the_next_process(self, cluster: Cluster) -> None:
        a, _ = cluster.stable_group()
        cluster.shutdown()
        cluster.crash_and_recover()
        assert a.heartbeat().error is ErrorCode.NONE


class TestAGenerationLostInACrashBeforeItsSync:
    """Its number is used again (Kafka stores a generation when it is synced), and its assignments must not apply."""

    @pytest.fixture
    def members(self, cluster: Cluster) -> list[Member]:
        """Return member 0, the stored leader of generation 1, and member 1, the lost leader of generation 2."""
        first, second = members = cluster.stable_group(session_timeout="30s")
        first.leave()
        assert second.join().answer.leader == second.member_id
        assert second.generation == 2
        cluster.crash_and_recover()
        assert cluster.group().generation == 1
        return members

    def test_its_leader_gets_illegal_generation(self, cluster: Cluster, members: list[Member]) -> None:
        _, second = members
        assert second.sync().error is second.heartbeat().error is ErrorCode.ILLEGAL_GENERATION
        assert cluster.state() == "Stable"

    def test_its_leader_is_a_follower_if_another_member_leads_the_same_number(
        self, cluster: Cluster, members: list[Member]
    ) -> None:
        first, second = members
        first.join()
        second.join()
        assert (second.generation, second.is_leader, first.is_leader) == (2, False, True)
        stale = cluster.sync("g", second.member_id, 2, {first.member_id: b"stale", second.member_id: b"stale"})
        assert stale.is_parked
        cluster.sync("g", first.member_id, 2, {first.member_id: b"its", second.member_id: b"other"})
        assert stale.answer.assignment == b"other"


def test_one_event_runs_a_bounded_number_of_timers() -> None:
    cluster = Cluster()
    for _ in range(MAX_TIMERS_PER_EVENT + 50):
        cluster.join()
    cluster.advance(9_999)
    cluster.clock.now_ms += 1
    cluster.tick()
    assert len(cluster.group().pending_join) == 50
    assert cluster.core.next_deadline_ms() == cluster.clock.now_ms
    cluster.tick()
    assert len(cluster.group().pending_join) == 0


def test_no_operation_is_left_in_the_purgatories_after_all_groups_are_deleted() -> None:
    cluster = Cluster()
    cluster.stable_group(members=5)
    cluster.join("g")
    cluster.advance("60s")
    cluster.delete_groups("g")
    timers = cluster.core.timers
    assert (timers.rebalances.waiting, timers.heartbeats.waiting) == (0, 0)
    assert (timers.rebalances.watched_keys, timers.appends.watched_keys) == (0, 0)

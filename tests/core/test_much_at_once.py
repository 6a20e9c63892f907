"""Very many requests or members that wait are answered in steps: each once, and others run in between."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.group import rebalance
from coordinator.core.group.leave import LEAVING_AT_ONCE
from coordinator.core.offsets import deletion, fetch
from coordinator.core.shard import ANSWERED_AT_ONCE
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.call import Call
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member

MANY = 2 * ANSWERED_AT_ONCE + 7


def step(cluster: Cluster) -> None:
    """Take one step; what it appended is durable, or fails, before the next one."""
    cluster.step()
    if cluster.failing_with is not None:
        cluster.fail_appends(cluster.failing_with)
    else:
        cluster.flush()


def steps_until_idle(cluster: Cluster) -> int:
    steps = 0
    while cluster.core.has_work:
        step(cluster)
        steps += 1
    return steps


class TestAppendsInFlight:
    def test_that_fail_together_are_answered_in_steps(self) -> None:
        cluster = Cluster(partitions=1)
        cluster.holds_work = True
        with cluster.log_held():
            calls = [cluster.commit(f"g-{number}", {("t", 0): number}) for number in range(MANY)]
            cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
            assert sum(not call.is_parked for call in calls) == ANSWERED_AT_ONCE
            retried = cluster.commit("g-0", {("t", 0): 7})
            cluster.flush()
            assert retried.errors == {("t", 0): ErrorCode.NONE}  # it need not wait for those before it
            assert steps_until_idle(cluster) == 2
        assert {call.errors["t", 0] for call in calls} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert list(cluster.core.groups) == ["g-0"]
        assert cluster.core.group_count == 1

    def test_that_fail_again_before_all_are_answered_are_answered_once(self) -> None:
        cluster = Cluster(partitions=1)
        cluster.holds_work = True
        with cluster.log_held():
            first = [cluster.commit("g", {("t", 0): number}) for number in range(MANY)]
            cluster.fail_appends()
            second = [cluster.commit("g", {("t", 0): number}) for number in range(MANY)]
            cluster.fail_appends()
            steps_until_idle(cluster)
        assert all(call.errors["t", 0] is ErrorCode.NOT_COORDINATOR for call in first + second)

    def test_that_are_late_together_are_answered_in_parts(self) -> None:
        cluster = Cluster(Config(offsets_commit_timeout_ms=5000), partitions=1)
        with cluster.log_held():
            calls = [cluster.commit("g", {("t", 0): number}) for number in range(MANY)]
            cluster.clock.now_ms += 5000
            cluster.execute(cluster.core.advance_clock(cluster.clock.now_ms))
            assert sum(not call.is_parked for call in calls) == ANSWERED_AT_ONCE
            assert cluster.core.next_deadline_ms() == cluster.clock.now_ms
            cluster.advance(0)
            assert {call.errors["t", 0] for call in calls} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
            cluster.flush()
        assert cluster.committed("g") == {("t", 0): MANY - 1}


class TestUnloading:
    def test_at_a_stop_answers_all_that_wait_in_steps(self) -> None:
        cluster = Cluster(partitions=1)
        calls = [cluster.join("g", version=3) for _ in range(MANY)]
        cluster.execute(cluster.core.shutdown(cluster.clock.now_ms))
        assert sum(not call.is_parked for call in calls) == ANSWERED_AT_ONCE
        assert cluster.core.group_count == 0
        assert steps_until_idle(cluster) >= 2
        assert cluster.join("g").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert {call.error for call in calls} == {ErrorCode.NOT_COORDINATOR}

    def test_a_timer_of_a_group_that_waits_for_its_step_changes_nothing(self) -> None:
        cluster = Cluster(partitions=1)
        cluster.holds_work = True
        for _ in range(MANY):
            cluster.join("g", version=3)
        cluster.core.load_begin(0)
        cluster.clock.now_ms += 400_000  # beyond the initial delay and all sessions
        for _ in range(20):
            effects = cluster.core.advance_clock(cluster.clock.now_ms)
            assert not effects.appends
            cluster.execute(effects)
        steps_until_idle(cluster)
        assert cluster.core.totals.members == 0

    def test_offsets_are_freed_in_steps(self) -> None:
        cluster = Cluster(Config(), partitions=1)
        for start in range(0, 3000, 500):
            cluster.commit("big", {("t", partition): 1 for partition in range(start, start + 500)})
        cluster.commit("small", {("t", 0): 1})
        cluster.core.load_begin(0)
        assert cluster.core.offset_count == 0
        assert steps_until_idle(cluster) >= 3


class TestRebalanceOfALargeGroup:
    @pytest.fixture
    def large(self, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, list[Member]]:
        monkeypatch.setattr(rebalance, "ANSWERED_AT_ONCE", 5)
        cluster = Cluster(partitions=1)
        return cluster, cluster.stable_group(members=17)

    def rejoin(self, cluster: Cluster, members: list[Member]) -> None:
        """Have all rejoin, and stop after the first step of the answers."""
        cluster.holds_work = True
        members[3].join(protocols=[("range", b"other")])
        for member in members:
            if member is not members[3]:
                member.join()

    def test_answers_the_leader_last(self, large: tuple[Cluster, list[Member]]) -> None:
        cluster, members = large
        self.rejoin(cluster, members)
        assert sum(not member.last_join.is_parked for member in members) == 5
        assert cluster.state() == "CompletingRebalance"
        assert steps_until_idle(cluster) == 3
        assert {member.generation for member in members} == {2}
        (leader,) = [member for member in members if member.is_leader]
        assert len(leader.last_join.answer.members) == 17

    def test_that_is_interrupted_answers_the_rest_with_the_next_generation(
        self, large: tuple[Cluster, list[Member]]
    ) -> None:
        cluster, members = large
        self.rejoin(cluster, members)
        told = [member for member in members if not member.last_join.is_parked]
        told[0].leave()
        assert cluster.state() == "PreparingRebalance"
        assert steps_until_idle(cluster) == 1  # of the old answers, which stop
        assert sum(member.last_join.is_parked for member in members) == 12
        for member in told[1:]:
            member.join()
        steps_until_idle(cluster)
        assert {member.generation for member in members if member is not told[0]} == {3}

    def test_members_that_leave_together_start_one_rebalance(self) -> None:
        cluster = Cluster(partitions=1)
        members = cluster.stable_group(members=2 * LEAVING_AT_ONCE + 3)
        cluster.holds_work = True
        call = cluster.leave("g", *(member.member_id for member in members[1:]))
        assert len(cluster.group().members) == len(members) - LEAVING_AT_ONCE
        assert members[0].heartbeat().error is ErrorCode.NONE  # until all of them have left
        assert steps_until_idle(cluster) == 2
        assert [entry.error_code for entry in call.answer.members] == [0] * (len(members) - 1)
        assert members[0].heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
        members[0].join()
        assert members[0].generation == cluster.group().generation

    def test_members_that_leave_first_cost_no_more_than_others(self) -> None:
        cluster = Cluster(partitions=1)
        members = cluster.stable_group(members=120)
        cluster.leave("g", *(member.member_id for member in members[:-1]))
        assert list(cluster.group().members) == [members[-1].member_id]
        assert cluster.group().leader_id == members[-1].member_id


class TestOffsetsThatAreReadInSteps:
    @pytest.fixture
    def reading(self, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, Call]:
        """A Cluster, and an OffsetFetch of all offsets of a group that has begun to read them."""
        monkeypatch.setattr(fetch, "OFFSETS_PER_STEP", 5)
        cluster = Cluster(partitions=1)
        cluster.commit("g", {(topic, partition): 1 for topic in ("t", "u") for partition in range(20)})
        cluster.holds_work = True
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
        call = cluster.send("fetch", request, 8)
        cluster.step()
        return cluster, call

    def test_are_refused_when_their_partition_is_unloaded_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer without offsets would make the consumer begin anew."""
        monkeypatch.setattr(fetch, "OFFSETS_PER_STEP", 5)
        cluster = Cluster(partitions=1)
        cluster.commit("g", {("t", partition): 1 for partition in range(20)})
        cluster.holds_work = True
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
        call = cluster.send("fetch", request, 8)
        cluster.core.load_begin(0)
        steps_until_idle(cluster)
        assert [group.error_code for group in call.answer.groups] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]

    def all_of(self, call: Call) -> dict[tuple[str, int], int]:
        (group,) = call.answer.groups
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in group.topics
            for partition in topic.partitions
        }

    def test_are_those_of_one_moment(self, reading: tuple[Cluster, Call]) -> None:
        cluster, call = reading
        cluster.commit("g", {("u", 19): 7, ("u", 20): 7, ("v", 0): 7})
        cluster.delete_offsets("g", ("t", 19), ("u", 3))
        steps_until_idle(cluster)
        assert self.all_of(call) == {(topic, partition): 1 for topic in ("t", "u") for partition in range(20)}
        cluster.holds_work = False
        assert cluster.committed("g")["u", 19] == 7
        assert ("u", 3) not in cluster.committed("g")

    def test_are_still_there_when_their_partition_is_unloaded(self, reading: tuple[Cluster, Call]) -> None:
        cluster, call = reading
        cluster.core.load_begin(0)
        steps_until_idle(cluster)
        assert set(self.all_of(call).values()) == {1}


class TestDeletionOfALargeGroup:
    @pytest.fixture
    def large(self, monkeypatch: pytest.MonkeyPatch) -> Cluster:
        monkeypatch.setattr(deletion, "MAX_TOMBSTONES_AT_ONCE", 10)
        cluster = Cluster(partitions=1)
        cluster.commit("g", {(topic, partition): 1 for topic in ("t", "u", "v") for partition in range(8)})
        cluster.commit("other", {("t", 0): 1})
        return cluster

    def test_takes_several_appends_and_one_answer(self, large: Cluster) -> None:
        call = large.delete_groups("g", "other")
        assert [result.error_code for result in call.answer.results] == [0, 0]
        assert list(large.core.groups) == []
        large.crash_and_recover()
        assert list(large.core.groups) == []
        assert large.core.offset_count == 0

    def test_refuses_commits_meanwhile(self, large: Cluster) -> None:
        large.holds_work = True
        call = large.delete_groups("g")
        assert large.commit("g", {("t", 0): 2}).errors == {("t", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
        steps_until_idle(large)
        assert [result.error_code for result in call.answer.results] == [0]

    @pytest.mark.parametrize("steps", [0, 1, 2])
    def test_that_fails_keeps_what_is_left_and_can_be_repeated(self, large: Cluster, steps: int) -> None:
        large.holds_work = True
        call = large.delete_groups("g")
        for _ in range(steps):
            step(large)
        large.failing_with = ErrorCode.NOT_ENOUGH_REPLICAS
        steps_until_idle(large)
        large.failing_with = None
        steps_until_idle(large)
        assert [result.error_code for result in call.answer.results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        assert large.state() == "Empty"
        left = len(large.committed("g"))
        large.crash_and_recover()
        assert len(large.committed("g")) == left
        large.holds_work = False
        assert [result.error_code for result in large.delete_groups("g").answer.results] == [0]

    def test_whose_failure_waits_behind_many_others_does_not_go_on(self, large: Cluster) -> None:
        """Otherwise the group would be gone for good, and offsets of it would be there."""
        large.holds_work = True
        with large.log_held():
            for number in range(MANY):
                large.commit(f"g-{number}", {("t", 0): number})
            call = large.delete_groups("g")
            large.step()
            large.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
            assert call.is_parked
            steps_until_idle(large)
        assert [result.error_code for result in call.answer.results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        assert large.state() == "Empty"
        assert len(large.committed("g")) == 24

    def test_stays_below_message_max_bytes_with_a_long_group_id(self) -> None:
        """Parts that are refused for their size would leave offsets of a group that is gone."""
        cluster = Cluster(Config(message_max_bytes=3_000), partitions=1)
        group_id = "g" * 1_000
        for number in range(20):
            cluster.commit(group_id, {("t", number): 1})
        assert [result.error_code for result in cluster.delete_groups(group_id).answer.results] == [0]
        cluster.crash_and_recover()
        assert cluster.core.offset_count == 0

    def test_is_refused_when_its_partition_is_unloaded_meanwhile(self, large: Cluster) -> None:
        large.holds_work = True
        call = large.delete_groups("g")
        large.core.load_begin(0)
        steps_until_idle(large)
        assert [result.error_code for result in call.answer.results] == [ErrorCode.NOT_COORDINATOR]

"""Partitions are given up and taken at any time, and a node without a lease answers nothing but errors."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.group import describe
from coordinator.core.shard import ANSWERED_AT_ONCE, PartitionState
from protocol.error_codes import ErrorCode
from protocol.messages.list_groups import ListGroupsRequest
from tests.support.call import Call
from tests.support.cluster import Cluster

NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR
NONE = ErrorCode.NONE


def give_up(cluster: Cluster, partition: int) -> None:
    """Give a partition up as the runtime does: what is queued for its log is dropped."""
    cluster.log.drop_queued(partition)
    cluster.execute(cluster.core.given_up(partition, cluster.clock.now_ms))
    while cluster.core.has_work:
        cluster.step()
    cluster.check()


def suspend(cluster: Cluster) -> None:
    cluster.execute(cluster.core.suspend(cluster.clock.now_ms))
    while cluster.core.has_work:
        cluster.step()


def groups_of_both(cluster: Cluster) -> tuple[str, str]:
    """Two group ids, of partition 0 and of partition 1."""
    ids = [f"g{number}" for number in range(20)]
    return tuple(next(each for each in ids if cluster.core.partition_for(each) == p) for p in (0, 1))  # type: ignore


class TestGivenUp:
    def test_all_that_waits_is_led_away_and_other_partitions_are_not_touched(self) -> None:
        cluster = Cluster(partitions=2)
        moved, stays = groups_of_both(cluster)
        leader, follower = cluster.stable_group(moved, 2)
        (other,) = cluster.stable_group(stays, 1)
        parked = cluster.park(moved, leader.member_id, 1)
        joining = cluster.join(moved, follower.member_id)
        with cluster.log_held():
            commit = cluster.commit(moved, {("t", 0): 5}, member_id=leader.member_id, generation=1)
            give_up(cluster, 0)
        assert (parked.error, joining.error) == (ErrorCode.REBALANCE_IN_PROGRESS, NOT_COORDINATOR)
        assert commit.errors == {("t", 0): NOT_COORDINATOR}
        assert cluster.heartbeat(moved, leader.member_id, 1).error is NOT_COORDINATOR
        assert cluster.core.partition(0).state is PartitionState.NOT_OWNED
        assert other.heartbeat().error is NONE

    def test_a_partition_that_comes_back_has_what_its_log_has(self) -> None:
        cluster = Cluster(partitions=1)
        cluster.commit("g", {("t", 0): 5})
        (member,) = cluster.stable_group("with-member", 1)
        give_up(cluster, 0)
        cluster.load_one(0)
        assert cluster.committed("g") == {("t", 0): 5}
        assert member.heartbeat().error is NONE

    def test_a_partition_that_is_loading_is_given_up(self) -> None:
        cluster = Cluster(partitions=1, loaded=False)
        cluster.core.load_begin(0)
        give_up(cluster, 0)
        assert cluster.core.partition(0).state is PartitionState.NOT_OWNED
        assert cluster.commit("g", {("t", 0): 1}).errors == {("t", 0): NOT_COORDINATOR}

    @pytest.mark.plain("compiled code refuses the value that breaks the member")
    def test_a_broken_partition_is_not_loaded_again(self) -> None:
        cluster = Cluster(partitions=1)
        cluster.expects_faults = True
        (member,) = cluster.stable_group("g", 1)
        cluster.group("g").members[member.member_id].session = object()  # type: ignore[assignment]
        assert member.heartbeat().error is ErrorCode.UNKNOWN_SERVER_ERROR
        assert cluster.core.is_troubled
        give_up(cluster, 0)
        assert cluster.core.take_broken_partitions() == []


class TestSuspended:
    def test_every_request_is_refused_and_answered_again_afterwards(self) -> None:
        cluster = Cluster(partitions=1)
        (member,) = cluster.stable_group("g", 1)
        cluster.commit("g", {("t", 0): 5}, member_id=member.member_id, generation=1)
        suspend(cluster)
        assert member.heartbeat().error is NOT_AVAILABLE
        assert cluster.join("new").error is NOT_AVAILABLE
        assert cluster.sync("g", member.member_id, 1).error is NOT_AVAILABLE
        assert cluster.commit("h", {("t", 0): 1}).errors == {("t", 0): NOT_AVAILABLE}
        assert cluster.leave("g", member.member_id).error is NOT_AVAILABLE
        (fetched,) = cluster.fetch("g", [("t", 0)]).answer.groups
        assert fetched.error_code == NOT_AVAILABLE
        assert cluster.core.heartbeat_template("g", member.member_id, None, 1) is None
        cluster.core.resume()
        assert member.heartbeat().error is NONE
        assert cluster.committed("g") == {("t", 0): 5}

    def test_a_parked_heartbeat_gets_no_success(self) -> None:
        cluster = Cluster(partitions=1)
        (member,) = cluster.stable_group("g", 1)
        parked = cluster.park("g", member.member_id, 1)
        suspend(cluster)
        cluster.send_bytes_behind(parked)
        assert parked.error is NOT_AVAILABLE

    def test_commits_under_way_are_answered_as_late_and_kept_if_they_become_durable(self) -> None:
        cluster = Cluster(Config(), partitions=2)
        moved, stays = groups_of_both(cluster)
        with cluster.log_held():
            calls = [cluster.commit(moved, {("t", 0): number}) for number in range(ANSWERED_AT_ONCE + 3)]
            calls.append(cluster.commit(stays, {("t", 0): 1}))
            suspend(cluster)
            assert {call.errors["t", 0] for call in calls} == {NOT_AVAILABLE}
            cluster.flush()
        cluster.core.resume()
        assert cluster.committed(moved) == {("t", 0): ANSWERED_AT_ONCE + 2}

    def test_a_deletion_that_waits_for_a_commit_is_answered_at_once(self) -> None:
        cluster = Cluster(Config(), partitions=1)
        with cluster.log_held():
            cluster.commit("g", {("t", 0): 5})
            deletion = cluster.delete_offsets("g", ("t", 0))
            assert deletion.is_parked
            suspend(cluster)
            assert deletion.error is NOT_AVAILABLE

    def test_a_join_that_waits_is_answered_after_it(self) -> None:
        cluster = Cluster(partitions=1)
        call = cluster.member("g").join()
        assert call.is_parked
        suspend(cluster)
        assert call.is_parked
        cluster.core.resume()
        cluster.advance("10s")
        assert call.error is NONE

    def test_a_fetch_that_waited_for_an_append_is_refused(self) -> None:
        cluster = Cluster(partitions=1, has_lease=True)
        with cluster.log_held():
            cluster.commit("g", {("t", 0): 5})
            fetch: Call = cluster.fetch("g", [("t", 0)], require_stable=True)
            assert fetch.is_parked
            suspend(cluster)
            cluster.flush()
        assert fetch.answer.groups[0].error_code == NOT_AVAILABLE

    def test_what_was_read_in_steps_before_is_not_answered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(describe, "GROUPS_PER_STEP", 10)
        cluster = Cluster(partitions=1, has_lease=True)
        for number in range(50):
            cluster.commit(f"g-{number}", {("t", 0): 1})
        cluster.holds_work = True
        listing = cluster.send("list", ListGroupsRequest(), 5)
        assert listing.is_parked
        cluster.step()
        cluster.execute(cluster.core.suspend(cluster.clock.now_ms))
        while cluster.core.has_work:
            cluster.step()
        assert listing.error is NOT_AVAILABLE

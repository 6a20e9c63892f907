"""Deletion decides from committed offsets, so it waits until no append of the group is in flight."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.offsets.deleted_topics import COST_OF_FORGETTING, GROUPS_PER_STEP
from coordinator.core.offsets.deletion import MAX_TOMBSTONES_PER_APPEND
from protocol.error_codes import ErrorCode
from protocol.offsets_records import OffsetKey
from tests.support.call import Call
from tests.support.cluster import Cluster, subscription

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
NONE = ErrorCode.NONE
RETENTION = "7d"
SCAN = "10m"


def results(call: Call) -> dict[str, ErrorCode]:
    return {result.group_id: ErrorCode(result.error_code) for result in call.answer.results}


class TestAppendsInFlight:
    def test_newer_commit_in_flight_survives_the_scan(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        cluster.advance(RETENTION)
        with cluster.log_held():
            cluster.commit("g", {T0: 2})
            cluster.advance(SCAN)
        assert cluster.committed("g") == {T0: 2}
        cluster.crash_and_recover()
        assert cluster.committed("g") == {T0: 2}

    def test_simple_group_with_its_first_commit_in_flight_survives_the_scan(self, cluster: Cluster) -> None:
        cluster.advance(600_000 - 1)
        with cluster.log_held():
            call = cluster.commit("g", {T0: 1})
            cluster.advance(1)
        assert call.errors == {T0: NONE}
        assert cluster.state() == "Empty"
        assert cluster.committed("g") == {T0: 1}

    def test_group_is_deleted_with_the_commit_in_flight(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            commit = cluster.commit("g", {T1: 2})
            deletion = cluster.delete_groups("g")
            assert deletion.is_parked
        assert commit.errors == {T1: NONE}
        assert results(deletion) == {"g": NONE}
        for _ in range(2):
            assert cluster.state() == "none"
            assert cluster.committed("g") == {}
            cluster.crash_and_recover()

    def test_join_before_the_tombstone_is_durable_gets_a_response(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            cluster.delete_groups("g")
            refused = cluster.join()
            assert refused.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert cluster.join().error is ErrorCode.MEMBER_ID_REQUIRED
        assert cluster.state() == "Empty"


class TestGroupThatIsBeingDeleted:
    def test_it_is_dead_and_requests_get_a_retriable_error(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        again = ErrorCode.COORDINATOR_NOT_AVAILABLE
        with cluster.log_held():
            cluster.delete_groups("g")
            assert cluster.describe("g").group_state == "Dead"
            assert cluster.join(member_id="x").error is again
            assert cluster.sync("g", "x", 1).error is again
            assert cluster.heartbeat("g", "x", 1).error is again
            assert cluster.leave("g", "x").error is again
            assert cluster.commit("g", {T0: 2}).errors == {T0: again}
            assert cluster.txn_commit("g", {T0: 2}).errors == {T0: again}
        assert cluster.state() == "none"

    def test_its_durable_offsets_can_be_fetched(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            cluster.delete_groups("g")
            assert cluster.committed("g") == {T0: 1}

    def test_second_deletion_waits_for_the_first_and_finds_no_group(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            first, second = cluster.delete_groups("g"), cluster.delete_groups("g")
            assert second.is_parked
        assert results(first) == {"g": NONE}
        assert results(second) == {"g": ErrorCode.GROUP_ID_NOT_FOUND}

    def test_identical_empty_group_replaces_it_if_the_tombstone_fails(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        a.commit({T0: 1})
        a.leave()
        before = cluster.group()
        cluster.join()  # a pending member id neither keeps the group nor is restored with it
        cluster.advance("1m")
        with cluster.log_held():
            call = cluster.delete_groups("g")
            cluster.fail_appends(ErrorCode.NOT_ENOUGH_REPLICAS)
        after = cluster.group()
        assert results(call) == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert after is not before
        assert (after.state.value, after.protocol_type, after.generation) == ("Empty", "consumer", 2)
        assert after.state_timestamp_ms == before.state_timestamp_ms == cluster.clock.wall_ms - 60_000
        assert (list(after.pending_join), after.is_recorded) == ([], True)
        assert cluster.committed("g") == {T0: 1}
        cluster.crash_and_recover()
        assert cluster.committed("g") == {T0: 1}

    def test_slow_deletion_times_out_once_and_is_still_applied(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            call = cluster.delete_groups("g")
            cluster.advance("5s")
            assert results(call) == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert cluster.state() == "none"


def test_group_with_appends_in_flight_is_not_deleted_after_the_commit_timeout(cluster: Cluster) -> None:
    cluster.commit("busy", {T0: 1})
    cluster.commit("idle", {T0: 1})
    with cluster.log_held():
        cluster.commit("busy", {T0: 2})
        call = cluster.delete_groups("busy", "idle")
        cluster.advance("4s")
        assert call.is_parked
        cluster.advance("1s")
        # The tombstone of the idle group has waited as long, and becomes durable later.
        assert results(call) == dict.fromkeys(("busy", "idle"), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert cluster.committed("busy") == {T0: 2}
    assert "idle" not in cluster.core.groups


def test_idle_group_is_deleted_while_another_has_an_append_in_flight(cluster: Cluster) -> None:
    cluster.commit("busy", {T0: 1})
    cluster.commit("idle", {T0: 1})
    with cluster.log_held():
        cluster.commit("busy", {T0: 2})
        call = cluster.delete_groups("busy", "idle")
        assert call.is_parked
    assert results(call) == {"busy": NONE, "idle": NONE}
    assert not cluster.core.groups


def test_deletion_of_no_group_gets_an_empty_response(cluster: Cluster) -> None:
    assert results(cluster.delete_groups()) == {}


@pytest.mark.parametrize("version", range(3))
def test_every_version_deletes_the_group_with_an_empty_id(cluster: Cluster, version: int) -> None:
    cluster.commit("", {T0: 1})
    assert results(cluster.delete_groups("", version=version)) == {"": NONE}


def test_deletion_of_a_group_drops_its_pending_offsets(cluster: Cluster) -> None:
    cluster.txn_commit("g", {T0: 1, T1: 2})
    cluster.commit("g", {T0: 5})
    cluster.delete_groups("g")
    cluster.end_transaction("g", commit=True)
    for _ in range(2):
        assert cluster.state() == "none"
        assert cluster.committed("g") == {}
        cluster.crash_and_recover()


class TestOffsetDelete:
    def test_tombstones_are_written_for_committed_offsets_and_confirmed_when_durable(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1, T1: 2})
        with cluster.log_held():
            call = cluster.delete_offsets("g", T0, U0)
            assert call.is_parked
        assert (call.error, call.errors) == (NONE, {T0: NONE, U0: NONE})
        assert [record.key for record in cluster.written("g") if record.value is None] == [OffsetKey("g", "t", 0)]
        assert cluster.committed("g") == {T1: 2}
        assert cluster.core.metrics.offset_deletions == 1
        cluster.crash_and_recover()
        assert cluster.committed("g") == {T1: 2}

    def test_it_waits_for_the_commit_in_flight(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            call = cluster.delete_offsets("g", T0)
            assert call.is_parked
        assert call.errors == {T0: NONE}
        assert cluster.committed("g") == {}

    def test_failed_append_is_a_top_level_error(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            call = cluster.delete_offsets("g", T0)
            cluster.fail_appends()
        assert (call.error, call.errors) == (ErrorCode.NOT_COORDINATOR, {})
        assert cluster.committed("g") == {T0: 1}

    def test_it_fails_after_the_commit_timeout(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            call = cluster.delete_offsets("g", T0)
            cluster.advance("5s")
            assert call.error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    def test_first_failing_check_decides_the_error(self, cluster: Cluster) -> None:
        cluster.existing_topics = {"t": 1}
        assert cluster.delete_offsets("", T0).error is ErrorCode.INVALID_GROUP_ID
        assert cluster.delete_offsets("unknown", T0).error is ErrorCode.GROUP_ID_NOT_FOUND
        assert cluster.delete_offsets("unknown").error is ErrorCode.GROUP_ID_NOT_FOUND
        cluster.commit("g", {T0: 1})
        call = cluster.delete_offsets("g", T0, U0)
        assert call.errors == {U0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, T0: NONE}

    def test_pending_offset_is_deleted_too(self, cluster: Cluster) -> None:
        cluster.txn_commit("g", {T0: 1})
        assert cluster.delete_offsets("g", T0).errors == {T0: NONE}
        cluster.end_transaction("g", commit=True)
        assert cluster.committed("g") == {}

    def test_no_offset_is_deleted_if_a_subscription_cannot_be_parsed(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1, protocols=[("range", b"\0")])
        a.commit({T0: 1})
        assert cluster.delete_offsets("g", T0).errors == {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


class TestDeletedTopic:
    def test_its_offsets_are_deleted_in_every_group_and_state(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group("live", members=1, protocols=[("range", subscription("t"))])
        a.commit({T0: 1, U0: 2})
        cluster.commit("simple", {T0: 1, T1: 1})
        cluster.txn_commit("simple", {T0: 3})
        cluster.delete_topic("t", [0, 1])
        assert cluster.committed("live") == {U0: 2}
        assert cluster.committed("simple") == {}
        cluster.end_transaction("simple", commit=True)
        assert cluster.committed("simple") == {}
        assert cluster.state("simple") == "Empty"

    def test_only_offsets_of_deleted_partitions_are_deleted(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1, T1: 2})
        cluster.delete_topic("t", [1])
        assert cluster.committed("g") == {T0: 1}

    def test_commit_in_flight_is_deleted_too(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            cluster.delete_topic("t", [0])
        assert cluster.committed("g") == {}

    def test_it_waits_for_appends_without_a_timeout(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            cluster.delete_topic("t", [0])
            cluster.advance("20s")
        assert cluster.committed("g") == {}

    def test_failed_tombstones_are_retried(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            cluster.delete_topic("t", [0])
            cluster.fail_appends()
        assert cluster.committed("g") == {T0: 1}
        cluster.advance("1s")
        assert cluster.committed("g") == {}

    def test_later_commits_for_a_new_topic_of_the_same_name_are_kept(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 100, T1: 100})
        with cluster.log_held():
            cluster.commit("g", {U0: 1})
            cluster.delete_topic("t", [0, 1])  # waits for the commit in flight
            cluster.commit("g", {T0: 5})
        assert cluster.committed("g") == {T0: 5, U0: 1}

    def test_offsets_are_deleted_if_the_topic_was_deleted_while_the_node_was_down(self, cluster: Cluster) -> None:
        """A node gets the deletion from the controller before it has read its log."""
        cluster.commit("g", {T0: 100, U0: 1})
        cluster.crash()
        cluster.delete_topic("t", [0, 1])
        cluster.load()
        assert cluster.committed("g") == {U0: 1}
        cluster.commit("g", {T0: 5})  # for a new topic of the same name
        cluster.crash_and_recover()
        assert cluster.committed("g") == {T0: 5, U0: 1}

    def test_loading_another_partition_does_not_repeat_the_deletion(self, cluster: Cluster) -> None:
        names = next(
            (a, b)
            for a, b in [("g", f"h{n}") for n in range(99)]
            if cluster.core.partition_for(a) != cluster.core.partition_for(b)
        )
        for name in names:
            cluster.commit(name, {T0: 100})
        first, second = map(cluster.core.partition_for, names)
        cluster.crash()
        cluster.delete_topic("t", [0])
        for partition in (first, second):
            cluster.load_one(partition)
            cluster.commit(names[0], {T0: 5})
        assert [cluster.committed(name) for name in names] == [{T0: 5}, {}]

    def test_offsets_of_very_many_partitions_are_deleted_in_bounded_appends(self, cluster: Cluster) -> None:
        """One append of all tombstones would be refused for its size at each attempt."""
        many = 2 * MAX_TOMBSTONES_PER_APPEND + 1
        cluster.commit("g", {("t", partition): 1 for partition in range(many)})
        with cluster.log_held():
            cluster.delete_topic("t", range(many))
            assert cluster.core.appends_in_flight == 1, "one after the other"
        cluster.advance(0)
        assert cluster.core.offset_count == 0

    def test_tombstones_with_a_long_group_id_stay_below_message_max_bytes(self) -> None:
        cluster = Cluster(Config(message_max_bytes=3_000))
        group_id = "g" * 1_000
        for partition in range(20):
            cluster.commit(group_id, {("t", partition): 1})
        cluster.delete_topic("t", range(20))
        cluster.advance(0)
        assert cluster.core.offset_count == 0

    def test_offsets_of_very_many_groups_are_deleted_in_several_events(self, cluster: Cluster) -> None:
        at_once = GROUPS_PER_STEP // (1 + COST_OF_FORGETTING) + 1  # the last one may exceed the bound
        groups = [f"g{number}" for number in range(2 * at_once + 5)]
        for group_id in groups:
            cluster.commit(group_id, {T0: 1})
        cluster.holds_work = True
        with cluster.log_held():
            cluster.delete_topic("t", [0])
            assert cluster.core.appends_in_flight == 0, "no request waits for it"
            cluster.step()
            assert cluster.core.appends_in_flight == at_once
            cluster.holds_work = False
        cluster.advance(0)
        assert cluster.core.offset_count == 0

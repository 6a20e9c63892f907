"""OffsetFetch: errors at the level each version has, and when a stable fetch may answer."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.cluster import Cluster

T0, T1 = ("t", 0), ("t", 1)


@pytest.mark.parametrize("version", range(1, 10))
def test_an_error_of_the_group_is_told_where_the_version_has_room_for_it(version: int) -> None:
    answer = Cluster(loaded=False).fetch("g", [T0, T1], version=version).answer
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if version >= 8:
        assert [(group.error_code, group.topics) for group in answer.groups] == [(loading, [])]
    elif version >= 2:
        assert (answer.error_code, answer.topics) == (loading, [])
    else:
        partitions = answer.topics[0].partitions
        assert [(p.partition_index, p.error_code, p.committed_offset, p.metadata) for p in partitions] == [
            (0, loading, -1, ""),
            (1, loading, -1, ""),
        ]


def test_no_topics_is_not_all_topics(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1})
    assert cluster.fetch("g", []).answer.groups[0].topics == []
    assert cluster.committed("g") == {T0: 1}


def test_several_groups_are_answered_in_order(cluster: Cluster) -> None:
    cluster.commit("a", {T0: 1})
    cluster.commit("b", {T0: 2})
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("b", "nobody", "a")]
    answer = cluster.send("fetch", OffsetFetchRequest(groups=groups, require_stable=True), 9).answer
    assert [(group.group_id, len(group.topics)) for group in answer.groups] == [("b", 1), ("nobody", 0), ("a", 1)]


def test_the_group_may_be_in_any_state_and_the_topic_need_not_exist(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1})
    cluster.existing_topics = {}
    a = cluster.member()
    a.join()
    assert cluster.state() == "PreparingRebalance"
    assert cluster.committed("g") == {T0: 1}


class TestRequireStable:
    def test_waits_for_the_appends_before_it_and_not_for_those_behind(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.commit("g", {T0: 2})
            assert fetch.is_parked
            cluster.flush(at_most=1)
            assert fetch.answer.groups[0].topics[0].partitions[0].committed_offset == 1

    def test_does_not_wait_when_nothing_is_in_flight(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        assert not cluster.fetch("g", require_stable=True).is_parked

    def test_reads_what_is_left_when_the_appends_fail(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            cluster.commit("g", {T0: 2})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.fail_appends()
            assert fetch.answer.groups[0].topics[0].partitions[0].committed_offset == 1

    def test_is_not_settled_by_a_failure_behind_what_it_waits_for(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.commit("g", {T0: 2})
            partition = cluster.core.partition_for("g")
            cluster.log.partitions[partition].queued.pop()
            cluster.log.partitions[partition].next_offset -= 1
            failed = ErrorCode.KAFKA_STORAGE_ERROR
            cluster.execute(cluster.core.append_failed(partition, 1, failed, cluster.clock.now_ms))
            assert fetch.is_parked
            cluster.flush()
            assert not fetch.is_parked

    def test_gives_up_after_the_commit_timeout_with_an_error_that_old_consumers_know(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.advance("5s")
            (group,) = fetch.answer.groups
            assert (group.error_code, group.topics) == (ErrorCode.NOT_COORDINATOR, [])

    def test_does_not_list_partitions_that_are_only_pending(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        cluster.txn_commit("g", {T0: 2, T1: 3})
        (group,) = cluster.fetch("g", require_stable=True).answer.groups
        (topic,) = group.topics
        assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, ErrorCode.UNSTABLE_OFFSET_COMMIT)]


def test_a_long_request_has_all_offsets_of_a_group_told_once(cluster: Cluster) -> None:
    """Kafka repeats them as often as the group is named."""
    cluster.commit("g", {T0: 1, T1: 2})
    for stable in (False, True):
        for count, expected in ((3, 3), (5_000, 1)):
            groups = [OffsetFetchRequestGroup(group_id="g", topics=None) for _ in range(count)]
            request = OffsetFetchRequest(groups=groups, require_stable=stable)
            answer = cluster.send("fetch", request, 9).answer
            assert [len(group.topics[0].partitions) for group in answer.groups] == [2] * expected


def test_a_long_request_has_each_partition_told_once(cluster: Cluster) -> None:
    """A partition that is named in 4 bytes may have 4 KiB of metadata."""
    cluster.commit("g", {T0: 1, T1: 2})
    few = cluster.fetch("g", [T0] * 3).answer.groups[0]
    assert [partition.committed_offset for partition in few.topics[0].partitions] == [1, 1, 1]
    many = cluster.fetch("g", [T0, T1] * 5_000).answer.groups[0]
    assert [partition.committed_offset for partition in many.topics[0].partitions] == [1, 2]


@pytest.mark.parametrize("version", [1, 2, 9])
def test_a_refused_request_of_many_partitions_is_answered_like_a_short_one(version: int) -> None:
    wanted = [("t", index) for index in range(3_000)]
    answer = Cluster(loaded=False).fetch("g", wanted, version=version).answer
    if version == 1:
        partitions = answer.topics[0].partitions
        assert [partition.partition_index for partition in partitions] == list(range(3_000))
        assert {partition.error_code for partition in partitions} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    else:
        assert (answer.groups[0] if version == 9 else answer).topics == []

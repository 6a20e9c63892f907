"""OffsetFetch: errors at the level of each version, and when a stable fetch responds."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.cluster import Cluster

T0, T1 = ("t", 0), ("t", 1)


@pytest.mark.parametrize("version", range(1, 10))
def test_group_error_is_at_the_level_of_the_version(version: int) -> None:
    response = Cluster(loaded=False).fetch("g", [T0, T1], version=version).answer
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if version >= 8:
        assert [(group.error_code, group.topics) for group in response.groups] == [(loading, [])]
    elif version >= 2:
        assert (response.error_code, response.topics) == (loading, [])
    else:
        partitions = response.topics[0].partitions
        assert [(p.partition_index, p.error_code, p.committed_offset, p.metadata) for p in partitions] == [
            (0, loading, -1, ""),
            (1, loading, -1, ""),
        ]


def test_empty_topic_list_returns_no_topics(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1})
    assert cluster.fetch("g", []).answer.groups[0].topics == []
    assert cluster.committed("g") == {T0: 1}


def test_groups_are_returned_in_the_order_of_the_request(cluster: Cluster) -> None:
    cluster.commit("a", {T0: 1})
    cluster.commit("b", {T0: 2})
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("b", "unknown", "a")]
    response = cluster.send("fetch", OffsetFetchRequest(groups=groups, require_stable=True), 9).answer
    assert [(group.group_id, len(group.topics)) for group in response.groups] == [("b", 1), ("unknown", 0), ("a", 1)]


def test_offsets_are_returned_in_any_group_state_and_for_unknown_topics(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 1})
    cluster.existing_topics = {}
    a = cluster.member()
    a.join()
    assert cluster.state() == "PreparingRebalance"
    assert cluster.committed("g") == {T0: 1}


class TestRequireStable:
    def test_it_waits_for_earlier_appends_only(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.commit("g", {T0: 2})
            assert fetch.is_parked
            cluster.flush(at_most=1)
            assert fetch.answer.groups[0].topics[0].partitions[0].committed_offset == 1

    def test_it_does_not_wait_without_an_append_in_flight(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        assert not cluster.fetch("g", require_stable=True).is_parked

    def test_it_returns_the_durable_offset_if_the_appends_fail(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            cluster.commit("g", {T0: 2})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.fail_appends()
            assert fetch.answer.groups[0].topics[0].partitions[0].committed_offset == 1

    def test_failure_of_a_later_append_does_not_end_the_wait(self, cluster: Cluster) -> None:
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

    def test_it_fails_after_the_commit_timeout_with_not_coordinator(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            fetch = cluster.fetch("g", require_stable=True)
            cluster.advance("5s")
            (group,) = fetch.answer.groups
            assert (group.error_code, group.topics) == (ErrorCode.NOT_COORDINATOR, [])

    def test_partitions_with_only_pending_offsets_are_not_listed(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        cluster.txn_commit("g", {T0: 2, T1: 3})
        (group,) = cluster.fetch("g", require_stable=True).answer.groups
        (topic,) = group.topics
        assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, ErrorCode.UNSTABLE_OFFSET_COMMIT)]


def test_long_request_gets_all_offsets_of_a_group_once(cluster: Cluster) -> None:
    """Kafka repeats the offsets as often as the group is named."""
    cluster.commit("g", {T0: 1, T1: 2})
    for stable in (False, True):
        for count, expected in ((3, 3), (5_000, 1)):
            groups = [OffsetFetchRequestGroup(group_id="g", topics=None) for _ in range(count)]
            request = OffsetFetchRequest(groups=groups, require_stable=stable)
            response = cluster.send("fetch", request, 9).answer
            assert [len(group.topics[0].partitions) for group in response.groups] == [2] * expected


def test_long_request_gets_each_partition_once(cluster: Cluster) -> None:
    """A partition takes 4 bytes in a request and may have 4 KiB of metadata in the response."""
    cluster.commit("g", {T0: 1, T1: 2})
    few = cluster.fetch("g", [T0] * 3).answer.groups[0]
    assert [partition.committed_offset for partition in few.topics[0].partitions] == [1, 1, 1]
    many = cluster.fetch("g", [T0, T1] * 5_000).answer.groups[0]
    assert [partition.committed_offset for partition in many.topics[0].partitions] == [1, 2]


@pytest.mark.parametrize("version", [1, 2, 9])
def test_refused_request_with_many_partitions_gets_the_error_on_each(version: int) -> None:
    wanted = [("t", index) for index in range(3_000)]
    response = Cluster(loaded=False).fetch("g", wanted, version=version).answer
    if version == 1:
        partitions = response.topics[0].partitions
        assert [partition.partition_index for partition in partitions] == list(range(3_000))
        assert {partition.error_code for partition in partitions} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    else:
        assert (response.groups[0] if version == 9 else response).topics == []

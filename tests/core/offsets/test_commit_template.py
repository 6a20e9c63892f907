"""A commit recognised by its bytes does exactly what the usual path does, or is not recognised."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.config import Config
from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.server.frame_templates import layout_of
from protocol import codec
from protocol.error_codes import ErrorCode
from protocol.headers import encode_request_header
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.cluster import Cluster, Member
from tests.support.recognised_commits import RecognisedCommits

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
NONE = ErrorCode.NONE
VERSIONS = range(2, 10)
INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    cluster.recognised = RecognisedCommits()
    return cluster


def recognised_count(cluster: Cluster) -> int:
    assert cluster.recognised is not None
    return cluster.recognised.count


class TestRecognisedCommit:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_it_stores_and_responds_like_the_usual_path(self, cluster: Cluster, version: int) -> None:
        (member,) = cluster.stable_group(members=1)
        plain = Cluster(cluster.config)
        (other,) = plain.stable_group(members=1)
        for number in range(1, 4):
            offsets = {T0: number, U0: number * 7, T1: -1}
            responses = [
                each.cluster.commit(
                    "g", offsets, member_id=each.member_id, generation=1, metadata="m", leader_epoch=3, version=version
                ).answer
                for each in (member, other)
            ]
            assert responses[0] == responses[1]
        assert recognised_count(cluster) == 2
        assert [(each.key, each.value) for each in cluster.written("g")][-6:] == [
            (each.key, each.value) for each in plain.written("g")
        ][-6:]
        assert cluster.committed("g") == plain.committed("g")
        cluster.crash_and_recover()
        assert cluster.committed("g") == plain.committed("g")

    def test_it_restarts_the_members_session(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        for number in range(10):
            cluster.advance("5s", heartbeating=[b])
            assert a.commit({T0: number}).errors == {T0: NONE}
        assert recognised_count(cluster) == 9
        assert a.member_id in cluster.group().members

    def test_commit_of_a_simple_group_is_recognised(self, cluster: Cluster) -> None:
        for number in range(3):
            cluster.commit("simple", {T0: number})
        assert recognised_count(cluster) == 2
        assert cluster.committed("simple") == {T0: 2}

    def test_it_waits_for_its_append_and_reports_a_failure(self, cluster: Cluster) -> None:
        (member,) = cluster.stable_group(members=1)
        member.commit({T0: 1, T1: 1})
        with cluster.log_held():
            call = member.commit({T0: 2, T1: 2})
            assert call.is_parked and recognised_count(cluster) == 1
            cluster.fail_appends()
            assert call.errors == {T0: ErrorCode.NOT_COORDINATOR, T1: ErrorCode.NOT_COORDINATOR}
        assert cluster.committed("g") == {T0: 1, T1: 1}
        assert member.commit({T0: 3, T1: 3}).errors == {T0: NONE, T1: NONE}

    def test_it_times_out_and_is_still_applied(self, cluster: Cluster) -> None:
        (member,) = cluster.stable_group(members=1)
        member.commit({T0: 1})
        with cluster.log_held():
            call = member.commit({T0: 2})
            cluster.advance("6s", heartbeating=[member])
            assert call.errors == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert cluster.committed("g") == {T0: 2}

    def test_last_offset_wins_for_a_partition_named_twice(self, cluster: Cluster) -> None:
        topic = OffsetCommitRequestTopic(name="t", partitions=[part(0, 1), part(0, 2)])
        for _ in range(2):
            cluster.send("commit", OffsetCommitRequest(group_id="g", topics=[topic]), 8)
        assert recognised_count(cluster) == 1
        assert cluster.committed("g") == {T0: 2}


class TestNotRecognised:
    def refused(self, cluster: Cluster, member: Member, error: ErrorCode) -> None:
        before = recognised_count(cluster)
        assert member.commit({T0: 9}).errors == {T0: error}
        assert recognised_count(cluster) == before

    @pytest.fixture
    def pair(self, cluster: Cluster) -> tuple[Member, Member]:
        a, b = cluster.stable_group(instance_ids=["S0"])
        for number in range(3):
            a.commit({T0: number})
        assert recognised_count(cluster) == 2
        return a, b

    def test_between_join_and_sync(self, cluster: Cluster, pair: tuple[Member, Member]) -> None:
        a, b = pair
        b.join(protocols=[("range", b"other")])
        assert a.commit({T0: 4}).errors == {T0: NONE}, "a member that has not rejoined can still commit"
        assert recognised_count(cluster) == 3
        a.join()
        cluster.advance("3s")
        assert cluster.state() == "CompletingRebalance"
        late = cluster.commit("g", {T0: 5}, member_id=a.member_id, generation=1, instance_id="S0")
        assert late.errors == {T0: ErrorCode.ILLEGAL_GENERATION}
        assert recognised_count(cluster) == 3

    def test_by_a_member_that_was_replaced(self, cluster: Cluster, pair: tuple[Member, Member]) -> None:
        cluster.member(instance_id="S0").join()
        self.refused(cluster, pair[0], ErrorCode.FENCED_INSTANCE_ID)

    def test_by_a_member_that_was_removed(self, cluster: Cluster, pair: tuple[Member, Member]) -> None:
        cluster.advance("60s", heartbeating=[pair[1]])
        self.refused(cluster, pair[0], ErrorCode.UNKNOWN_MEMBER_ID)

    def test_after_a_topic_was_deleted(self, cluster: Cluster) -> None:
        cluster.existing_topics = {"t": 1}
        cluster.commit("g", {T0: 1})
        cluster.commit("g", {T0: 2})
        assert recognised_count(cluster) == 1
        cluster.existing_topics = {}
        cluster.delete_topic("t", [0])
        assert cluster.commit("g", {T0: 3}).errors == {T0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        cluster.existing_topics = {"t": 1}
        for number in range(2):
            assert cluster.commit("g", {T0: number}).errors == {T0: NONE}
        assert recognised_count(cluster) == 2
        assert cluster.committed("g") == {T0: 1}

    def test_after_the_group_was_deleted_and_created_again(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        cluster.delete_groups("g")
        assert cluster.commit("g", {T0: 2}).errors == {T0: NONE}
        assert recognised_count(cluster) == 0
        assert cluster.committed("g") == {T0: 2}

    def test_after_the_coordinator_was_shut_down(self, cluster: Cluster, pair: tuple[Member, Member]) -> None:
        cluster.shutdown()
        self.refused(cluster, pair[0], ErrorCode.COORDINATOR_NOT_AVAILABLE)

    @pytest.mark.parametrize("differing", [{"metadata": "n"}, {"leader_epoch": 4}, {"version": 7}, {"retention_ms": 5}])
    def test_for_a_commit_that_differs_in_another_field(self, cluster: Cluster, differing: dict[str, Any]) -> None:
        usual: dict[str, Any] = {"metadata": "m", "leader_epoch": 3, "version": 6}
        if "retention_ms" in differing:
            usual = {"version": 4}
        cluster.commit("g", {T0: 1}, **usual)
        cluster.commit("g", {T0: 2}, **usual | differing)
        assert recognised_count(cluster) == 0
        assert cluster.committed("g") == {T0: 2}

    def test_for_a_commit_with_a_retention_or_a_refused_partition(self, cluster: Cluster) -> None:
        cluster.existing_topics = {"t": 1}
        for _ in range(2):
            cluster.commit("g", {T0: 1}, retention_ms=10_000, version=4)
            cluster.commit("g", {T0: 1, T1: 1})
            cluster.commit("g", {T0: 1, ("t", 0): 1}, metadata="m" * (Config().offset_metadata_max_bytes + 1))
        assert recognised_count(cluster) == 0


def part(index: int, offset: int, metadata: str | None = "") -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)


PARTITIONS = st.builds(
    OffsetCommitRequestPartition,
    partition_index=st.integers(-(2**31), 2**31 - 1),
    committed_offset=INT64,
    committed_leader_epoch=st.integers(-1, 2**31 - 1),
    committed_metadata=st.one_of(st.none(), st.text(max_size=5)),
)
TOPICS = st.builds(
    OffsetCommitRequestTopic, name=st.text(max_size=5), partitions=st.lists(PARTITIONS, min_size=1, max_size=3)
)
REQUESTS = st.builds(
    OffsetCommitRequest,
    group_id=st.text(max_size=5),
    generation_id_or_member_epoch=st.integers(-1, 2**31 - 1),
    member_id=st.text(max_size=5),
    topics=st.lists(TOPICS, min_size=1, max_size=3),
)


@given(REQUESTS, st.sampled_from(VERSIONS), st.data())
def test_layout_of_a_frame_finds_exactly_the_offsets(
    request: OffsetCommitRequest, version: int, data: st.DataObject
) -> None:
    header = encode_request_header(8, version, 7, "client")
    if version < 6:
        for topic in request.topics:
            for partition in topic.partitions:
                partition.committed_leader_epoch = -1

    def frame() -> bytes:
        return header + codec.encode_request(request, version)

    partitions = [partition for topic in request.topics for partition in topic.partitions]
    before = frame()
    layout = layout_of(before, len(header), request, version)
    assert layout is not None and layout.size == len(before)
    assert frame() == before, "the request is unchanged"
    fixed = layout.unpack(before)[::2]
    for partition in partitions:
        partition.committed_offset = data.draw(INT64)
    after = layout.unpack(frame())
    assert after[::2] == fixed
    assert after[1::2] == tuple(partition.committed_offset for partition in partitions)
    assert sum(map(len, fixed)) + 8 * len(partitions) + 8 == len(before)


def test_frame_with_another_encoding_is_not_recognised() -> None:
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[part(0, 1)])])
    header = encode_request_header(8, 8, 7, "client")
    frame = header + codec.encode_request(request, 8)
    assert layout_of(frame, len(header), request, 8) is not None
    with_a_tag = frame[:-1] + bytes([1, 100, 1, 0])  # an unknown tagged field at the end
    assert codec.decode_request(8, 8, with_a_tag, len(header)) == request
    assert layout_of(with_a_tag, len(header), request, 8) is None


def test_defect_in_a_recognised_commit_is_an_error_for_each_partition(cluster: Cluster) -> None:
    cluster.expects_faults = True
    (member,) = cluster.stable_group(members=1)
    member.commit({T0: 1, U0: 1})
    template = cluster.core.commit_template(
        OffsetCommitRequest(
            group_id="g",
            member_id=member.member_id,
            generation_id_or_member_epoch=1,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[part(0, 1)])],
        )
    )
    assert template is not None
    call = cluster.send_command("commit", RepeatedCommit(template, (), b"", {}))  # offsets for none of its partitions
    assert call.errors == {T0: ErrorCode.UNKNOWN_SERVER_ERROR}

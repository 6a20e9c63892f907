"""OffsetCommit and OffsetFetch from version 10 on, which name topics by their ids."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.support.cluster import Cluster
from tests.support.recognised_commits import RecognisedCommits

A, B, X, ZERO = b"a" * 16, b"b" * 16, b"x" * 16, bytes(16)
NONE, UNKNOWN_PARTITION, UNKNOWN_ID = 0, 3, 100


class Catalogue:
    """Topics by name and by id."""

    def __init__(self, **topics: bytes) -> None:
        self.topics = {name: SimpleNamespace(name=name, topic_id=topic_id) for name, topic_id in topics.items()}

    def by_id(self, topic_id: bytes) -> Any:
        return next((topic for topic in self.topics.values() if topic.topic_id == topic_id), None)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(Config())
    cluster.topics = SimpleNamespace(catalogue=Catalogue(a=A, b=B))
    cluster.existing_topics = {"a": 2, "b": 1}
    return cluster


def forget(cluster: Cluster, name: str) -> None:
    del cluster.topics.catalogue.topics[name]


def commit_request(*topics: tuple[bytes, list[int]], offset: int = 7, generation: int = -1) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id="g",
        member_id="m" if generation >= 0 else "",
        generation_id_or_member_epoch=generation,
        topics=[
            OffsetCommitRequestTopic(
                topic_id=topic_id,
                partitions=[OffsetCommitRequestPartition(index, offset, committed_metadata="") for index in indexes],
            )
            for topic_id, indexes in topics
        ],
    )


def commit(cluster: Cluster, *topics: tuple[bytes, list[int]], offset: int = 7, generation: int = -1) -> Any:
    """Return the answer as lists: the id of each topic, with partitions and errors."""
    answer = cluster.send("commit", commit_request(*topics, offset=offset, generation=generation), 10).answer
    return told(answer)


def told(answer: Any) -> list[tuple[bytes, list[tuple[int, int]]]]:
    return [
        (topic.topic_id, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in answer.topics
    ]


def fetch(cluster: Cluster, *groups: tuple[str, list[tuple[bytes, list[int]]] | None]) -> Any:
    """Return the answer as lists: the id of each topic, with partitions, offsets and errors."""
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=None
                if topics is None
                else [OffsetFetchRequestTopics(topic_id=each, partition_indexes=indexes) for each, indexes in topics],
            )
            for group_id, topics in groups
        ]
    )
    answer = cluster.send("fetch", request, 10).answer
    return [
        [
            (
                topic.topic_id,
                [(each.partition_index, each.committed_offset, each.error_code) for each in topic.partitions],
            )
            for topic in group.topics
        ]
        for group in answer.groups
    ]


class TestOffsetCommit:
    def test_offsets_are_stored_by_name_and_the_answer_repeats_the_ids(self, cluster: Cluster) -> None:
        assert commit(cluster, (A, [0, 1]), (B, [0])) == [(A, [(0, NONE), (1, NONE)]), (B, [(0, NONE)])]
        assert cluster.committed("g") == {("a", 0): 7, ("a", 1): 7, ("b", 0): 7}

    def test_a_topic_named_twice_has_two_entries(self, cluster: Cluster) -> None:
        assert commit(cluster, (A, [0]), (A, [1])) == [(A, [(0, NONE)]), (A, [(1, NONE)])]

    def test_unknown_ids_and_partitions_come_first_in_the_order_of_the_request(self, cluster: Cluster) -> None:
        answer = commit(cluster, (A, [0]), (X, [3, 1]), (A, [5]), (B, [0]), (X, [2]))
        assert answer == [
            (X, [(3, UNKNOWN_ID), (1, UNKNOWN_ID), (2, UNKNOWN_ID)]),
            (A, [(5, UNKNOWN_PARTITION), (0, NONE)]),
            (B, [(0, NONE)]),
        ]
        assert cluster.committed("g") == {("a", 0): 7, ("b", 0): 7}

    def test_no_id_at_all_is_an_unknown_one(self, cluster: Cluster) -> None:
        assert commit(cluster, (ZERO, [0])) == [(ZERO, [(0, UNKNOWN_ID)])]
        assert commit(cluster, (A, [0]), (ZERO, [0])) == [(ZERO, [(0, UNKNOWN_ID)]), (A, [(0, NONE)])]

    def test_an_unknown_id_without_partitions_has_an_entry(self, cluster: Cluster) -> None:
        assert commit(cluster, (X, []), (A, [])) == [(X, [])]

    def test_without_a_known_topic_the_group_does_not_matter(self, cluster: Cluster) -> None:
        assert commit(cluster, (X, [0]), generation=3) == [(X, [(0, UNKNOWN_ID)])]
        assert "g" not in cluster.core.groups

    def test_the_error_of_the_group_is_for_the_other_topics(self, cluster: Cluster) -> None:
        answer = commit(cluster, (A, [0]), (X, [1]), generation=3)
        assert answer == [(X, [(1, UNKNOWN_ID)]), (A, [(0, ErrorCode.GROUP_ID_NOT_FOUND)])]

    def test_without_a_check_of_topics_an_unknown_id_is_refused_all_the_same(self) -> None:
        cluster = Cluster(Config(offsets_commit_topic_check=False))
        cluster.topics = SimpleNamespace(catalogue=Catalogue(a=A))
        assert commit(cluster, (A, [7]), (X, [0])) == [(X, [(0, UNKNOWN_ID)]), (A, [(7, NONE)])]
        assert cluster.committed("g") == {("a", 7): 7}

    def test_an_append_that_fails_is_told_by_id(self, cluster: Cluster) -> None:
        with cluster.log_held():
            call = cluster.send("commit", commit_request((X, [0]), (A, [0]), (B, [0])), 10)
            forget(cluster, "b")
            cluster.fail_appends()
        failed = ErrorCode.NOT_COORDINATOR
        assert told(call.answer) == [(X, [(0, UNKNOWN_ID)]), (A, [(0, failed)]), (B, [(0, failed)])]


class TestRecognisedCommit:
    @pytest.fixture
    def cluster(self, cluster: Cluster) -> Cluster:
        cluster.recognised = RecognisedCommits()
        return cluster

    def recognised(self, cluster: Cluster) -> int:
        assert cluster.recognised is not None
        return cluster.recognised.count

    def test_it_is_answered_by_id_as_the_first_one(self, cluster: Cluster) -> None:
        answers = [commit(cluster, (B, [0]), (A, [1, 0]), offset=offset) for offset in range(3)]
        assert answers == [[(B, [(0, NONE)]), (A, [(1, NONE), (0, NONE)])]] * 3
        assert self.recognised(cluster) == 2
        assert cluster.committed("g") == {("b", 0): 2, ("a", 0): 2, ("a", 1): 2}

    def test_its_failure_is_told_by_id(self, cluster: Cluster) -> None:
        commit(cluster, (B, [0]), (A, [0]))
        with cluster.log_held():
            call = cluster.send("commit", commit_request((B, [0]), (A, [0]), offset=8), 10)
            assert self.recognised(cluster) == 1
            cluster.fail_appends()
        failed = ErrorCode.NOT_COORDINATOR
        assert told(call.answer) == [(B, [(0, failed)]), (A, [(0, failed)])]

    def test_one_with_an_unknown_id_is_not_recognised(self, cluster: Cluster) -> None:
        for _ in range(3):
            assert commit(cluster, (A, [0]), (X, [0])) == [(X, [(0, UNKNOWN_ID)]), (A, [(0, NONE)])]
        assert self.recognised(cluster) == 0

    def test_it_ends_with_the_deletion_of_a_topic(self, cluster: Cluster) -> None:
        for _ in range(2):
            commit(cluster, (A, [0]))
        assert self.recognised(cluster) == 1
        forget(cluster, "a")
        cluster.delete_topic("a", [0, 1])
        assert commit(cluster, (A, [0])) == [(A, [(0, UNKNOWN_ID)])]
        assert self.recognised(cluster) == 1


class TestOffsetFetch:
    @pytest.fixture
    def cluster(self, cluster: Cluster) -> Cluster:
        commit(cluster, (A, [0, 1]), (B, [0]))
        return cluster

    def test_topics_have_their_ids(self, cluster: Cluster) -> None:
        answer = fetch(cluster, ("g", [(B, [0]), (A, [1, 9])]))
        assert answer == [[(B, [(0, 7, NONE)]), (A, [(1, 7, NONE), (9, -1, NONE)])]]

    def test_unknown_ids_come_last_in_the_order_of_the_request(self, cluster: Cluster) -> None:
        asked = [(X, [0]), (A, [0]), (ZERO, [1]), (X, [2]), (A, [0])]
        assert fetch(cluster, ("g", asked)) == [
            [
                (A, [(0, 7, NONE)]),
                (A, [(0, 7, NONE)]),
                (X, [(0, -1, UNKNOWN_ID)]),
                (ZERO, [(1, -1, UNKNOWN_ID)]),
                (X, [(2, -1, UNKNOWN_ID)]),
            ]
        ]

    def test_an_unknown_group_has_no_offsets_and_the_errors_of_unknown_ids(self, cluster: Cluster) -> None:
        answer = fetch(cluster, ("other", [(X, [0]), (A, [0])]), ("g", [(A, [0])]))
        assert answer == [[(A, [(0, -1, NONE)]), (X, [(0, -1, UNKNOWN_ID)])], [(A, [(0, 7, NONE)])]]

    def test_all_topics_are_those_that_have_an_id(self, cluster: Cluster) -> None:
        assert sorted(fetch(cluster, ("g", None))[0]) == [(A, [(0, 7, NONE), (1, 7, NONE)]), (B, [(0, 7, NONE)])]
        forget(cluster, "b")
        assert fetch(cluster, ("g", None)) == [[(A, [(0, 7, NONE), (1, 7, NONE)])]]

    def test_an_empty_list_asks_for_none(self, cluster: Cluster) -> None:
        assert fetch(cluster, ("g", [])) == [[]]

    def test_a_group_with_an_error_has_no_topics(self, cluster: Cluster) -> None:
        cluster.core.load_begin(cluster.core.partition_for("g"))
        assert fetch(cluster, ("g", [(X, [0]), (A, [0])])) == [[]]

    def test_among_many_groups_each_gets_its_own_unknown_ids(self, cluster: Cluster) -> None:
        asked: list[tuple[str, list[tuple[bytes, list[int]]] | None]] = [("g", None), ("g", None)]
        asked += [(f"g{number}", [(X, [number]), (A, [0])]) for number in range(30)]
        first, *others = fetch(cluster, *asked)
        assert len(first) == 2
        assert others == [[(A, [(0, -1, NONE)]), (X, [(number, -1, UNKNOWN_ID)])] for number in range(30)]

    @pytest.mark.plain("it replaces a method of the core")
    def test_the_member_and_its_epoch_reach_the_core(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []
        handle = cluster.core.handle
        monkeypatch.setattr(
            cluster.core, "handle", lambda request, *more: (seen.append(request), handle(request, *more))[1]
        )
        topics = [OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0]) for each in (A, X)]
        group = OffsetFetchRequestGroup(group_id="g", member_id="m", member_epoch=5, topics=topics)
        cluster.send("fetch", OffsetFetchRequest(groups=[group]), 10)
        (kept,) = seen[0].groups
        assert (kept.member_id, kept.member_epoch, [each.name for each in kept.topics]) == ("m", 5, ["a"])

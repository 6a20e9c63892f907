"""AlterPartitionReassignments, ListPartitionReassignments and AlterReplicaLogDirs: partitions stay where they are.

The expected responses are those of Apache Kafka 4.4.0 with one broker to the same requests, where it does not move.
"""

from __future__ import annotations

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.server.api import alter_partition_reassignments as reassign_api
from coordinator.server.api import alter_replica_log_dirs as move_api
from coordinator.server.api import describe_log_dirs as log_dirs_api
from coordinator.server.api import list_partition_reassignments as list_api
from protocol.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.support.topics_world import TopicsWorld

NONE, UNKNOWN, NOT_ASSIGNABLE = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
)


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld()
    world.create("t0", 3)
    return world


def reassign(
    world: TopicsWorld, topic: str, *asked: tuple[int, list[int] | None], may_change_factor: bool = True
) -> list[tuple[int, int]]:
    partitions = [ReassignablePartition(index, replicas) for index, replicas in asked]
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change_factor, topics=[ReassignableTopic(topic, partitions)]
    )
    answer = world.call(reassign_api.API, request, 1)
    assert (answer.error_code, answer.error_message) == (NONE, None)
    assert answer.allow_replication_factor_change == may_change_factor
    [result] = answer.responses
    assert result.name == topic
    assert all((each.error_message is None) == (each.error_code == NONE) for each in result.partitions)
    return [(each.partition_index, each.error_code) for each in result.partitions]


def test_a_partition_may_be_assigned_to_the_node_it_is_on_and_to_no_other() -> None:
    world = TopicsWorld(cluster=Cluster.of({1: Address("a", 1), 2: Address("b", 2)}, 1))
    world.create("t0", 2)
    leaders = [each.leader for each in world.topics.catalogue.topics["t0"].partitions]
    assert sorted(leaders) == [1, 2]
    assert reassign(world, "t0", (0, [leaders[0]]), (1, [leaders[1]])) == [(0, NONE), (1, NONE)]
    assert reassign(world, "t0", (0, [leaders[1]]), (1, [leaders[0]])) == [(0, NOT_ASSIGNABLE), (1, NOT_ASSIGNABLE)]
    assert reassign(world, "t0", (0, [1, 2])) == [(0, NOT_ASSIGNABLE)]
    factor = ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassign(world, "t0", (0, [1, 2]), (1, [1, 7]), may_change_factor=False) == [
        (0, factor),
        (1, NOT_ASSIGNABLE),
    ]


def test_unknown_partitions_and_nodes_are_refused_and_nothing_is_there_to_cancel(world: TopicsWorld) -> None:
    assert reassign(world, "nope", (0, [1])) == [(0, UNKNOWN)]
    assert reassign(world, "t0", (3, [1]), (-1, None)) == [(3, UNKNOWN), (-1, UNKNOWN)]
    assert reassign(world, "t0", (0, [7]), (1, []), (2, [1, 1])) == [(each, NOT_ASSIGNABLE) for each in (0, 1, 2)]
    assert reassign(world, "t0", (0, None)) == [(0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)]


def test_a_request_without_topics_has_kafkas_plain_answer(world: TopicsWorld) -> None:
    answer = world.call(reassign_api.API, AlterPartitionReassignmentsRequest(allow_replication_factor_change=False), 1)
    assert (answer.error_message, answer.allow_replication_factor_change, answer.responses) == ("", True, [])


@pytest.mark.parametrize("topics", [None, [ListPartitionReassignmentsTopics("t0", [0, 9])]])
def test_no_reassignment_is_ever_listed(
    world: TopicsWorld, topics: list[ListPartitionReassignmentsTopics] | None
) -> None:
    answer = world.call(list_api.API, ListPartitionReassignmentsRequest(topics=topics), 0)
    assert (answer.error_code, answer.error_message, answer.topics) == (NONE, None, [])


def move(world: TopicsWorld, *asked: tuple[str, str, list[int]], version: int = 2) -> dict[str, list[tuple[int, int]]]:
    dirs = [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(name, indexes)]) for path, name, indexes in asked]
    answer = world.call(move_api.API, AlterReplicaLogDirsRequest(dirs=dirs), version)
    return {each.topic_name: [(p.partition_index, p.error_code) for p in each.partitions] for each in answer.results}


def directory(world: TopicsWorld) -> str:
    [result] = world.call(log_dirs_api.API, DescribeLogDirsRequest(topics=None), 5).results
    return str(result.log_dir)


@pytest.mark.parametrize("version", [1, 2])
def test_a_log_may_be_moved_to_the_only_directory_and_to_no_other(world: TopicsWorld, version: int) -> None:
    here = directory(world)
    found = move(world, (here, "t0", [0, 5]), (here, "nope", [0]), ("/elsewhere", "t0", [1]), version=version)
    assert found == {"t0": [(0, NONE), (5, UNKNOWN), (1, ErrorCode.LOG_DIR_NOT_FOUND)], "nope": [(0, UNKNOWN)]}


def test_the_last_directory_that_is_named_for_a_partition_counts(world: TopicsWorld) -> None:
    assert move(world, ("/elsewhere", "t0", [0]), (directory(world), "t0", [0])) == {"t0": [(0, NONE)]}


def test_a_log_that_is_offline_or_on_another_node_cannot_be_moved() -> None:
    world = TopicsWorld(cluster=Cluster.of({1: Address("a", 1), 2: Address("b", 2)}, 1))
    world.create("t0", 2)
    [mine] = [each for each in world.topics.catalogue.topics["t0"].partitions if each.is_local]
    here, other = directory(world), 1 - mine.index
    assert move(world, (here, "t0", [other])) == {"t0": [(other, ErrorCode.REPLICA_NOT_AVAILABLE)]}
    world.topics.went_offline(mine)
    assert move(world, (here, "t0", [mine.index])) == {"t0": [(mine.index, ErrorCode.KAFKA_STORAGE_ERROR)]}


def test_many_partitions_are_handled_in_steps(world: TopicsWorld) -> None:
    assert len(reassign(world, "t0", *[(0, [1])] * 11_000)) == 11_000
    assert len(move(world, (directory(world), "t0", list(range(11_000))))["t0"]) == 11_000
    assert world.steps > 30

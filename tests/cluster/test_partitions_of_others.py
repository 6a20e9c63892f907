"""A partition of a topic has one node: all nodes tell which, and the others answer NOT_LEADER_OR_FOLLOWER for it."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import create_partitions as create_partitions_api
from coordinator.server.api import create_topics as create_topics_api
from coordinator.server.api import delete_records as delete_records_api
from coordinator.server.api import describe_cluster as cluster_api
from coordinator.server.api import fetch as fetch_api
from coordinator.server.api import metadata as metadata_api
from coordinator.server.api import offset_for_leader_epoch as epoch_api
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import batch, fetch, fetch_request, list_offsets, produce, send_batch
from tests.support.topics_world import TopicsWorld

ADDRESSES = {number: Address(f"node-{number}", 9000 + number) for number in (1, 2, 3)}
LEADERS = [3, 1, 2, 3]  # of orders-0 to orders-3, by the rule
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def node(number: int) -> TopicsWorld:
    world = TopicsWorld(cluster=Cluster.of(ADDRESSES, number))
    views = [MemoryLog() if world.cluster.owns_offsets_partition(index) else None for index in range(8)]
    for partition, view in zip(world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, views), views, strict=True):
        if view is not None:
            world.logs[partition] = view
    world.create("orders", 4)
    return world


@pytest.fixture
def second() -> TopicsWorld:
    return node(2)


def metadata(world: TopicsWorld, *names: str, version: int = 9) -> Any:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    return world.call(metadata_api.API, request, version)


@pytest.mark.parametrize("version", range(13))
@pytest.mark.parametrize("number", ADDRESSES)
def test_every_node_tells_all_nodes_and_the_leader_of_every_partition(number: int, version: int) -> None:
    answer = metadata(node(number), "orders", OFFSETS_TOPIC, version=version)
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [
        (1, "node-1", 9001),
        (2, "node-2", 9002),
        (3, "node-3", 9003),
    ]
    orders, offsets = answer.topics
    assert [each.leader_id for each in orders.partitions] == LEADERS
    assert [(each.replica_nodes, each.isr_nodes) for each in orders.partitions] == [([n], [n]) for n in LEADERS]
    assert [each.leader_id for each in offsets.partitions] == [1, 2, 3, 1, 2, 3, 1, 2]
    assert {each.error_code for topic in answer.topics for each in topic.partitions} == {0}
    if version >= 1:
        assert answer.controller_id == 1


@pytest.mark.parametrize("number", ADDRESSES)
def test_every_node_describes_the_whole_cluster(number: int) -> None:
    answer = node(number).call(cluster_api.API, DescribeClusterRequest(), 1)
    assert (answer.controller_id, [each.broker_id for each in answer.brokers]) == (1, [1, 2, 3])


def test_a_batch_for_a_partition_of_another_node_is_refused_and_one_for_an_own_taken(second: TopicsWorld) -> None:
    for index, leader in enumerate(LEADERS):
        answer = produce(second, partition=index)
        assert answer.error_code == (0 if leader == 2 else NOT_LEADER)
    assert [log.log_end_offset for log in second.logs.values() if log.log_end_offset] == [1]


def test_an_unacknowledged_batch_for_a_partition_of_another_node_closes_the_connection(second: TopicsWorld) -> None:
    send_batch(second, partition=0, acks=0)
    assert [each.reason for each in second.disconnects] == [
        "a batch sent with acks=0 was refused: NOT_LEADER_OR_FOLLOWER"
    ]


def test_a_fetch_from_a_partition_of_another_node_is_answered_at_once(second: TopicsWorld) -> None:
    produce(second, batch(b"here"), partition=2)
    for index, leader in enumerate(LEADERS):
        assert fetch(second, partition=index).error_code == (0 if leader == 2 else NOT_LEADER)
    waiting = second.call(fetch_api.API, fetch_request({("orders", 0): 0}, max_wait_ms=30_000), 11)
    assert waiting.responses[0].partitions[0].error_code == NOT_LEADER
    assert second.topics.fetches.waiting == 0


def test_the_offsets_log_is_read_from_the_node_that_has_the_partition(second: TopicsWorld) -> None:
    found = [fetch(second, topic=OFFSETS_TOPIC, partition=index).error_code for index in range(4)]
    assert found == [NOT_LEADER, 0, NOT_LEADER, NOT_LEADER]


def test_questions_about_offsets_go_to_the_leader_too(second: TopicsWorld) -> None:
    wanted = [0 if leader == 2 else NOT_LEADER for leader in LEADERS]
    assert [each.error_code for each in list_offsets(second, [-1, -1, -1, -1])] == wanted
    assert [each.error_code for each in list_offsets(second, [-2, 5, -2, 5])] == wanted
    epochs = [OffsetForLeaderPartition(partition=index, leader_epoch=0) for index in range(4)]
    asked = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=epochs)])
    answer = second.call(epoch_api.API, asked, 4)
    assert [each.error_code for each in answer.topics[0].partitions] == wanted
    trims = [DeleteRecordsPartition(partition_index=index, offset=0) for index in range(4)]
    deletion = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="orders", partitions=trims)], timeout_ms=1000)
    answer = second.call(delete_records_api.API, deletion, 2)
    assert [each.error_code for each in answer.topics[0].partitions] == wanted


def test_a_partition_that_is_nowhere_is_unknown_and_not_elsewhere(second: TopicsWorld) -> None:
    assert produce(second, partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(second, partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list_offsets(second, [-1], "nowhere")[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_all_partitions_exist_for_a_commit_wherever_they_are(second: TopicsWorld) -> None:
    assert [second.topics.partition_exists("orders", index) for index in range(5)] == [True] * 4 + [False]


def create(world: TopicsWorld, **about: Any) -> Any:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="orders2", **about)], timeout_ms=1000)
    return world.call(create_topics_api.API, request, 7).topics[0]


def test_a_new_topic_makes_logs_of_the_partitions_that_are_here_alone() -> None:
    controller = node(1)
    before = len(controller.logs)
    assert create(controller, num_partitions=6, replication_factor=1).error_code == 0
    assert len(controller.logs) - before == 2
    topic = controller.topics.catalogue.topics["orders2"]
    assert [(each.leader, each.is_local, each in controller.logs) for each in topic.partitions] == [
        (leader, leader == 1, leader == 1) for leader in (each.leader for each in topic.partitions)
    ]


def assignments(*brokers: int) -> list[CreatableReplicaAssignment]:
    return [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[broker]) for index, broker in enumerate(brokers)
    ]


def leaders(world: TopicsWorld, topic: str) -> list[int]:
    return [partition.leader for partition in world.topics.catalogue.topics[topic].partitions]


def grow(world: TopicsWorld, count: int, *brokers: list[int]) -> Any:
    wanted = [CreatePartitionsAssignment(broker_ids=each) for each in brokers] or None
    more = CreatePartitionsTopic(name="orders2", count=count, assignments=wanted)
    return world.call(create_partitions_api.API, CreatePartitionsRequest(topics=[more]), 3).results[0]


ASSIGNED: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1}


def test_a_manual_assignment_places_partitions_where_it_says() -> None:
    controller = node(1)
    assert create(controller, assignments=assignments(2, 2, 1), **ASSIGNED).error_code == 0
    assert leaders(controller, "orders2") == [2, 2, 1]
    assert [each.is_local for each in controller.topics.catalogue.topics["orders2"].partitions] == [False, False, True]
    assert grow(controller, 5, [1], [1]).error_code == 0
    assert leaders(controller, "orders2") == [2, 2, 1, 1, 1]
    assert grow(controller, 6).error_code == 0
    by_rule = controller.cluster.ownership.owner_of_topic_partition("orders2", 5)
    assert leaders(controller, "orders2") == [2, 2, 1, 1, 1, by_rule]


def test_an_assignment_that_is_validated_only_changes_nothing() -> None:
    controller = node(1)
    create(controller, assignments=assignments(2), **ASSIGNED)
    more = CreatePartitionsTopic(name="orders2", count=2, assignments=[CreatePartitionsAssignment(broker_ids=[3])])
    request = CreatePartitionsRequest(topics=[more], validate_only=True)
    assert controller.call(create_partitions_api.API, request, 3).results[0].error_code == 0
    assert controller.topics.catalogue.topics["orders2"].assigned == {0: 2}


def test_an_assignment_that_the_disk_refused_did_not_happen() -> None:
    controller = node(1)
    create(controller, assignments=assignments(2), **ASSIGNED)
    controller.fail_changes = 1
    assert grow(controller, 2, [1]).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert grow(controller, 2, [3]).error_code == 0
    assert leaders(controller, "orders2") == [2, 3]


def test_an_assignment_that_cannot_be_is_refused_with_the_reason() -> None:
    controller = node(1)
    unknown = create(controller, assignments=assignments(7), **ASSIGNED)
    assert unknown.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert unknown.error_message == "there is no broker 7; there are [1, 2, 3]"
    two = [CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2])]
    copies = create(controller, assignments=two, **ASSIGNED)
    assert copies.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "one copy of each partition; name one broker (docs/cluster.md" in copies.error_message
    create(controller, num_partitions=1, replication_factor=1)
    assert "name one broker" in grow(controller, 2, [1, 2]).error_message


def test_two_copies_are_not_possible() -> None:
    answer = create(node(1), num_partitions=1, replication_factor=3)
    assert answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "there is one copy of each partition" in answer.error_message


def test_retention_looks_at_what_is_here_alone(second: TopicsWorld) -> None:
    produce(second, partition=2)
    second.advance(second.config.log_retention_check_interval_ms * 2)
    assert not second.topics._scan_is_waiting

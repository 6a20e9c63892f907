"""Metadata and DescribeCluster: the cluster and its topics, and automatic creation of topics."""

from __future__ import annotations

import pytest

from coordinator.core.topics.effects import ChangeCatalogue
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import describe_cluster as cluster_api
from coordinator.server.api import metadata as metadata_api
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.primitives import ZERO_UUID
from tests.support.memory_log import MemoryLog
from tests.support.topics_world import TopicsWorld

ALL_VERSIONS = range(14)


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(num_partitions=4)
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog() for _ in range(8)])
    world.create("orders", 3)
    return world


def ask(
    world: TopicsWorld, *names: str | None, version: int = 9, ids: tuple[bytes, ...] = (), **about: bool
) -> MetadataResponse:
    topics = [MetadataRequestTopic(name=name) for name in names]
    topics += [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    answer = world.call(metadata_api.API, MetadataRequest(topics=topics, **about), version)
    assert isinstance(answer, MetadataResponse)
    return answer


def ask_all(world: TopicsWorld, version: int) -> MetadataResponse:
    request = MetadataRequest(topics=[] if version == 0 else None)
    answer = world.call(metadata_api.API, request, version)
    assert isinstance(answer, MetadataResponse)
    return answer


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_this_node_leads_every_partition(world: TopicsWorld, version: int) -> None:
    answer = ask(world, "orders", version=version)
    [broker] = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "broker.test", 9092)
    [topic] = answer.topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [partition.partition_index for partition in topic.partitions] == [0, 1, 2]
    assert all(
        (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
        for partition in topic.partitions
    )
    if version >= 1:
        assert answer.controller_id == 1
    if version >= 2:
        assert answer.cluster_id == "test-cluster"
    if version >= 7:
        assert topic.partitions[0].leader_epoch == 0
    assert (topic.topic_id == world.partition("orders").topic.topic_id) == (version >= 10)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_all_topics_include_the_offsets_topic(world: TopicsWorld, version: int) -> None:
    found = {topic.name: topic for topic in ask_all(world, version).topics}
    assert list(found) == [OFFSETS_TOPIC, "orders"]
    assert len(found[OFFSETS_TOPIC].partitions) == 8
    if version >= 1:
        assert (found[OFFSETS_TOPIC].is_internal, found["orders"].is_internal) == (True, False)


@pytest.mark.parametrize("version", range(1, 14))
def test_empty_list_requests_no_topics(world: TopicsWorld, version: int) -> None:
    answer = ask(world, version=version)
    assert (len(answer.brokers), answer.topics) == (1, [])


def test_topics_can_be_requested_by_id_since_version_12(world: TopicsWorld) -> None:
    topic_id = world.partition("orders").topic.topic_id
    found, missing = ask(world, version=12, ids=(topic_id, b"\x09" * 16)).topics
    assert (found.name, found.topic_id, found.error_code) == ("orders", topic_id, 0)
    assert (missing.name, missing.topic_id, missing.error_code) == (None, b"\x09" * 16, ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
def test_topic_ids_in_versions_10_and_11_are_refused(world: TopicsWorld, version: int) -> None:
    [topic] = ask(world, version=version, ids=(world.partition("orders").topic.topic_id,)).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_REQUEST, "")


def test_topic_named_twice_is_described_once(world: TopicsWorld) -> None:
    assert [topic.name for topic in ask(world, "orders", "orders").topics] == ["orders"]


# -- automatic creation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_unknown_topic_is_created_and_found_by_the_next_request(world: TopicsWorld, version: int) -> None:
    [first] = ask(world, "new", version=version).topics
    assert (first.error_code, first.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    [second] = ask(world, "new", version=version).topics
    assert (second.error_code, len(second.partitions)) == (0, 4)


def test_topic_that_is_being_created_is_unknown_and_not_created_twice(world: TopicsWorld) -> None:
    world.hold.add(ChangeCatalogue)
    for _ in range(3):
        [topic] = ask(world, "new").topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ask(world, "another")
    assert len(world.held) == 1
    world.release(ChangeCatalogue)
    assert all(topic.error_code == 0 for topic in ask(world, "new", "another").topics)


@pytest.mark.parametrize("version", range(4, 14))
def test_client_can_forbid_automatic_creation(world: TopicsWorld, version: int) -> None:
    for _ in range(2):
        [topic] = ask(world, "new", version=version, allow_auto_topic_creation=False).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_server_can_forbid_automatic_creation() -> None:
    world = TopicsWorld(auto_create_topics_enable=False)
    for _ in range(2):
        assert ask(world, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_above_the_limit_are_logged_in_one_line() -> None:
    world = TopicsWorld(max_topics=3)
    ask(world, *(f"new-{number}" for number in range(2_000)))
    ask(world, *(f"more-{number}" for number in range(2_000)))
    assert len([name for name in world.topics.catalogue.topics if "-" in name]) == 3
    (note,) = world.notes
    assert note.startswith("topic more-0 was not created automatically (and 2 others): ")


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ü", "x" * 250])
def test_illegal_name_is_an_error(world: TopicsWorld, name: str) -> None:
    [topic] = ask(world, name).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name)


def test_internal_topics_are_not_created_automatically(world: TopicsWorld) -> None:
    for _ in range(2):
        [topic] = ask(world, "__transaction_state").topics
        assert (topic.error_code, topic.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert not world.notes


def test_topic_with_a_colliding_name_is_not_created_and_logged(world: TopicsWorld) -> None:
    world.create("a.b")
    for _ in range(2):
        assert ask(world, "a_b").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "collides" in world.notes[0]


def test_no_topic_is_created_above_max_topics() -> None:
    world = TopicsWorld(max_topics=2)
    for _ in range(2):
        ask(world, "a", "b", "c")
    assert [topic.error_code for topic in ask(world, "a", "b", "c").topics] == [0, 0, 3]
    assert "max.topics" in world.notes[-1]


def test_failed_creation_is_retried_by_the_next_request(world: TopicsWorld) -> None:
    world.fail_changes = 1
    ask(world, "new")
    ask(world, "new")
    assert ask(world, "new").topics[0].error_code == 0


# -- authorized operations and errors ----------------------------------------------------------------------------


def test_authorized_operations_are_returned_on_request(world: TopicsWorld) -> None:
    assert ask(world, "orders").topics[0].topic_authorized_operations == -2147483648
    answer = ask(world, "orders", include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    assert answer.topics[0].topic_authorized_operations == 0b1101_1111_1000
    assert answer.cluster_authorized_operations == 0b1_1111_1010_0000
    assert ask(world, "orders").cluster_authorized_operations == -2147483648
    assert ask(world, "orders").topics[0].topic_authorized_operations == -2147483648


def test_offline_partition_has_no_leader(world: TopicsWorld) -> None:
    ask(world, "orders")
    world.topics.went_offline(world.partition("orders", 1))
    good, bad, _ = ask(world, "orders").topics[0].partitions
    assert (good.error_code, good.leader_id) == (0, 1)
    assert (bad.error_code, bad.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert (bad.isr_nodes, bad.offline_replicas, bad.replica_nodes) == ([], [1], [1])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_described_cluster_is_this_node(world: TopicsWorld, version: int) -> None:
    answer = world.call(cluster_api.API, DescribeClusterRequest(include_fenced_brokers=version >= 2), version)
    assert isinstance(answer, DescribeClusterResponse)
    assert not any(broker.is_fenced for broker in answer.brokers)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, "test-cluster", 1)
    assert [(broker.broker_id, broker.host, broker.port) for broker in answer.brokers] == [(1, "broker.test", 9092)]
    assert answer.cluster_authorized_operations == -2147483648


def test_authorized_operations_on_the_cluster_are_returned_on_request(world: TopicsWorld) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert world.call(cluster_api.API, request, 0).cluster_authorized_operations == 0b1_1111_1010_0000


@pytest.mark.parametrize(
    ("endpoint", "error"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_other_endpoint_types_are_refused(world: TopicsWorld, endpoint: int, error: ErrorCode) -> None:
    answer = world.call(cluster_api.API, DescribeClusterRequest(endpoint_type=endpoint), 1)
    assert (answer.error_code, answer.brokers, answer.controller_id) == (error, [], -1)


def test_unknown_topic_has_the_zero_id(world: TopicsWorld) -> None:
    assert ask(world, "new", version=12).topics[0].topic_id == ZERO_UUID

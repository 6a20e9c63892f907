"""ElectLeaders, DescribeTopicPartitions, DescribeLogDirs and ListConfigResources, which consoles send.

The expected responses are those of Apache Kafka 4.4.0 with one broker to the same requests.
"""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.topics.effects import MeasureDisk
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import describe_log_dirs as log_dirs_api
from coordinator.server.api import describe_topic_partitions as partitions_api
from coordinator.server.api import elect_leaders as elect_api
from coordinator.server.api import list_config_resources as list_api
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import batch, produce
from tests.support.topics_world import TopicsWorld

PREFERRED, UNCLEAN = 0, 1
UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, UNSUPPORTED_VERSION, INVALID_REQUEST, STORAGE = 3, 17, 35, 42, 56
PREFERRED_NOT_AVAILABLE, ELIGIBLE_NOT_AVAILABLE, NOT_NEEDED = 80, 83, 84
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld()
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    for name, partitions in (("t1", 2), ("t0", 3), ("a.b", 1)):
        world.create(name, partitions)
    return world


# -- ElectLeaders ------------------------------------------------------------------------------------------------


def elect(
    world: TopicsWorld, asked: list[tuple[str, list[int]]] | None, kind: int = PREFERRED, version: int = 2
) -> tuple[int, list[tuple[str, list[tuple[int, int]]]]]:
    topics = None if asked is None else [TopicPartitions(topic=name, partitions=each) for name, each in asked]
    answer = world.call(elect_api.API, ElectLeadersRequest(kind if version else 0, topics), version)
    return answer.error_code, [
        (each.topic, [(one.partition_id, one.error_code) for one in each.partition_result])
        for each in answer.replica_election_results
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_no_election_is_needed_and_unknown_partitions_are_errors(world: TopicsWorld, version: int) -> None:
    asked = [("t0", [0, 0, 5, -1]), ("nope", [0]), ("t0", [1]), ("t1", []), ("", [0])]
    unknown = UNKNOWN_TOPIC_OR_PARTITION
    assert elect(world, asked, version=version) == (
        0,
        [
            ("t0", [(0, NOT_NEEDED), (0, NOT_NEEDED), (5, unknown), (-1, unknown)]),
            ("nope", [(0, unknown)]),
            ("t0", [(1, NOT_NEEDED)]),
            ("t1", []),
            ("", [(0, unknown)]),
        ],
    )


@pytest.mark.parametrize("kind", [PREFERRED, UNCLEAN])
def test_partitions_that_need_no_election_are_omitted_if_all_are_requested(world: TopicsWorld, kind: int) -> None:
    error, results = elect(world, None, kind)
    assert error == 0
    assert sorted(results) == [(OFFSETS_TOPIC, []), ("a.b", []), ("t0", []), ("t1", [])]


def test_offline_partition_has_no_leader_to_elect(world: TopicsWorld) -> None:
    world.topics.went_offline(world.partition("t0", 2))
    assert elect(world, [("t0", [2])], PREFERRED)[1] == [("t0", [(2, PREFERRED_NOT_AVAILABLE)])]
    assert elect(world, [("t0", [2])], UNCLEAN)[1] == [("t0", [(2, ELIGIBLE_NOT_AVAILABLE)])]
    assert ("t0", [(2, PREFERRED_NOT_AVAILABLE)]) in elect(world, None)[1]


def test_unknown_election_type_is_an_invalid_request(world: TopicsWorld) -> None:
    assert elect(world, [("t0", [0])], 7) == (INVALID_REQUEST, [("t0", [(0, INVALID_REQUEST)])])
    assert elect(world, None, 7) == (INVALID_REQUEST, [])
    assert elect(world, [], 7) == (0, []), "an empty list requests nothing"


def test_many_partitions_are_handled_in_steps(world: TopicsWorld) -> None:
    _, [(_, results)] = elect(world, [("t0", [0] * 20_000)])
    assert len(results) == 20_000
    assert world.steps > 30


# -- DescribeTopicPartitions -------------------------------------------------------------------------------------


def page(
    world: TopicsWorld, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list[tuple[str, int, list[int]]], tuple[str, int] | None]:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit
    )
    if cursor is not None:
        request.cursor = Cursor(*cursor)
    answer = world.call(partitions_api.API, request, 0)
    following = answer.next_cursor
    return [
        (each.name, each.error_code, [partition.partition_index for partition in each.partitions])
        for each in answer.topics
    ], None if following is None else (following.topic_name, following.partition_index)


ALL = [(OFFSETS_TOPIC, 0, [0]), ("a.b", 0, [0]), ("t0", 0, [0, 1, 2]), ("t1", 0, [0, 1])]


def test_all_topics_are_ordered_by_name(world: TopicsWorld) -> None:
    assert page(world) == (ALL, None)
    answer = world.call(partitions_api.API, DescribeTopicPartitionsRequest(), 0)
    first, second = answer.topics[:2]
    assert (first.is_internal, second.is_internal) == (True, False)
    assert second.topic_id == world.topics.catalogue.topics["a.b"].topic_id
    assert second.topic_authorized_operations == 3576
    [partition] = second.partitions
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [1], [])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])


def test_topic_named_twice_is_described_once_and_unknown_topics_are_errors(world: TopicsWorld) -> None:
    topics, following = page(world, "t1", "t0", "nope", "a/b", "t0")
    assert topics == [
        ("a/b", INVALID_TOPIC, []),
        ("nope", UNKNOWN_TOPIC_OR_PARTITION, []),
        ("t0", 0, [0, 1, 2]),
        ("t1", 0, [0, 1]),
    ]
    assert following is None


@pytest.mark.parametrize(
    ("limit", "cursor", "topics", "following"),
    [
        (2, None, ALL[:2], ("t0", 0)),
        (0, None, ALL[:1], ("a.b", 0)),
        (-5, None, ALL[:1], ("a.b", 0)),
        (2, ("t0", 1), [("t0", 0, [1, 2])], ("t1", 0)),
        (1, ("t0", 1), [("t0", 0, [1])], ("t0", 2)),
        (2, ("t0", 7), [("t0", 0, []), ("t1", 0, [0, 1])], None),
        (9, ("zzz", 3), [], None),
        (9, ("tA", 0), [], None),
        (9, ("", 1), ALL, None),
        (9, ("t0", -1), [], None),
    ],
)
def test_page_begins_at_the_cursor_and_ends_at_the_limit(
    world: TopicsWorld, limit: int, cursor: Any, topics: Any, following: Any
) -> None:
    assert page(world, limit=limit, cursor=cursor) == (topics, following)


def test_unknown_topics_do_not_count_for_the_limit(world: TopicsWorld) -> None:
    assert page(world, "nope", "t0", "zope", limit=3) == (
        [("nope", UNKNOWN_TOPIC_OR_PARTITION, []), ("t0", 0, [0, 1, 2])],
        ("zope", 0),
    )
    assert page(world, "nope", "t0", limit=1, cursor=("nope", 4)) == (
        [("nope", UNKNOWN_TOPIC_OR_PARTITION, []), ("t0", 0, [0])],
        ("t0", 1),
    )


@pytest.mark.parametrize("cursor", [("t1", 0), ("", 1), ("t0", -1)])
def test_cursor_outside_the_request_or_negative_is_an_invalid_request(
    world: TopicsWorld, cursor: tuple[str, int]
) -> None:
    assert page(world, "t0", cursor=cursor) == ([("t0", INVALID_REQUEST, [])], None)


def test_all_pages_are_complete_and_within_the_servers_limit(world: TopicsWorld) -> None:
    world.create("big", 4500)
    seen: list[tuple[str, int]] = []
    cursor: tuple[str, int] | None = None
    while True:
        topics, cursor = page(world, limit=1_000_000, cursor=cursor)
        assert sum(len(partitions) for _, _, partitions in topics) <= 2000
        seen += [(name, index) for name, _, partitions in topics for index in partitions]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 4507
    assert world.steps > 15, "a page is built in steps"


def test_offline_partition_has_no_leader(world: TopicsWorld) -> None:
    world.topics.went_offline(world.partition("a.b"))
    answer = world.call(partitions_api.API, DescribeTopicPartitionsRequest(topics=[TopicRequest("a.b")]), 0)
    [partition] = answer.topics[0].partitions
    assert (partition.leader_id, partition.isr_nodes, partition.offline_replicas) == (-1, [], [1])


# -- DescribeLogDirs ---------------------------------------------------------------------------------------------


def log_dirs(world: TopicsWorld, asked: list[tuple[str, list[int]]] | None, version: int = 5) -> Any:
    topics = None if asked is None else [DescribableLogDirTopic(topic=name, partitions=each) for name, each in asked]
    answer = world.call(log_dirs_api.API, DescribeLogDirsRequest(topics=topics), version)
    assert answer.error_code == 0
    [result] = answer.results
    return result


def sizes(result: Any) -> dict[str, dict[int, int]]:
    return {each.name: {one.partition_index: one.partition_size for one in each.partitions} for each in result.topics}


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_log_directory_has_the_sizes_of_the_requested_logs(world: TopicsWorld, version: int) -> None:
    data = batch(b"one", b"two")
    produce(world, data, topic="t0", partition=1)
    result = log_dirs(world, [("t0", [0, 9]), ("t0", [1]), ("nope", [0])], version)
    assert (result.error_code, result.log_dir, result.is_cordoned) == (0, "/data", False)
    assert sizes(result) == {"t0": {0: 0, 1: len(data)}}
    assert {(one.offset_lag, one.is_future_key) for one in result.topics[0].partitions} == {(0, False)}
    assert (result.total_bytes, result.usable_bytes) == ((1000, 400) if version >= 4 else (-1, -1))


def test_null_requests_all_logs_and_an_empty_list_none(world: TopicsWorld) -> None:
    assert {name: sorted(each) for name, each in sizes(log_dirs(world, None)).items()} == {
        OFFSETS_TOPIC: [0],
        "a.b": [0],
        "t0": [0, 1, 2],
        "t1": [0, 1],
    }
    assert log_dirs(world, []).topics == []


def test_size_of_an_offsets_partition_is_the_current_size_of_its_log(world: TopicsWorld) -> None:
    log = world.topics.catalogue.topics[OFFSETS_TOPIC].partitions[0].view
    assert isinstance(log, MemoryLog)
    log.append(batch(b"offset"), 0, 0)
    assert sizes(log_dirs(world, [(OFFSETS_TOPIC, [0])])) == {OFFSETS_TOPIC: {0: log.size_bytes}}


def test_unusable_directory_is_a_storage_error(world: TopicsWorld) -> None:
    world.disk = None
    result = log_dirs(world, None)
    assert (result.error_code, result.topics) == (STORAGE, [])


def test_response_waits_until_the_executor_has_measured_the_disk(world: TopicsWorld) -> None:
    world.hold = {MeasureDisk}
    ticket = world.send(log_dirs_api.API, DescribeLogDirsRequest(topics=None), 5)
    assert ticket not in world.answers
    world.release(MeasureDisk)
    assert ticket in world.answers


def test_only_local_partitions_are_described_in_steps() -> None:
    cluster = Cluster.of({1: Address("a", 1), 2: Address("b", 2)}, 2)
    world = TopicsWorld(cluster=cluster)
    world.create("t0", 4000)
    indexes = sizes(log_dirs(world, None))["t0"]
    assert sorted(indexes) == [
        each.index for each in world.topics.catalogue.topics["t0"].partitions if each.leader == 2
    ]
    assert len(indexes) == 2000
    assert world.steps > 5


# -- ListConfigResources -----------------------------------------------------------------------------------------


def listed(world: TopicsWorld, *types: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    answer = world.call(list_api.API, ListConfigResourcesRequest(resource_types=list(types)), version)
    return answer.error_code, [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_empty_list_of_types_requests_all(world: TopicsWorld) -> None:
    error, resources = listed(world)
    assert error == 0
    assert resources[:2] == [(BROKER_LOGGER, "1"), (BROKER, "1")]
    assert sorted(resources[2:]) == [(TOPIC, OFFSETS_TOPIC), (TOPIC, "a.b"), (TOPIC, "t0"), (TOPIC, "t1")]


def test_types_select_resources_and_unknown_types_are_refused(world: TopicsWorld) -> None:
    assert listed(world, BROKER, BROKER) == (0, [(BROKER, "1")])
    assert listed(world, GROUP, CLIENT_METRICS) == (0, [])
    for types in ((0,), (1, TOPIC), (64,)):
        assert listed(world, *types) == (UNSUPPORTED_VERSION, [])


def test_version_0_requests_client_metrics_and_gets_none(world: TopicsWorld) -> None:
    assert listed(world, version=0) == (0, [])

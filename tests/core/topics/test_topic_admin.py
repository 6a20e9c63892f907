"""CreateTopics, DeleteTopics and CreatePartitions: the checks, and that a change takes effect when it is durable."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.effects import ChangeCatalogue, Changed, TopicAppend
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import create_partitions as create_partitions_api
from coordinator.server.api import create_topics as create_topics_api
from coordinator.server.api import delete_topics as delete_topics_api
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import fetch, produce, produced, send_batch
from tests.support.topics_world import UNANSWERED, TopicsWorld


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(max_topics=10, max_partitions=50, num_partitions=2)
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    return world


def topic(name: str = "orders", partitions: int = 3, factor: int = 1, **about: Any) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, **about)


def send_create(world: TopicsWorld, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Ticket:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return world.send(create_topics_api.API, request, version)


def create(world: TopicsWorld, *topics: CreatableTopic, **about: Any) -> list[Any]:
    results: list[Any] = world.answers[send_create(world, *topics, **about)].topics
    return results


def error(world: TopicsWorld, asked: CreatableTopic) -> ErrorCode:
    [result] = create(world, asked)
    if result.error_code:
        assert result.error_message
        assert asked.name not in world.topics.catalogue.topics or result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    return ErrorCode(result.error_code)


def replicas(*brokers: list[int]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(partition_index=index, broker_ids=each) for index, each in enumerate(brokers)]


# -- CreateTopics ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(8))
def test_topic_is_created(world: TopicsWorld, version: int) -> None:
    [result] = create(world, topic(), version=version)
    assert (result.name, result.error_code) == ("orders", 0)
    if version >= 1:
        assert result.error_message is None
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        configs = {config.name: config.value for config in result.configs}
        assert configs["retention.ms"] == "604800000"
    if version >= 7:
        assert result.topic_id == world.partition("orders").topic.topic_id
    assert [world.topics.partition_exists("orders", index) for index in range(4)] == [True, True, True, False]
    assert produce(world).error_code == 0


def test_defaults_are_those_of_the_server(world: TopicsWorld) -> None:
    [result] = create(world, topic(partitions=-1, factor=-1))
    assert (result.num_partitions, result.replication_factor) == (2, 1)


def test_response_waits_until_the_topic_is_durable(world: TopicsWorld) -> None:
    world.hold.add(ChangeCatalogue)
    ticket = send_create(world, topic())
    assert world.answer(ticket) is UNANSWERED
    assert not world.topics.partition_exists("orders", 0)
    assert produce(world).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.release(ChangeCatalogue)
    assert world.answer(ticket).topics[0].error_code == 0


def test_failed_creation_leaves_no_topic(world: TopicsWorld) -> None:
    world.fail_changes = 1
    assert error(world, topic()) is ErrorCode.KAFKA_STORAGE_ERROR
    assert error(world, topic()) is ErrorCode.NONE


def test_validate_only_creates_nothing(world: TopicsWorld) -> None:
    good, bad = create(world, topic("good"), topic("bad", 0), validate_only=True)
    assert (good.error_code, good.num_partitions, good.topic_id) == (0, 3, bytes(16))
    assert bad.error_code == ErrorCode.INVALID_PARTITIONS
    assert not world.topics.partition_exists("good", 0)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("x" * 249), ErrorCode.NONE),
        (topic("__transaction_state"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic(OFFSETS_TOPIC), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic(factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(factor=-2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(factor=3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic(partitions=-7), ErrorCode.INVALID_PARTITIONS),
        (topic(partitions=51), ErrorCode.POLICY_VIOLATION),
        (topic(partitions=2**31 - 1), ErrorCode.POLICY_VIOLATION),
        (topic(configs=[CreatableTopicConfig(name="no.such", value="1")]), ErrorCode.INVALID_CONFIG),
        (topic(configs=[CreatableTopicConfig(name="retention.ms", value="soon")]), ErrorCode.INVALID_CONFIG),
        (topic(configs=[CreatableTopicConfig(name="retention.ms", value=None)]), ErrorCode.INVALID_CONFIG),
        (topic(configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")]), ErrorCode.NONE),
        (topic(partitions=-1, factor=-1, assignments=replicas([1], [1])), ErrorCode.NONE),
        (topic(partitions=2, factor=-1, assignments=replicas([1], [1])), ErrorCode.INVALID_REQUEST),
        (topic(partitions=-1, factor=1, assignments=replicas([1], [1])), ErrorCode.INVALID_REQUEST),
        (topic(partitions=-1, factor=-1, assignments=replicas([1], [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, factor=-1, assignments=replicas([1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, factor=-1, assignments=replicas([2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, factor=-1, assignments=replicas([1], [1])[1:]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic(partitions=-1, factor=-1, assignments=replicas([1]) * 2), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_topics_are_validated_at_creation(world: TopicsWorld, asked: CreatableTopic, expected: ErrorCode) -> None:
    assert error(world, asked) is expected


def test_existing_topic_is_not_created_again(world: TopicsWorld) -> None:
    assert error(world, topic()) is ErrorCode.NONE
    assert error(world, topic(partitions=0)) is ErrorCode.TOPIC_ALREADY_EXISTS


def test_names_that_differ_in_dots_and_underscores_collide(world: TopicsWorld) -> None:
    first, second = create(world, topic("a.b"), topic("a_b"))
    assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert error(world, topic("a_b")) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert error(world, topic("a-b")) is ErrorCode.NONE


def test_topic_named_twice_is_not_created(world: TopicsWorld) -> None:
    twice, once = create(world, topic(), topic("payments"), topic(partitions=5))
    assert (twice.name, twice.error_code) == ("orders", ErrorCode.INVALID_REQUEST)
    assert (once.name, once.error_code) == ("payments", 0)


def test_topics_are_limited(world: TopicsWorld) -> None:
    results = create(world, *(topic(f"t{number}", 1) for number in range(12)))
    assert [result.error_code for result in results] == [0] * 10 + [ErrorCode.POLICY_VIOLATION] * 2
    assert "max.topics=10" in results[-1].error_message


def test_partitions_are_as_many_as_allowed_and_one_more_is_refused(world: TopicsWorld) -> None:
    assert [result.error_code for result in create(world, topic("a", 20), topic("b", 30))] == [0, 0]
    [refused] = create(world, topic("c", 1))
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    assert "max.partitions=50" in refused.error_message


def test_settings_of_a_new_topic_are_stored(world: TopicsWorld) -> None:
    create(
        world,
        topic(configs=[CreatableTopicConfig(name="retention.ms", value="5000")]),
    )
    assert world.partition("orders").topic.settings.retention_ms == 5000
    [facts] = parse_document(world.document).topics
    assert facts.configs == {"retention.ms": "5000"}


def test_changes_run_one_after_another(world: TopicsWorld) -> None:
    world.hold.add(ChangeCatalogue)
    first = send_create(world, topic("a"))
    second = send_create(world, topic("a"), topic("b"))
    assert len(world.held) == 1
    world.release(ChangeCatalogue)
    assert world.answer(first).topics[0].error_code == 0
    assert [each.error_code for each in world.answer(second).topics] == [ErrorCode.TOPIC_ALREADY_EXISTS, 0]
    facts = parse_document(world.document).topics
    assert [row.name for row in facts] == ["a", "b"]


# -- DeleteTopics ------------------------------------------------------------------------------------------------


def delete(world: TopicsWorld, *topics: DeleteTopicState, version: int = 6) -> list[Any]:
    request = DeleteTopicsRequest(topics=list(topics), topic_names=[each.name or "" for each in topics])
    results: list[Any] = world.call(delete_topics_api.API, request, version).responses
    return results


def by_name(name: str) -> DeleteTopicState:
    return DeleteTopicState(name=name)


@pytest.mark.parametrize("version", range(7))
def test_topic_is_deleted(world: TopicsWorld, version: int) -> None:
    create(world, topic("orders", 2))
    [result] = delete(world, by_name("orders"), version=version)
    assert (result.name, result.error_code) == ("orders", 0)
    assert not world.topics.partition_exists("orders", 0)
    assert [tuple(each) for each in world.deleted] == [("orders", (0, 1))]
    assert fetch(world).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error(world, topic("orders", 1)) is ErrorCode.NONE
    assert fetch(world).high_watermark == 0


def test_topic_is_deleted_by_id(world: TopicsWorld) -> None:
    [made] = create(world, topic())
    [result] = delete(world, DeleteTopicState(topic_id=made.topic_id))
    assert (result.name, result.topic_id, result.error_code) == ("orders", made.topic_id, 0)
    [again] = delete(world, DeleteTopicState(topic_id=made.topic_id))
    assert (again.name, again.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_document_lists_a_deleted_topic_until_its_directories_are_removed(world: TopicsWorld) -> None:
    create(world, topic("orders", 2))
    delete(world, by_name("orders"))
    topics, deleted, *_ = parse_document(world.document)
    assert (topics, [(row.name, row.partitions) for row in deleted]) == ([], [("orders", 2)])
    create(world, topic("other"))
    assert parse_document(world.document)[1] == []


def delete_without_renaming(world: TopicsWorld, name: str) -> None:
    """Delete a topic one of whose directories cannot be renamed."""
    world.hold.add(ChangeCatalogue)
    world.send(delete_topics_api.API, DeleteTopicsRequest(topic_names=[name]), 1)
    job = world.held.popleft()
    world.hold.clear()
    world.execute_topics(world.topics.catalogue_changed(Changed({}, job.remove[:1]), world.now_ms))


def test_topic_stays_in_the_document_if_its_directory_cannot_be_renamed(world: TopicsWorld) -> None:
    create(world, topic("orders", 2))
    delete_without_renaming(world, "orders")
    create(world, topic("other"))
    assert [row.name for row in parse_document(world.document)[1]] == ["orders"]
    create(world, topic("orders"))
    assert parse_document(world.document)[1] == []


def test_deleted_topics_with_directories_are_as_many_as_allowed_and_one_more_is_left_to_the_operator() -> None:
    world = TopicsWorld(max_topics=2)
    for name in ("a", "b", "c"):
        create(world, topic(name, 3))
        delete_without_renaming(world, name)
    assert list(world.topics.catalogue.deleted) == ["a", "b"]
    [note] = world.notes
    assert "remove c-0 to c-2," in note  # by number: a topic c-eu has directories that begin alike
    create(world, topic("a"))  # its former directories are moved away
    assert list(world.topics.catalogue.deleted) == ["b"]
    create(world, topic("d"))
    delete_without_renaming(world, "d")
    assert list(world.topics.catalogue.deleted) == ["b", "d"]


def test_invalid_deletions_are_refused(world: TopicsWorld) -> None:
    [made] = create(world, topic())
    results = delete(
        world,
        by_name("nowhere"),
        by_name(OFFSETS_TOPIC),
        DeleteTopicState(),
        DeleteTopicState(name="orders", topic_id=made.topic_id),
        DeleteTopicState(topic_id=b"\x05" * 16),
    )
    assert [result.error_code for result in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert world.topics.partition_exists("orders", 0)


def test_topic_named_twice_is_not_deleted(world: TopicsWorld) -> None:
    [made] = create(world, topic())
    assert [each.error_code for each in delete(world, by_name("orders"), by_name("orders"))] == [42]
    both = delete(world, by_name("orders"), DeleteTopicState(topic_id=made.topic_id))
    assert [each.error_code for each in both] == [42, 42]
    assert world.topics.partition_exists("orders", 0)


def test_produce_waiting_for_a_deleted_topic_gets_an_error(world: TopicsWorld) -> None:
    create(world, topic("orders", 1))
    world.hold.add(TopicAppend)
    ticket = send_batch(world)
    delete(world, by_name("orders"))
    assert produced(world.answer(ticket)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.topics.producing.in_flight_bytes == 0


def test_failed_deletion_keeps_the_topic(world: TopicsWorld) -> None:
    create(world, topic("orders", 1))
    world.fail_changes = 1
    [result] = delete(world, by_name("orders"))
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produce(world).error_code == 0


# -- CreatePartitions --------------------------------------------------------------------------------------------


def grow(
    world: TopicsWorld, count: int, name: str = "orders", version: int = 3, **about: Any
) -> tuple[int, str | None]:
    asked = CreatePartitionsTopic(name=name, count=count, assignments=about.pop("assignments", None))
    request = CreatePartitionsRequest(topics=[asked], **about)
    [result] = world.call(create_partitions_api.API, request, version).results
    return result.error_code, result.error_message


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added(world: TopicsWorld, version: int) -> None:
    create(world, topic("orders", 1))
    produce(world)
    assert grow(world, 3, version=version) == (0, None)
    assert produce(world, partition=2).error_code == 0
    assert fetch(world).high_watermark == 1
    assert parse_document(world.document)[0][0].partitions == 3


def test_invalid_partition_counts_are_refused(world: TopicsWorld) -> None:
    create(world, topic("orders", 3))
    one = [CreatePartitionsAssignment(broker_ids=[1])]
    assert grow(world, 3)[0] == ErrorCode.INVALID_PARTITIONS
    assert grow(world, 2)[0] == ErrorCode.INVALID_PARTITIONS
    assert grow(world, -1)[0] == ErrorCode.INVALID_PARTITIONS
    assert grow(world, 51)[0] == ErrorCode.POLICY_VIOLATION
    assert grow(world, 9, "nowhere")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert grow(world, 9, OFFSETS_TOPIC)[0] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert grow(world, 5, assignments=one)[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(world, 4, assignments=[CreatePartitionsAssignment(broker_ids=[9])])[0] == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT
    )
    assert grow(world, 4, validate_only=True) == (0, None)
    assert len(world.partition("orders").topic.partitions) == 3
    assert grow(world, 4, assignments=one) == (0, None)


def test_topic_named_twice_gets_no_partitions(world: TopicsWorld) -> None:
    create(world, topic("orders", 1))
    asked = CreatePartitionsTopic(name="orders", count=4, assignments=None)
    answer = world.call(create_partitions_api.API, CreatePartitionsRequest(topics=[asked, asked]), 3)
    assert [result.error_code for result in answer.results] == [ErrorCode.INVALID_REQUEST]


def test_failed_growth_adds_no_partitions(world: TopicsWorld) -> None:
    create(world, topic("orders", 1))
    world.fail_changes = 1
    assert grow(world, 2)[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert not world.topics.partition_exists("orders", 1)

"""The topic of events: created by the controller, with a partition for each of the offsets log, on the same node."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.effects import EnforceRetention
from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.core.topics.settings import events_configs
from coordinator.server.api import delete_topics
from coordinator.server.api import produce as produce_api
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.support.topics_wire import batch, produce, produce_request
from tests.support.topics_world import TopicsWorld

ADDRESSES = {number: Address(f"node-{number}", 9000 + number) for number in (1, 2, 3)}


def prepare(world: TopicsWorld) -> int:
    """Prepare the topic; return how often its end was reported."""
    ends: list[None] = []
    world.execute_topics(world.topics.prepare_events_topic(lambda: ends.append(None), world.now_ms))
    world.settle()
    return len(ends)


def write(world: TopicsWorld, partition: int = 0) -> Any:
    ticket = Ticket(produce_api.API, version=9)
    request = produce_request(batch(), EVENTS_TOPIC, partition)
    world.execute_topics(world.topics.produce_events(request, ticket, world.now_ms))
    world.settle()
    [topic] = world.answers[ticket].responses
    return topic.partition_responses[0]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_each_node_has_the_partitions_of_its_groups(number: int) -> None:
    cluster = Cluster.of(ADDRESSES, number)
    world = TopicsWorld(cluster=cluster, offsets_topic_num_partitions=7)
    topic = world.topics.catalogue.make(EVENTS_TOPIC, b"e" * 16, 7, {})
    owners = [cluster.ownership.owner_of_offsets_partition(index) for index in range(7)]
    assert [partition.leader for partition in topic.partitions] == owners
    assert [partition.is_local for partition in topic.partitions] == [owner == number for owner in owners]


def test_it_is_created_once_and_is_not_counted_as_a_topic_of_users() -> None:
    world = TopicsWorld(offsets_topic_num_partitions=5, max_topics=1)
    assert (prepare(world), prepare(world)) == (1, 1)
    catalogue = world.topics.catalogue
    assert (len(catalogue.topics[EVENTS_TOPIC].partitions), catalogue.revision, catalogue.user_topics) == (5, 1, 0)
    [facts] = parse_document(catalogue.document()).topics
    assert (facts.name, facts.partitions, facts.assigned) == (EVENTS_TOPIC, 5, {})
    world.create("orders")
    assert produce(world).error_code == ErrorCode.NONE


def test_new_settings_of_the_server_become_those_of_the_topic() -> None:
    world = TopicsWorld(group_events_retention_ms=1000)
    prepare(world)
    stored = parse_document(world.topics.catalogue.document())
    later = TopicsWorld(group_events_retention_ms=2000)
    later.topics.restore(stored)
    prepare(later)
    topic = later.topics.catalogue.topics[EVENTS_TOPIC]
    assert (topic.settings.retention_ms, topic.configs["retention.ms"]) == (2000, "2000")
    assert later.topics.catalogue.revision == stored.revision + 1
    assert parse_document(later.topics.catalogue.document()).topics[0].configs == topic.configs


@pytest.mark.parametrize(
    ("retention_ms", "retention_bytes", "segment_ms", "segment_bytes"),
    [(604_800_000, 64 << 20, 86_400_000, 4 << 20), (-1, -1, 86_400_000, 4 << 20), (1000, 200_000, 250, 50_000)],
)
def test_segments_are_small_enough_for_retention(
    retention_ms: int, retention_bytes: int, segment_ms: int, segment_bytes: int
) -> None:
    config = Config(group_events_retention_ms=retention_ms, group_events_retention_bytes=retention_bytes)
    configs = events_configs(config)
    assert (configs["segment.ms"], configs["segment.bytes"]) == (str(segment_ms), str(segment_bytes))


def test_the_server_writes_to_it_and_clients_do_not() -> None:
    world = TopicsWorld()
    assert write(world).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    prepare(world)
    assert produce(world, topic=EVENTS_TOPIC).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert (write(world).error_code, write(world).base_offset) == (ErrorCode.NONE, 1)
    deleted = world.call(delete_topics.API, DeleteTopicsRequest(topic_names=[EVENTS_TOPIC]), 5)
    assert [each.error_code for each in deleted.responses] == [ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_retention_looks_at_it() -> None:
    world = TopicsWorld(group_events_retention_ms=1)
    prepare(world)
    write(world)
    world.hold.add(EnforceRetention)
    world.advance(600_000)
    [job] = world.held
    assert [partition.topic.name for partition, _ in job.items] == [EVENTS_TOPIC]


def test_a_failure_of_its_creation_is_reported_and_another_attempt_succeeds() -> None:
    world = TopicsWorld()
    world.fail_changes = 1
    assert prepare(world) == 1
    assert EVENTS_TOPIC not in world.topics.catalogue.topics
    assert prepare(world) == 1
    assert EVENTS_TOPIC in world.topics.catalogue.topics

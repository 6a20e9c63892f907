"""Three nodes as processes: one catalogue for all, kept by the controller, and found again by a node that was away."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.support.admin import (
    TOPIC,
    create_topic,
    delete_topic,
    grow_topic,
    replace_topic_configs,
    set_topic_config,
    topic_metadata,
)
from tests.support.eventually import eventually
from tests.support.nodes import Nodes
from tests.support.questions import commit_offsets, committed_offsets, produce
from tests.support.wire import call

pytestmark = pytest.mark.integration

OVERRIDES = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    environment = {"COORDINATOR_EVENT_LOOP": request.param}
    with Nodes(tmp_path_factory.mktemp("nodes"), overrides=OVERRIDES, environment=environment) as running:
        yield running


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


def test_all_nodes_tell_the_same_cluster(nodes: Nodes) -> None:
    answers = [call(nodes[number].port, DescribeClusterRequest(), 1) for number in nodes]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].controller_id == 1
    assert [(each.broker_id, each.port) for each in answers[0].brokers] == [(n, nodes[n].port) for n in nodes]


def test_a_topic_made_by_the_controller_is_known_by_all_and_led_by_all(nodes: Nodes, topic: str) -> None:
    assert create_topic(nodes[1].port, topic) is ErrorCode.NONE
    nodes.know(topic, 6)
    answers = [topic_metadata(nodes[number].port, topic) for number in nodes]
    assert answers[0] == answers[1] == answers[2]
    assert sorted(each.leader_id for each in answers[0].partitions) == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("number", [2, 3])
def test_a_node_that_is_not_the_controller_says_so_to_who_wants_to_change_topics(
    nodes: Nodes, topic: str, number: int
) -> None:
    port = nodes[number].port
    assert create_topic(port, topic) is ErrorCode.NOT_CONTROLLER
    assert delete_topic(port, topic) is ErrorCode.NOT_CONTROLLER
    assert grow_topic(port, topic, 9) is ErrorCode.NOT_CONTROLLER
    assert nodes.partitions(1, topic) is None


def test_partitions_are_where_an_admin_client_assigns_them(nodes: Nodes, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": nodes[2].address})
    wanted = NewTopic(topic, num_partitions=3, replica_assignment=[[2], [2], [3]])
    admin.create_topics([wanted])[topic].result(20)
    nodes.know(topic, 3)
    admin.create_partitions([NewPartitions(topic, 5, replica_assignment=[[1], [2]])])[topic].result(20)
    nodes.know(topic, 5)
    nodes[2].restart()
    for number in nodes:
        leaders = [each.leader_id for each in topic_metadata(nodes[number].port, topic).partitions]
        assert leaders == [2, 2, 3, 1, 2]
    for index, leader in enumerate(leaders):
        assert produce(nodes[leader].port, topic, index, [b"x"]) == 0


def test_more_partitions_reach_all_nodes(nodes: Nodes, topic: str) -> None:
    create_topic(nodes[1].port, topic, 1)
    nodes.know(topic, 1)
    assert grow_topic(nodes[1].port, topic, 7) is ErrorCode.NONE
    nodes.know(topic, 7)


def retention(nodes: Nodes, number: int, topic: str) -> str:
    asked = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=["retention.ms"])
    answer = call(nodes[number].port, DescribeConfigsRequest(resources=[asked]), 4)
    return str(answer.results[0].configs[0].value)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_settings_of_a_topic_may_be_changed_at_any_node_and_hold_on_all(nodes: Nodes, topic: str, number: int) -> None:
    create_topic(nodes[1].port, topic, 3)
    nodes.know(topic, 3)
    assert set_topic_config(nodes[number].port, topic, "retention.ms", "1234567") is ErrorCode.NONE
    for each in nodes:
        eventually(lambda each=each: retention(nodes, each, topic) == "1234567", f"node {each} has the setting")
    assert replace_topic_configs(nodes[number].port, topic, retention_ms="77") is ErrorCode.NONE
    for each in nodes:
        eventually(lambda each=each: retention(nodes, each, topic) == "77", f"node {each} has the new settings")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_topic_that_is_asked_for_at_any_node_comes_to_be_on_all(nodes: Nodes, topic: str, number: int) -> None:
    answer = topic_metadata(nodes[number].port, topic, may_create=True)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    nodes.know(topic, 1)


def test_a_deleted_topic_is_gone_everywhere_and_so_are_the_offsets_committed_for_it(nodes: Nodes, topic: str) -> None:
    create_topic(nodes[1].port, topic, 3)
    nodes.know(topic, 3)
    groups = {number: nodes.group_of(number, topic) for number in nodes}
    for number, group in groups.items():
        commit_offsets(nodes[number].port, group, {(topic, 0): 5})
        assert committed_offsets(nodes[number].port, group) == {(topic, 0): 5}
    assert delete_topic(nodes[1].port, topic) is ErrorCode.NONE
    nodes.know(topic, None)
    for number, group in groups.items():
        eventually(
            lambda number=number, group=group: committed_offsets(nodes[number].port, group) == {},
            f"the offsets on node {number} are gone",
        )


def test_no_producer_id_is_given_twice(nodes: Nodes) -> None:
    ids = [
        call(nodes[number].port, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4)
        for number in nodes
        for _ in range(20)
    ]
    assert len({each.producer_id for each in ids}) == 60

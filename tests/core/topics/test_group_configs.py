"""Settings of groups that are changed at run time: IncrementalAlterConfigs and DescribeConfigs of type GROUP.

Error codes, texts and sources are those that Apache Kafka 4.4.0 returned to the same requests.
"""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.group_configs import values_of
from coordinator.server.api import alter_configs as replace_api
from coordinator.server.api import describe_configs as describe_api
from coordinator.server.api import incremental_alter_configs as alter_api
from coordinator.server.api import list_config_resources as list_api
from protocol.error_codes import ErrorCode
from protocol.messages import alter_configs
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.topics_world import TopicsWorld

GROUP = 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OF_GROUP, STATIC, DEFAULT = 8, 4, 5
SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


@pytest.fixture
def world() -> TopicsWorld:
    return TopicsWorld()


def alter(
    world: TopicsWorld, *changes: tuple[str, int, str | None], group: str = "g", validate_only: bool = False
) -> tuple[int, str]:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    [result] = world.call(alter_api.API, request, 1).responses
    assert (result.resource_type, result.resource_name) == (GROUP, group)
    return result.error_code, result.error_message or ""


def described(world: TopicsWorld, group: str = "g") -> dict[str, list[tuple[str, str, int]]]:
    resource = DescribeConfigsResource(resource_type=GROUP, resource_name=group, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    [result] = world.call(describe_api.API, request, 4).results
    assert result.error_code == 0
    return {each.name: [(s.name, s.value, s.source) for s in each.synonyms] for each in result.configs}


def listed(world: TopicsWorld) -> list[str]:
    resources = world.call(list_api.API, ListConfigResourcesRequest(resource_types=[GROUP]), 1).config_resources
    return [each.resource_name for each in resources]


def test_a_setting_of_a_group_takes_precedence_over_that_of_the_nodes(world: TopicsWorld) -> None:
    of_nodes = (f"group.{SESSION}", "45000", DEFAULT)
    assert described(world)[SESSION] == [of_nodes]
    assert alter(world, (SESSION, SET, "50000"), (INTERVAL, SET, " 15000 ")) == (0, "")
    assert described(world)[SESSION] == [(SESSION, "50000", OF_GROUP), of_nodes]
    assert world.topics.catalogue.group_values == {"g": {SESSION: 50000, INTERVAL: 15000}}
    assert parse_document(world.document).group_configs == {"g": {SESSION: "50000", INTERVAL: "15000"}}
    assert listed(world) == ["g"]
    assert described(world, "other")[SESSION] == [of_nodes]


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        ((SESSION, SET, "1000"), ErrorCode.INVALID_CONFIG, f"{SESSION} must be in the range 45000 to 60000 inclusive."),
        ((INTERVAL, SET, "1"), ErrorCode.INVALID_CONFIG, f"{INTERVAL} must be in the range 5000 to 15000 inclusive."),
        (
            (SESSION, SET, "abc"),
            ErrorCode.INVALID_CONFIG,
            f"Invalid value abc for configuration {SESSION}: Not a number of type INT",
        ),
        ((SESSION, SET, "9" * 40), ErrorCode.INVALID_CONFIG, "Not a number of type INT"),
        (("no.such", SET, "1"), ErrorCode.INVALID_CONFIG, "Unknown group config name: no.such"),
        (("share.auto.offset.reset", SET, "x"), ErrorCode.INVALID_CONFIG, "has no effect on this server"),
        (
            (SESSION, APPEND, "1"),
            ErrorCode.INVALID_CONFIG,
            f"Can't APPEND to key {SESSION} because its type is not LIST.",
        ),
        (
            (SESSION, SUBTRACT, "1"),
            ErrorCode.INVALID_CONFIG,
            f"Can't SUBTRACT to key {SESSION} because its type is not LIST.",
        ),
        ((SESSION, SET, None), ErrorCode.INVALID_REQUEST, f"Null value not supported for : {SESSION}"),
    ],
)
def test_a_refused_change_changes_nothing(
    world: TopicsWorld, change: tuple[str, int, str | None], error: ErrorCode, reason: str
) -> None:
    code, text = alter(
        world, ("consumer.heartbeat.interval.ms" if change[0] == SESSION else SESSION, DELETE, None), change
    )
    assert code == error
    assert reason in text
    assert world.topics.catalogue.group_configs == {}


def test_the_name_of_a_group_must_be_given_and_fit(world: TopicsWorld) -> None:
    assert alter(world, (SESSION, SET, "50000"), group="") == (
        ErrorCode.INVALID_REQUEST,
        "Default group resources are not allowed.",
    )
    assert alter(world, (SESSION, SET, "50000"), group="x" * 40_000)[0] == ErrorCode.INVALID_REQUEST
    assert alter(world, (SESSION, SET, "50000"), group="g", validate_only=True) == (0, "")
    assert listed(world) == []


def test_settings_are_removed_one_by_one_or_replaced_together(world: TopicsWorld) -> None:
    alter(world, (SESSION, SET, "50000"), (INTERVAL, SET, "6000"))
    assert alter(world, (INTERVAL, DELETE, None), ("no.such", DELETE, None)) == (0, "")
    assert world.topics.catalogue.group_configs == {"g": {SESSION: "50000"}}
    resource = alter_configs.AlterConfigsResource(GROUP, "g", [alter_configs.AlterableConfig(INTERVAL, "7000")])
    world.call(replace_api.API, alter_configs.AlterConfigsRequest(resources=[resource]), 2)
    assert world.topics.catalogue.group_configs == {"g": {INTERVAL: "7000"}}
    alter(world, (INTERVAL, DELETE, None))
    assert listed(world) == []
    assert '"groups"' not in world.document


def test_the_number_of_groups_with_settings_is_bounded() -> None:
    world = TopicsWorld(max_topics=2)
    for group in ("a", "b", "c"):
        code, text = alter(world, (SESSION, SET, "50000"), group=group)
        assert (code == ErrorCode.POLICY_VIOLATION) == (group == "c")
    assert text == "max.topics = 2 groups have settings already"
    assert alter(world, (SESSION, SET, "46000"), group="a") == (0, "")


def test_a_stored_value_outside_of_the_bounds_counts_as_the_nearest_one(world: TopicsWorld) -> None:
    stored = {"g": {SESSION: "1000", INTERVAL: "99999", "later": "x"}, "h": {SESSION: "x"}}
    assert values_of(stored, world.config) == {"g": {SESSION: 45000, INTERVAL: 15000}, "h": {}}


def test_each_node_follows_the_settings_of_groups() -> None:
    cluster = {1: Address("a", 1), 2: Address("b", 2)}
    controller = TopicsWorld(cluster=Cluster.of(cluster, 1))
    controller.topics.begin({})
    assert alter(controller, (SESSION, SET, "50000")) == (0, "")
    follower = TopicsWorld(cluster=Cluster.of(cluster, 2), node_id=2)
    outcomes: list[Any] = []
    follower.reply = lambda ticket, response: outcomes.append(response)  # type: ignore[method-assign]
    received = parse_document(controller.topics.catalogue.document())
    follower.execute_topics(follower.topics.replicate(received, Ticket(), follower.now_ms))
    follower.settle()
    assert outcomes == [ErrorCode.NONE]
    assert follower.topics.catalogue.group_values == {"g": {SESSION: 50000}}

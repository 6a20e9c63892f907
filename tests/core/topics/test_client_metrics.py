"""Subscriptions to the metrics of clients, changed at run time: resources of the type CLIENT_METRICS.

Error codes, texts, order and sources are those that Apache Kafka 4.4.0 returned to the same requests.
"""

from __future__ import annotations

import pytest

from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.client_metrics import MOST_SUBSCRIPTIONS
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

CLIENT_METRICS = 16
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OF_SUBSCRIPTION, DEFAULT = 7, 5
Change = tuple[str, int, str | None]


@pytest.fixture
def world() -> TopicsWorld:
    return TopicsWorld()


def alter(world: TopicsWorld, *changes: Change, name: str = "m", validate_only: bool = False) -> tuple[int, str]:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    [result] = world.call(alter_api.API, request, 1).responses
    return result.error_code, result.error_message or ""


def described(world: TopicsWorld, name: str = "m") -> list[tuple[str, str, int]]:
    resource = DescribeConfigsResource(resource_type=CLIENT_METRICS, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    [result] = world.call(describe_api.API, request, 4).results
    assert (result.error_code, result.error_message) == (0, "")
    for each in result.configs:
        own = [(each.name, each.value, OF_SUBSCRIPTION)]
        assert [(s.name, s.value, s.source) for s in each.synonyms] == (own if each.config_source != DEFAULT else [])
    return [(each.name, each.value, each.config_source) for each in result.configs]


def listed(world: TopicsWorld, version: int, *types: int) -> list[str]:
    request = ListConfigResourcesRequest(resource_types=list(types))
    return [each.resource_name for each in world.call(list_api.API, request, version).config_resources]


def test_a_subscription_is_kept_described_and_listed(world: TopicsWorld) -> None:
    changes = (("metrics", SET, "org.a,org.b"), ("interval.ms", SET, "100000"), ("match", SET, "client_id=a.*"))
    assert alter(world, *changes) == (0, "")
    assert described(world) == [
        ("interval.ms", "100000", OF_SUBSCRIPTION),
        ("match", "client_id=a.*", OF_SUBSCRIPTION),
        ("metrics", "org.a,org.b", OF_SUBSCRIPTION),
    ]
    assert described(world, "other") == [
        ("interval.ms", "300000", DEFAULT),
        ("match", "", DEFAULT),
        ("metrics", "", DEFAULT),
    ]
    assert listed(world, 1, CLIENT_METRICS) == listed(world, 0) == ["m"]
    [subscription] = world.topics.catalogue.subscriptions
    assert (subscription.metrics, subscription.interval_ms) == (("org.a", "org.b"), 100_000)
    assert parse_document(world.document).client_metrics["m"]["match"] == "client_id=a.*"


def test_the_last_setting_takes_the_subscription_with_it(world: TopicsWorld) -> None:
    alter(world, ("metrics", SET, "*"))
    assert alter(world, ("metrics", DELETE, None)) == (0, "")
    assert listed(world, 0) == []
    assert world.topics.catalogue.subscriptions == ()


def test_alter_configs_replaces_a_subscription(world: TopicsWorld) -> None:
    alter(world, ("metrics", SET, "*"))
    entry = alter_configs.AlterableConfig(name="interval.ms", value="250000")
    resource = alter_configs.AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name="m", configs=[entry])
    [result] = world.call(replace_api.API, alter_configs.AlterConfigsRequest(resources=[resource]), 2).responses
    assert result.error_code == 0
    assert world.topics.catalogue.client_metrics == {"m": {"interval.ms": "250000"}}


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (("other", SET, "a"), ErrorCode.INVALID_REQUEST, "Unknown client metrics configuration: other"),
        (("interval.ms", SET, "99"), ErrorCode.INVALID_REQUEST, "interval must be between 100 and 3600000 (1 hour)"),
        (("interval.ms", SET, "3600001"), ErrorCode.INVALID_REQUEST, "Invalid value 3600001 for interval.ms"),
        (("interval.ms", SET, "abc"), ErrorCode.INVALID_CONFIG, "Not a number of type INT"),
        (("match", SET, "nonsense"), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: nonsense"),
        (("match", SET, "client_id=a=b"), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id=a=b"),
        (("match", SET, "client_id=["), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id=["),
        (("match", SET, "client_id="), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id="),
        (("match", SET, "other=x"), ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: other=x"),
        (("match", SET, "client_id=" + "x" * 2000), ErrorCode.INVALID_CONFIG, "shorten it"),
        (("metrics", APPEND, "a"), ErrorCode.INVALID_CONFIG, "Can't APPEND to key metrics"),
        (("metrics", SUBTRACT, "a"), ErrorCode.INVALID_CONFIG, "Can't SUBTRACT to key metrics"),
        (("metrics", SET, None), ErrorCode.INVALID_REQUEST, "Null value not supported for : metrics"),
    ],
)
def test_a_refused_change_changes_nothing(world: TopicsWorld, change: Change, error: ErrorCode, reason: str) -> None:
    code, text = alter(world, change)
    assert code == error
    assert reason in text
    assert world.topics.catalogue.client_metrics == {}


def test_a_subscription_has_a_name(world: TopicsWorld) -> None:
    assert alter(world, ("metrics", SET, "*"), name="") == (
        ErrorCode.INVALID_REQUEST,
        "Subscription name can't be empty",
    )


def test_a_validation_changes_nothing(world: TopicsWorld) -> None:
    assert alter(world, ("metrics", SET, "*"), validate_only=True) == (0, "")
    assert world.topics.catalogue.client_metrics == {}


def test_there_is_a_bounded_number_of_subscriptions(world: TopicsWorld) -> None:
    for number in range(MOST_SUBSCRIPTIONS):
        assert alter(world, ("metrics", SET, "*"), name=f"m{number}") == (0, "")
    assert alter(world, ("metrics", SET, "*"), name="more")[0] == ErrorCode.POLICY_VIOLATION
    assert alter(world, ("metrics", SET, "org."), name="m0") == (0, "")

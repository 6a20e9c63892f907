"""AlterConfigs (33) replaces the settings of a topic. Every outcome was compared with Apache Kafka 4.4.0."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.server.api import alter_configs as replace_api
from protocol.error_codes import ErrorCode
from protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from tests.support.topics_world import TopicsWorld

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS = 2, 4, 8, 16
Setting = tuple[str, str | None]


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(log_retention_bytes=1_000_000)
    world.create("orders", retention_ms="5000", cleanup_policy="compact", segment_index_bytes="2000000")
    return world


def resource(*settings: Setting, name: str = "orders", kind: int = TOPIC) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, value=value) for key, value in settings]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def replace(world: TopicsWorld, *resources: AlterConfigsResource, version: int = 2, **about: bool) -> list[Any]:
    request = AlterConfigsRequest(resources=list(resources), **about)
    answer = world.call(replace_api.API, request, version)
    for result in answer.responses:
        assert (result.error_message is None) == (result.error_code == 0)
    return [(result.resource_name, ErrorCode(result.error_code)) for result in answer.responses]


def configs(world: TopicsWorld) -> dict[str, str]:
    return world.partition("orders").topic.configs


@pytest.mark.parametrize("version", [0, 1, 2])
def test_omitted_setting_returns_to_the_servers_value(world: TopicsWorld, version: int) -> None:
    assert replace(world, resource(("retention.bytes", "88")), version=version) == [("orders", ErrorCode.NONE)]
    settings = world.partition("orders").topic.settings
    assert (settings.retention_bytes, settings.retention_ms, settings.deletes) == (88, 604800000, True)


def test_setting_that_cannot_be_changed_stays(world: TopicsWorld) -> None:
    assert replace(world, resource()) == [("orders", ErrorCode.NONE)]
    assert configs(world) == {"segment.index.bytes": "2000000"}
    assert replace(world, resource(("segment.index.bytes", "2000000"), ("retention.ms", "1")))[0][1] is ErrorCode.NONE
    assert replace(world, resource(("segment.index.bytes", "1048576"), ("retention.ms", "2")))[0][1] is (
        ErrorCode.INVALID_CONFIG
    )
    assert configs(world) == {"segment.index.bytes": "2000000", "retention.ms": "1"}


def test_omitted_list_setting_returns_to_the_servers_value(world: TopicsWorld) -> None:
    replace(world, resource(("cleanup.policy", "")))
    assert configs(world) == {"segment.index.bytes": "2000000", "cleanup.policy": ""}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (resource(("retention.ms", "1"), ("retention.ms", None)), ErrorCode.INVALID_REQUEST),
        (resource(("retention.ms", None)), ErrorCode.INVALID_REQUEST),
        (resource(("no.such", None), kind=99), ErrorCode.INVALID_REQUEST),
        (resource(("no.such", "1")), ErrorCode.INVALID_CONFIG),
        (resource(("retention.ms", "soon")), ErrorCode.INVALID_CONFIG),
        (resource(("retention.ms", "")), ErrorCode.INVALID_CONFIG),
        (resource(("cleanup.policy", ",delete")), ErrorCode.INVALID_CONFIG),
        (resource(("no.such", "1"), name="nowhere"), ErrorCode.INVALID_CONFIG),
        (resource(("retention.ms", "1"), name="nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(("retention.ms", "1"), name="a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (resource(("retention.ms", "1"), name=""), ErrorCode.INVALID_REQUEST),
        (resource(("retention.ms", "1"), kind=99), ErrorCode.INVALID_REQUEST),
        (resource(("kafka", "INFO"), name="1", kind=BROKER_LOGGER), ErrorCode.INVALID_REQUEST),
        (resource(("other", "x"), name="m", kind=CLIENT_METRICS), ErrorCode.INVALID_REQUEST),
    ],
)
def test_refused_replacement_changes_nothing(
    world: TopicsWorld, asked: AlterConfigsResource, expected: ErrorCode
) -> None:
    before = dict(configs(world))
    assert replace(world, asked) == [(asked.resource_name, expected)]
    assert configs(world) == before


def test_each_resource_is_replaced_or_refused_alone(world: TopicsWorld) -> None:
    other = resource(("retention.ms", "1"), name="nowhere")
    assert replace(world, resource(("retention.ms", "7")), other) == [
        ("orders", ErrorCode.NONE),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert configs(world)["retention.ms"] == "7"


def test_resource_named_twice_is_not_changed(world: TopicsWorld) -> None:
    """Kafka 4.4.0 sends no response to such a request."""
    asked = resource(("retention.ms", "1"))
    assert replace(world, asked, asked) == [("orders", ErrorCode.INVALID_REQUEST)]
    assert configs(world)["retention.ms"] == "5000"


def test_validate_only_changes_nothing(world: TopicsWorld) -> None:
    assert replace(world, resource(("retention.ms", "1")), validate_only=True) == [("orders", ErrorCode.NONE)]
    assert configs(world)["retention.ms"] == "5000"


def test_replacement_takes_effect_when_it_is_durable(world: TopicsWorld) -> None:
    world.fail_changes = 1
    assert replace(world, resource(("retention.ms", "1"))) == [("orders", ErrorCode.KAFKA_STORAGE_ERROR)]
    assert configs(world)["retention.ms"] == "5000"

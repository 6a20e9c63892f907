"""DescribeConfigs and IncrementalAlterConfigs for topics: sources, checks, and changes at run time."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import keys
from coordinator.config.dynamic_config import DYNAMIC
from coordinator.core.topics.effects import ChangeCatalogue
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.topics.settings import TOPIC_KEYS, Effect, server_value, why_invalid
from coordinator.server.api import describe_configs as describe_api
from coordinator.server.api import incremental_alter_configs as alter_api
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import batch, produce
from tests.support.topics_world import TopicsWorld

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(log_retention_bytes=1_000_000)
    world.create("orders", retention_ms="5000")
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    return world


def describe(
    world: TopicsWorld, resource: int, name: str, *wanted: str, version: int = 4, **about: bool
) -> tuple[int, dict[str, Any]]:
    asked = DescribeConfigsResource(resource_type=resource, resource_name=name, configuration_keys=list(wanted) or None)
    [result] = world.call(describe_api.API, DescribeConfigsRequest(resources=[asked], **about), version).results
    assert (result.error_message == "") == (result.error_code == 0)
    return result.error_code, {config.name: config for config in result.configs}


def alter(
    world: TopicsWorld,
    *changes: tuple[str, int, str | None],
    name: str = "orders",
    resource: int = TOPIC,
    version: int = 1,
) -> int:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=resource, resource_name=name, configs=configs)]
    )
    [result] = world.call(alter_api.API, request, version).responses
    assert (result.error_message is None) == (result.error_code == 0)
    assert (result.resource_type, result.resource_name) == (resource, name)
    code: int = result.error_code
    return code


# -- DescribeConfigs ---------------------------------------------------------------------------------------------


def test_resource_named_repeatedly_is_described_once(world: TopicsWorld) -> None:
    """Kafka describes it each time: 20 KB of broker settings for the few bytes of its name."""
    broker = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    orders = DescribeConfigsResource(resource_type=TOPIC, resource_name="orders", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[broker, orders] * 500)
    results = world.call(describe_api.API, request, 4).results
    assert [(each.resource_type, each.resource_name) for each in results] == [(BROKER, "1"), (TOPIC, "orders")]


@pytest.mark.parametrize("version", range(1, 5))
def test_settings_of_a_topic_have_a_source(world: TopicsWorld, version: int) -> None:
    error, configs = describe(world, TOPIC, "orders", version=version, include_synonyms=True)
    assert error == 0
    assert set(configs) == set(TOPIC_KEYS)
    own, server, default = configs["retention.ms"], configs["retention.bytes"], configs["cleanup.policy"]
    assert (own.value, own.config_source, own.read_only) == ("5000", 1, False)
    assert (server.value, server.config_source) == ("1000000", 4)
    assert (default.value, default.config_source) == ("delete", 5)
    assert [(each.name, each.value, each.source) for each in own.synonyms] == [
        ("retention.ms", "5000", 1),
        ("log.retention.ms", "604800000", 5),
    ]
    assert configs["segment.index.bytes"].read_only
    if version >= 3:
        assert configs["retention.ms"].config_type == 5


def test_only_requested_settings_are_returned(world: TopicsWorld) -> None:
    _, configs = describe(world, TOPIC, "orders", "retention.ms", "no.such")
    assert list(configs) == ["retention.ms"]
    assert configs["retention.ms"].synonyms == []
    assert configs["retention.ms"].documentation is None


def test_documentation_is_returned_on_request(world: TopicsWorld) -> None:
    _, configs = describe(world, TOPIC, "orders", include_documentation=True)
    assert all(config.documentation for config in configs.values())
    assert "without effect" in configs["min.insync.replicas"].documentation


def test_settings_of_the_broker_are_described(world: TopicsWorld) -> None:
    error, configs = describe(world, BROKER, "1", include_synonyms=True)
    assert error == 0
    assert set(keys()) <= set(configs)
    assert {config.name for config in configs.values() if not config.read_only} == DYNAMIC
    sensitive = [config.name for config in configs.values() if config.is_sensitive]
    assert sensitive == [key.name for key in keys().values() if key.type == "password"]
    assert (configs["log.retention.bytes"].value, configs["log.retention.bytes"].config_source) == ("1000000", 4)
    assert configs["auto.create.topics.enable"].value == "true"
    assert configs["default.replication.factor"].value == "1"
    assert len([synonym.value for synonym in configs["log.retention.bytes"].synonyms]) == 2


def test_settings_for_all_brokers_are_empty_by_default(world: TopicsWorld) -> None:
    assert describe(world, BROKER, "") == (0, {})


@pytest.mark.parametrize(
    ("resource", "name", "expected"),
    [
        (TOPIC, "nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
        (TOPIC, OFFSETS_TOPIC, ErrorCode.NONE),
    ],
)
def test_described_resources_are_validated(world: TopicsWorld, resource: int, name: str, expected: ErrorCode) -> None:
    assert describe(world, resource, name)[0] == expected


# -- IncrementalAlterConfigs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_retention_can_be_changed_and_reset(world: TopicsWorld, version: int) -> None:
    settings = lambda: world.partition("orders").topic.settings  # noqa: E731
    assert alter(world, ("retention.ms", SET, "777"), ("retention.bytes", SET, "88"), version=version) == 0
    assert (settings().retention_ms, settings().retention_bytes) == (777, 88)
    assert alter(world, ("retention.ms", DELETE, None)) == 0
    assert (settings().retention_ms, settings().retention_bytes) == (604800000, 88)


def test_max_message_bytes_can_be_changed(world: TopicsWorld) -> None:
    assert alter(world, ("max.message.bytes", SET, "100")) == 0
    assert produce(world, batch(b"x" * 100)).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_entries_of_a_list_can_be_added_and_removed(world: TopicsWorld) -> None:
    assert alter(world, ("cleanup.policy", APPEND, "compact")) == 0
    assert world.partition("orders").topic.configs["cleanup.policy"] == "delete,compact"
    assert alter(world, ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert world.partition("orders").topic.configs["cleanup.policy"] == "compact"
    assert not world.partition("orders").topic.settings.deletes


@pytest.mark.parametrize("way", [("cleanup.policy", SET, ""), ("cleanup.policy", SUBTRACT, "delete")])
def test_cleanup_policy_can_be_empty(world: TopicsWorld, way: tuple[str, int, str]) -> None:
    """An empty policy neither deletes nor compacts (KIP-1161). It can be appended to, and reset."""
    assert alter(world, way) == 0
    assert describe(world, TOPIC, "orders", "cleanup.policy")[1]["cleanup.policy"].value == ""
    settings = world.partition("orders").topic.settings
    assert (settings.deletes, settings.compacts) == (False, False)
    assert alter(world, ("cleanup.policy", APPEND, "compact")) == 0
    assert world.partition("orders").topic.configs["cleanup.policy"] == "compact"
    assert alter(world, ("cleanup.policy", DELETE, None)) == 0
    assert world.partition("orders").topic.settings.deletes


def test_value_is_stored_as_kafka_normalises_it(world: TopicsWorld) -> None:
    assert alter(world, ("cleanup.policy", SET, " compact , delete,compact "), ("retention.ms", SET, " 12 ")) == 0
    assert world.partition("orders").topic.configs == {"cleanup.policy": "compact,delete", "retention.ms": "12"}


@pytest.mark.parametrize(("name", "value"), [("min.insync.replicas", "1"), ("segment.index.bytes", "10485760")])
def test_fixed_setting_is_accepted_with_its_present_value(world: TopicsWorld, name: str, value: str) -> None:
    """Tools send back the settings they have read, with one of them changed."""
    assert alter(world, (name, SET, value), ("retention.ms", SET, "7")) == 0
    assert world.partition("orders").topic.configs == {name: value, "retention.ms": "7"}
    assert alter(world, (name, DELETE, None)) == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("segment.index.bytes", SET, "2000"), ErrorCode.INVALID_CONFIG),
        (("min.insync.replicas", SET, "2"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", SET, ",delete"), ErrorCode.INVALID_CONFIG),
        (("cleanup.policy", APPEND, ""), ErrorCode.INVALID_CONFIG),
        (("retention.ms", APPEND, None), ErrorCode.INVALID_REQUEST),
        (("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_refused_change_changes_nothing(
    world: TopicsWorld, change: tuple[str, int, str | None], expected: ErrorCode
) -> None:
    assert alter(world, ("retention.bytes", SET, "5"), change) == expected
    assert world.partition("orders").topic.configs == {"retention.ms": "5000"}


def test_changes_of_other_resources_are_refused(world: TopicsWorld) -> None:
    change = ("retention.ms", SET, "1")
    assert alter(world, change, name="nowhere") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(world, ("no.such", SET, "1"), name="nowhere") == ErrorCode.INVALID_CONFIG
    assert alter(world, change, name="a b") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert alter(world, change, name="") == ErrorCode.INVALID_REQUEST
    assert alter(world, change, name=OFFSETS_TOPIC) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert alter(world, change, name="1", resource=BROKER) == ErrorCode.INVALID_CONFIG
    assert alter(world, change, name="1", resource=99) == ErrorCode.INVALID_REQUEST
    assert alter(world, change, change) == ErrorCode.INVALID_REQUEST


def test_resource_named_twice_is_not_changed(world: TopicsWorld) -> None:
    config = AlterableConfig(name="retention.ms", config_operation=SET, value="1")
    asked = AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[config])
    answer = world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=[asked, asked]), 1)
    assert [each.error_code for each in answer.responses] == [ErrorCode.INVALID_REQUEST]


def test_validate_only_changes_nothing(world: TopicsWorld) -> None:
    config = AlterableConfig(name="retention.ms", config_operation=SET, value="1")
    asked = AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[config])
    answer = world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=[asked], validate_only=True), 1)
    assert answer.responses[0].error_code == 0
    assert world.partition("orders").topic.settings.retention_ms == 5000


def test_change_takes_effect_when_it_is_durable(world: TopicsWorld) -> None:
    world.fail_changes = 1
    assert alter(world, ("retention.ms", SET, "1")) == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.partition("orders").topic.settings.retention_ms == 5000
    world.hold.add(ChangeCatalogue)
    config = AlterableConfig(name="retention.ms", config_operation=SET, value="1")
    asked = AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[config])
    world.send(alter_api.API, IncrementalAlterConfigsRequest(resources=[asked]), 1)
    assert world.partition("orders").topic.settings.retention_ms == 5000
    world.release(ChangeCatalogue)
    assert world.partition("orders").topic.settings.retention_ms == 1


# -- the table of settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOPIC_KEYS)
def test_every_default_is_valid_and_known_to_the_server(name: str, world: TopicsWorld) -> None:
    key = TOPIC_KEYS[name]
    assert key.why_invalid(key.default) is None or key.default == ""
    if key.attribute:
        assert keys()[key.server_key].attribute == key.attribute
        if name != "segment.bytes":
            assert str(keys()[key.server_key].default) == key.default
    if key.effect is Effect.LIVE and key.attribute:
        assert server_value(key, world.config)


@pytest.mark.parametrize(
    ("name", "value", "is_valid"),
    [
        ("retention.ms", "-1", True),
        ("retention.ms", "9223372036854775807", True),
        ("retention.ms", "9223372036854775808", False),
        ("retention.ms", "9" * 5000, False),
        ("retention.ms", "1_000", False),
        ("max.message.bytes", "2147483648", False),
        ("preallocate", "TRUE", True),
        ("preallocate", "yes", False),
        ("min.cleanable.dirty.ratio", "0.7", True),
        ("min.cleanable.dirty.ratio", "1.7", False),
        ("min.cleanable.dirty.ratio", "nan", False),
        ("cleanup.policy", "compact, delete", True),
        ("cleanup.policy", "", True),
        ("cleanup.policy", " ", True),
        ("cleanup.policy", ",", False),
        ("cleanup.policy", "delete,", False),
        ("compression.type", "lz4", True),
        ("compression.type", "rar", False),
        ("message.timestamp.type", "CreateTime", True),
        ("message.timestamp.type", "LogAppendTime", True),
        ("message.timestamp.type", "logappendtime", False),
        ("remote.storage.enable", "true", False),
    ],
)
def test_values_of_settings_are_checked(name: str, value: str, is_valid: bool) -> None:
    assert (why_invalid(name, value) is None) == is_valid

"""Settings of nodes that are changed at run time: IncrementalAlterConfigs and DescribeConfigs of type BROKER.

Error codes and sources are those that Apache Kafka 4.4.0 returned to the same requests; docs/differences.md lists the
differences.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coordinator
from coordinator.config.config import Config, keys
from coordinator.config.dynamic_config import DYNAMIC, DynamicConfig
from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.effects import ChangeCatalogue
from coordinator.core.topics.settings import ConfigType
from coordinator.server.api import describe_configs as describe_api
from coordinator.server.api import incremental_alter_configs as alter_api
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.topics_world import TopicsWorld

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OF_TOPIC, OF_NODE, OF_ALL_NODES, STATIC, DEFAULT, OF_LOGGER = 1, 2, 3, 4, 5, 6
RETENTION = "log.retention.ms"


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(group_max_size=50)
    world.create("orders")
    return world


def alter(
    world: TopicsWorld, *changes: tuple[str, int, str | None], node: str = "1", validate_only: bool = False
) -> tuple[int, str]:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=node, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    [result] = world.call(alter_api.API, request, 1).responses
    assert (result.resource_type, result.resource_name) == (BROKER, node)
    return result.error_code, result.error_message or ""


def described(world: TopicsWorld, name: str, resource: int = BROKER, of: str = "1") -> list[tuple[str, str, int]]:
    """Return the levels of a setting, the effective one first, after checking it against the setting itself."""
    asked = DescribeConfigsResource(resource_type=resource, resource_name=of, configuration_keys=[name])
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
    [result] = world.call(describe_api.API, request, 4).results
    assert result.error_code == 0
    if not result.configs:
        return []
    [config] = result.configs
    first = config.synonyms[0]
    assert (first.value, first.source) == (config.value, config.config_source)
    return [(each.name, each.value, each.source) for each in config.synonyms]


def test_setting_takes_effect_at_once_and_shows_its_source(world: TopicsWorld) -> None:
    assert alter(world, ("group.max.size", SET, "7")) == (0, "")
    assert world.config.group_max_size == 7
    assert described(world, "group.max.size") == [
        ("group.max.size", "7", OF_NODE),
        ("group.max.size", "50", STATIC),
        ("group.max.size", "2147483647", DEFAULT),
    ]


def test_setting_of_a_node_overrides_the_setting_of_all_nodes(world: TopicsWorld) -> None:
    assert alter(world, ("group.max.size", SET, "9"), node="")[0] == 0
    assert world.config.group_max_size == 9
    assert alter(world, ("group.max.size", SET, "7"))[0] == 0
    assert world.config.group_max_size == 7
    assert [(value, source) for _, value, source in described(world, "group.max.size")] == [
        ("7", OF_NODE),
        ("9", OF_ALL_NODES),
        ("50", STATIC),
        ("2147483647", DEFAULT),
    ]
    assert described(world, "group.max.size", of="") == [("group.max.size", "9", OF_ALL_NODES)]
    assert alter(world, ("group.max.size", DELETE, None))[0] == 0
    assert world.config.group_max_size == 9
    assert alter(world, ("group.max.size", DELETE, None), node="")[0] == 0
    assert world.config.group_max_size == 50
    assert described(world, "group.max.size", of="") == []


def test_topics_inherit_a_setting_unless_they_override_it(world: TopicsWorld) -> None:
    world.create("short", retention_ms="5000")
    assert alter(world, (RETENTION, SET, "123456"))[0] == 0
    settings = {name: topic.settings.retention_ms for name, topic in world.topics.catalogue.topics.items()}
    assert settings == {"orders": 123456, "short": 5000}
    assert described(world, "retention.ms", TOPIC, "orders") == [
        (RETENTION, "123456", OF_NODE),
        (RETENTION, "604800000", DEFAULT),
    ]
    assert described(world, "retention.ms", TOPIC, "short")[0] == ("retention.ms", "5000", OF_TOPIC)
    assert alter(world, (RETENTION, DELETE, None))[0] == 0
    assert world.partition("orders").topic.settings.retention_ms == 604800000


REFUSED = [
    (("node.id", SET, "9"), ErrorCode.INVALID_REQUEST, "dynamically: [node.id]; change them in the configuration"),
    (("compaction.command", SET, "sh"), ErrorCode.INVALID_REQUEST, "dynamically: [compaction.command]"),
    (("nope", SET, "9"), ErrorCode.INVALID_CONFIG, "Unknown config name, or without effect on this server: nope"),
    (
        ("log.cleaner.threads", SET, "9"),
        ErrorCode.INVALID_CONFIG,
        "or without effect on this server: log.cleaner.threads",
    ),
    (("nope", APPEND, "9"), ErrorCode.INVALID_CONFIG, "Unknown config name, or without effect here: nope"),
    ((RETENTION, SET, "abc"), ErrorCode.INVALID_REQUEST, "log.retention.ms must be a whole number"),
    ((RETENTION, SET, "-7"), ErrorCode.INVALID_REQUEST, "log.retention.ms must be -1 to"),
    ((RETENTION, SET, None), ErrorCode.INVALID_REQUEST, "Null value not supported for : log.retention.ms"),
    ((RETENTION, APPEND, "5"), ErrorCode.INVALID_CONFIG, "append is not allowed for config key: log.retention.ms"),
    ((RETENTION, SUBTRACT, "5"), ErrorCode.INVALID_CONFIG, "subtract is not allowed for config key"),
    ((RETENTION, 9, "5"), ErrorCode.INVALID_REQUEST, "Unknown operations type 9"),
    (
        ("group.max.session.timeout.ms", SET, "5"),
        ErrorCode.INVALID_REQUEST,
        "group.min.session.timeout.ms (6000) is above group.max.session.timeout.ms (5)",
    ),
]


@pytest.mark.parametrize(("change", "error", "reason"), REFUSED)
def test_refused_change_changes_nothing(
    world: TopicsWorld, change: tuple[str, int, str | None], error: ErrorCode, reason: str
) -> None:
    code, text = alter(world, ("group.max.size", SET, "7"), change)
    assert code == error
    assert reason in text
    assert world.config == Config(group_max_size=50)
    assert world.topics.catalogue.node_configs == {}


def test_unset_setting_can_be_deleted(world: TopicsWorld) -> None:
    assert alter(world, ("node.id", DELETE, None), ("nope", DELETE, None), (RETENTION, DELETE, "x"))[0] == 0


@pytest.mark.parametrize(
    ("node", "reason"),
    [("2", "Unexpected broker id, expected 1, but received 2"), ("x", "Node id must be an integer, but it is: x")],
)
def test_settings_of_an_unknown_node_are_refused(world: TopicsWorld, node: str, reason: str) -> None:
    assert alter(world, (RETENTION, SET, "5"), node=node) == (ErrorCode.INVALID_REQUEST, reason)


def test_two_settings_that_depend_on_each_other_can_change_together(world: TopicsWorld) -> None:
    changes = ("group.min.session.timeout.ms", SET, "1"), ("group.max.session.timeout.ms", SET, "5")
    assert alter(world, *changes)[0] == 0
    assert (world.config.group_min_session_timeout_ms, world.config.group_max_session_timeout_ms) == (1, 5)


def test_setting_named_twice_is_refused(world: TopicsWorld) -> None:
    assert alter(world, (RETENTION, SET, "5"), (RETENTION, SET, "6"))[0] == ErrorCode.INVALID_REQUEST


def test_validate_only_changes_nothing(world: TopicsWorld) -> None:
    assert alter(world, ("group.max.size", SET, "7"), validate_only=True) == (0, "")
    assert alter(world, ("node.id", SET, "7"), validate_only=True)[0] == ErrorCode.INVALID_REQUEST
    assert world.config.group_max_size == 50


def test_setting_takes_effect_when_it_is_durable_and_not_if_the_write_fails(world: TopicsWorld) -> None:
    world.hold = {ChangeCatalogue}
    configs = [AlterableConfig(name="group.max.size", config_operation=SET, value="7")]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=configs)
    ticket = world.send(alter_api.API, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert world.config.group_max_size == 50
    assert ticket not in world.answers
    world.release(ChangeCatalogue)
    assert world.config.group_max_size == 7
    assert parse_document(world.document).node_configs == {"1": {"group.max.size": "7"}}
    world.fail_changes = 1
    assert alter(world, ("group.max.size", SET, "8"))[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert world.config.group_max_size == 7


def test_one_request_can_change_topics_and_a_node(world: TopicsWorld) -> None:
    resources = [
        AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=[AlterableConfig(name=key, config_operation=SET, value="6")]
        )
        for kind, name, key in ((BROKER, "1", "group.max.size"), (TOPIC, "orders", "retention.ms"))
    ]
    answer = world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=resources), 1)
    assert [each.error_code for each in answer.responses] == [0, 0]
    assert (world.config.group_max_size, world.partition("orders").topic.settings.retention_ms) == (6, 6)


def test_other_changes_of_the_catalogue_keep_the_settings_of_nodes(world: TopicsWorld) -> None:
    alter(world, ("group.max.size", SET, "7"))
    world.create("more")
    resource = AlterConfigsResource(
        resource_type=TOPIC, resource_name="more", configs=[AlterableConfig(name="retention.ms", value="6")]
    )
    world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert parse_document(world.document).node_configs == {"1": {"group.max.size": "7"}}


def test_node_applies_the_settings_stored_by_the_controller(world: TopicsWorld) -> None:
    cluster = {1: Address("a", 1), 2: Address("b", 2)}
    controller = TopicsWorld(cluster=Cluster.of(cluster, 1))
    controller.topics.begin({})
    assert alter(controller, ("group.max.size", SET, "7"), node="2")[0] == 0
    assert alter(controller, ("max.groups", SET, "70"), node="")[0] == 0
    assert (controller.config.group_max_size, controller.config.max_groups) == (Config().group_max_size, 70)
    follower = TopicsWorld(cluster=Cluster.of(cluster, 2), node_id=2)
    received = parse_document(controller.topics.catalogue.document())
    outcomes: list[Any] = []
    follower.reply = lambda ticket, response: outcomes.append(response)  # type: ignore[method-assign]
    follower.execute_topics(follower.topics.replicate(received, Ticket(), follower.now_ms))
    follower.settle()
    assert outcomes == [ErrorCode.NONE]
    assert (follower.config.group_max_size, follower.config.max_groups) == (7, 70)
    assert parse_document(follower.document).node_configs == received.node_configs


def test_node_that_is_not_the_controller_forwards_the_request() -> None:
    world = TopicsWorld(cluster=Cluster.of({1: Address("a", 1), 2: Address("b", 2)}, 2), node_id=2)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="2", configs=[])
    world.send(alter_api.API, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert len(world.asked_controller) == 1


# -- loggers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger, root = logging.getLogger("coordinator.of_a_test"), logging.root.level
    yield logger
    logger.setLevel(logging.NOTSET)
    logging.root.setLevel(root)


def alter_logger(world: TopicsWorld, *changes: tuple[str, int, str | None], node: str = "1") -> tuple[int, str]:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    resource = AlterConfigsResource(resource_type=BROKER_LOGGER, resource_name=node, configs=configs)
    [result] = world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    return result.error_code, result.error_message or ""


def test_level_of_a_logger_is_shown_and_changed(world: TopicsWorld, logger: logging.Logger) -> None:
    logging.root.setLevel(logging.INFO)
    asked = DescribeConfigsResource(
        resource_type=BROKER_LOGGER, resource_name="1", configuration_keys=["root", logger.name]
    )

    def shown() -> dict[str, tuple[str, int]]:
        request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
        [result] = world.call(describe_api.API, request, 4).results
        assert not any(each.read_only or each.synonyms for each in result.configs)
        return {each.name: (each.value, each.config_source) for each in result.configs}

    assert shown() == {"root": ("INFO", OF_LOGGER), logger.name: ("INFO", OF_LOGGER)}
    assert alter_logger(world, (logger.name, SET, "WARN")) == (0, "")
    assert logger.level == logging.WARNING
    assert shown()[logger.name] == ("WARN", OF_LOGGER)
    for level in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
        assert alter_logger(world, ("root", SET, level))[0] == 0
        assert shown()["root"][0] == level
    assert alter_logger(world, (logger.name, DELETE, None)) == (0, "")
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("change", "node", "error", "reason"),
    [
        (("nologger.x", SET, "DEBUG"), "1", 40, "Logger nologger.x does not exist!"),
        (("root", SET, "warn"), "1", 40, "Cannot set the log level of root to warn"),
        (("root", APPEND, "WARN"), "1", 42, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        (("root", 7, "WARN"), "1", 42, "Unknown operation type 7 is not allowed for the BROKER_LOGGER resource"),
        (("root", DELETE, None), "1", 42, "Removing the log level of the root logger is not allowed"),
        (("root", SET, None), "1", 42, "Null value not supported for : root"),
        (("root", SET, "WARN"), "2", 42, "Unexpected node id. Expected 1, but received 2"),
    ],
)
def test_refused_log_level_changes_nothing(
    world: TopicsWorld, logger: logging.Logger, change: Any, node: str, error: int, reason: str
) -> None:
    code, text = alter_logger(world, (logger.name, SET, "ERROR"), change, node=node)
    assert (code, logger.level) == (error, logging.NOTSET)
    assert reason in text


# -- DynamicConfig -----------------------------------------------------------------------------------------------


def test_stored_settings_that_conflict_with_the_configuration_are_all_ignored() -> None:
    config = Config(group_max_session_timeout_ms=10_000)
    dynamic = DynamicConfig(config)
    reason = dynamic.apply({"1": {"group.min.session.timeout.ms": "20000", "max.groups": "5"}})
    assert reason is not None
    assert "group.min.session.timeout.ms (20000)" in reason
    assert config == Config(group_max_session_timeout_ms=10_000)


def test_unknown_stored_settings_are_ignored() -> None:
    config = Config()
    assert DynamicConfig(config).apply({"1": {"of.another.version": "x", "node.id": "9", "max.groups": "5"}}) is None
    assert (config.node_id, config.max_groups) == (1, 5)


def test_every_dynamic_setting_exists_and_its_default_can_be_set() -> None:
    config = Config()
    dynamic = DynamicConfig(config)
    assert set(keys()) >= DYNAMIC
    assert dynamic.apply({"1": {name: str(keys()[name].default).lower() for name in DYNAMIC}}) is None
    assert config == Config()


def test_no_object_copies_a_dynamic_setting_at_start() -> None:
    copied = re.compile(r"self\.(\w+)\s*=[^=\n]*\bconfig\.(\w+)")
    attributes = {keys()[name].attribute for name in DYNAMIC}
    found = {
        (path.name, target, attribute)
        for path in sorted(Path(coordinator.__file__).parent.rglob("*.py"))
        for target, attribute in copied.findall(path.read_text(encoding="utf-8"))
        if attribute in attributes
    }
    assert found == {
        ("topics.py", "_scan_at_ms", "log_retention_check_interval_ms"),  # when the next scan is due
        ("fetch.py", "max_bytes", "fetch_max_bytes"),  # the limit of one request
    }


@pytest.mark.parametrize("token", ["s3cret", ""])
def test_a_secret_is_described_without_its_value(token: str) -> None:
    world = TopicsWorld(test_verbs_token=token)
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=["test.verbs.token"])
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
    [found] = world.call(describe_api.API, request, 4).results[0].configs
    assert (found.value, found.is_sensitive, found.config_type) == (None, True, ConfigType.PASSWORD)
    assert [each.value for each in found.synonyms] == [None] * (1 + bool(token))

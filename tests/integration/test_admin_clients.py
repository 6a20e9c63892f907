"""Requests of admin clients and consoles, by two libraries against a real daemon; settings survive a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.elect_leaders import ElectLeadersRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.clients.conftest import ABOUT_THE_LIBRARIES
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.nodes import Nodes
from tests.support.wire import call

pytestmark = [pytest.mark.integration, *(pytest.mark.filterwarnings(each) for each in ABOUT_THE_LIBRARIES)]

BROKER = 4


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, topics=["orders:3"], overrides=["auto.create.topics.enable=false"]) as daemon:
        yield daemon


def of_node(port: int, name: str, node: str = "1") -> tuple[str | None, int]:
    """A setting as the node shows it, and its source."""
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name=node, configuration_keys=[name])
    [result] = call(port, DescribeConfigsRequest(resources=[asked]), 4).results
    [config] = result.configs
    return config.value, config.config_source


def set_of_node(port: int, node: str, **settings: str) -> ErrorCode:
    configs = [AlterableConfig(name=name.replace("_", "."), value=value) for name, value in settings.items()]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=node, configs=configs)
    [answer] = call(port, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    return ErrorCode(answer.error_code)


def test_kafka_python_asks_for_log_directories_elections_partitions_and_resources(daemon: Daemon) -> None:
    from kafka.admin import KafkaAdminClient  # here, because of its warnings

    admin: Any = KafkaAdminClient(bootstrap_servers=daemon.address)
    try:
        [node] = admin.describe_log_dirs()
        [directory] = node["log_dirs"]
        assert directory["log_dir"] == str(daemon.data_dir)
        topics = {each["name"]: each["partitions"] for each in directory["topics"]}
        assert sorted(each["partition_index"] for each in topics["orders"]) == [0, 1, 2]
        assert 0 < directory["usable_bytes"] <= directory["total_bytes"]
        admin.elect_leaders(0, {"orders": [0, 1, 2]}, raise_errors=False)
        pages = admin.describe_topic_partitions(["orders"], response_partition_limit=2)
        assert pages["next_cursor"]["partition_index"] == 2
        resources = {kind.lower(): names for kind, names in admin.list_config_resources().items()}
        assert "orders" in resources["topic"]
        assert resources["broker"] == ["1"]
    finally:
        admin.close()


def test_kafka_python_hears_that_partitions_stay_where_they_are(daemon: Daemon) -> None:
    from kafka import TopicPartition as Place
    from kafka.admin import KafkaAdminClient
    from kafka.errors import LogDirNotFoundError, NoError, NoReassignmentInProgressError
    from kafka.structs import TopicPartitionReplica

    admin: Any = KafkaAdminClient(bootstrap_servers=daemon.address)
    try:
        asked = {Place("orders", 0): [1], Place("orders", 1): None}
        moved = admin.alter_partition_reassignments(asked)
        assert list(moved.values()) == [None, NoReassignmentInProgressError]
        assert admin.list_partition_reassignments() == {}
        here, elsewhere = (TopicPartitionReplica("orders", index, 1) for index in (0, 1))
        moved = admin.alter_replica_log_dirs({here: str(daemon.data_dir), elsewhere: "/elsewhere"})
        assert moved == {here: NoError, elsewhere: LogDirNotFoundError}
    finally:
        admin.close()


def test_kafka_python_changes_a_setting_of_the_node(daemon: Daemon) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

    admin: Any = KafkaAdminClient(bootstrap_servers=daemon.address)
    try:
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", configs={"max.groups": "77"})])
        assert of_node(daemon.port, "max.groups") == ("77", 2)
    finally:
        admin.close()


def test_librdkafka_elects_and_changes_settings_and_hears_why_not(daemon: Daemon) -> None:
    admin = AdminClient({"bootstrap.servers": daemon.address})
    elected = admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("orders", 1)]).result(30)
    assert [error.name() for error in elected.values()] == ["ELECTION_NOT_NEEDED"]
    assert admin.elect_leaders(ElectionType.PREFERRED, None).result(30) == {}

    def alter(name: str, value: str) -> None:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
        [future] = admin.incremental_alter_configs([resource]).values()
        future.result(30)

    alter("log.retention.ms", "123456")
    [future] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, "orders")]).values()
    assert future.result(30)["retention.ms"].value == "123456"
    with pytest.raises(Exception, match=r"Cannot update these configs dynamically: \[node.id\].*restart"):
        alter("node.id", "9")


def test_a_setting_takes_effect_at_once_and_survives_a_kill(daemon: Daemon) -> None:
    assert set_of_node(daemon.port, "1", auto_create_topics_enable="true", max_groups="5") == ErrorCode.NONE
    assert set_of_node(daemon.port, "", max_groups="6", num_partitions="4") == ErrorCode.NONE
    admin = AdminClient({"bootstrap.servers": daemon.address, "allow.auto.create.topics": True})
    eventually(lambda: len(admin.list_topics("made").topics["made"].partitions) == 4, "the topic is made on demand")
    daemon.kill()
    daemon.start()
    assert of_node(daemon.port, "max.groups") == ("5", 2)
    assert of_node(daemon.port, "num.partitions") == ("4", 3)
    assert of_node(daemon.port, "auto.create.topics.enable") == ("true", 2)


def test_what_no_longer_fits_the_configuration_is_ignored_with_a_line_in_the_log(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        assert set_of_node(daemon.port, "1", group_max_session_timeout_ms="7000", max_groups="5") == ErrorCode.NONE
    with Daemon(tmp_path, overrides=["group.min.session.timeout.ms=8000"]) as daemon:
        assert of_node(daemon.port, "group.max.session.timeout.ms") == ("1800000", 5)
        assert of_node(daemon.port, "max.groups") == ("100000", 5)
        assert "settings changed at run time are ignored" in daemon.log_text()


def test_each_node_of_a_cluster_tells_of_its_own_logs_and_has_settings_of_its_own(tmp_path: Path) -> None:
    with Nodes(tmp_path, 2, topics=["orders:4"]) as nodes:
        ports = {number: nodes[number].port for number in (1, 2)}
        nodes.know("orders", 4)
        found = {}
        for number, port in ports.items():
            [directory] = call(port, DescribeLogDirsRequest(topics=None), 5).results
            topics = {each.name: each.partitions for each in directory.topics}
            found[number] = {each.partition_index for each in topics["orders"]}
        assert found[1] | found[2] == {0, 1, 2, 3}
        assert not found[1] & found[2]
        results = call(ports[2], ElectLeadersRequest(topic_partitions=None), 2).replica_election_results
        assert not any(each.partition_result for each in results)

        assert set_of_node(ports[2], "2", max_groups="22") == ErrorCode.NONE
        assert set_of_node(ports[2], "", num_partitions="3") == ErrorCode.NONE
        eventually(lambda: of_node(ports[2], "max.groups", "2") == ("22", 2), "node 2 has its setting")
        eventually(lambda: of_node(ports[2], "num.partitions", "2") == ("3", 3), "node 2 has that of all")
        assert of_node(ports[1], "num.partitions") == ("3", 3)
        assert of_node(ports[1], "max.groups") == ("100000", 5)

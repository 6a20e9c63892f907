"""Admin clients alter a topic with AlterConfigs (33), the only way that some libraries and older versions know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.support.daemon import Daemon
from tests.support.wire import call

pytestmark = pytest.mark.integration

TOPIC = 2  # the type of the resource
FROM_TOPIC = 1  # the source of a setting that the topic has of its own
OWN = {"retention.ms": "5000", "segment.index.bytes": "2000000", "cleanup.policy": "compact"}


def with_kafka_python(address: str, topic: str, configs: dict[str, str]) -> None:
    """This library reads the settings of a topic first and sends back those it does not change."""
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)], incremental=False)
    finally:
        admin.close()


def with_librdkafka(address: str, topic: str, configs: dict[str, str]) -> None:
    from confluent_kafka.admin import RESOURCE_TOPIC, AdminClient, ConfigResource

    admin = AdminClient({"bootstrap.servers": address})
    (future,) = admin.alter_configs([ConfigResource(RESOURCE_TOPIC, topic, set_config=configs)]).values()
    future.result(20)


def own_configs(port: int, topic: str) -> dict[str, str | None]:
    asked = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=None)
    (found,) = call(port, DescribeConfigsRequest(resources=[asked]), 4).results
    return {config.name: config.value for config in found.configs if config.config_source == FROM_TOPIC}


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("alter", "kept"),
    [(with_kafka_python, OWN), (with_librdkafka, {"segment.index.bytes": "2000000"})],
    ids=["kafka-python", "librdkafka"],
)
def test_a_topic_is_altered(
    daemon: Daemon, alter: Callable[[str, str, dict[str, str]], None], kept: dict[str, str]
) -> None:
    topic = f"altered-{alter.__name__}"
    configs = [CreatableTopicConfig(name=name, value=value) for name, value in OWN.items()]
    wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1, configs=configs)
    (made,) = call(daemon.port, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 7).topics
    assert made.error_code == 0
    alter(daemon.address, topic, {"retention.bytes": "88"})
    assert own_configs(daemon.port, topic) == {**kept, "retention.bytes": "88"}
    alter(daemon.address, topic, {"cleanup.policy": ""})
    assert own_configs(daemon.port, topic)["cleanup.policy"] == ""

"""Raw requests to one node that change topics. Each function returns the error code."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages import alter_configs
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.wire import call

TOPIC = 2  # the type of the resource


def create_topic(port: int, topic: str, partitions: int = 6) -> ErrorCode:
    wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    answer = call(port, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 7)
    return ErrorCode(answer.topics[0].error_code)


def assign_topic(port: int, topic: str, *brokers: int) -> ErrorCode:
    """Create a topic with its partitions on these brokers."""
    assigned = [CreatableReplicaAssignment(partition_index=index, broker_ids=[b]) for index, b in enumerate(brokers)]
    wanted = CreatableTopic(name=topic, num_partitions=-1, replication_factor=-1, assignments=assigned)
    answer = call(port, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 7)
    return ErrorCode(answer.topics[0].error_code)


def delete_topic(port: int, topic: str) -> ErrorCode:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=10_000)
    return ErrorCode(call(port, request, 6).responses[0].error_code)


def grow_topic(port: int, topic: str, partitions: int) -> ErrorCode:
    more = CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
    answer = call(port, CreatePartitionsRequest(topics=[more], timeout_ms=10_000), 3)
    return ErrorCode(answer.results[0].error_code)


def set_topic_config(port: int, topic: str, name: str, value: str) -> ErrorCode:
    change = AlterConfigsResource(
        resource_type=TOPIC, resource_name=topic, configs=[AlterableConfig(name=name, value=value)]
    )
    (answer,) = call(port, IncrementalAlterConfigsRequest(resources=[change]), 1).responses
    assert answer.resource_name == topic
    return ErrorCode(answer.error_code)


def replace_topic_configs(port: int, topic: str, **configs: str) -> ErrorCode:
    """Send AlterConfigs. Underscores in names stand for dots."""
    settings = [alter_configs.AlterableConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()]
    change = alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=settings)
    (answer,) = call(port, alter_configs.AlterConfigsRequest(resources=[change]), 2).responses
    assert answer.resource_name == topic
    return ErrorCode(answer.error_code)


def topic_metadata(port: int, topic: str, *, may_create: bool = False) -> Any:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=may_create)
    return call(port, request, 9).topics[0]

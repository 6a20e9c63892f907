"""Short helpers for requests against a `ManualTopicLogsWorld`."""

from __future__ import annotations

from typing import Any

from coordinator.server.api import create_partitions, create_topics, delete_topics, fetch, init_producer_id
from coordinator.server.api import produce as produce_api
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import PartitionData
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceResponse
from tests.support.topic_logs_world import ManualTopicLogsWorld
from tests.support.topics_wire import batch, fetch_request, fetched, produce_request, produced, values


def create_request(name: str, partitions: int = 1, **configs: str) -> CreateTopicsRequest:
    entries = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1, configs=entries)
    return CreateTopicsRequest(topics=[topic])


def create(world: ManualTopicLogsWorld, name: str, partitions: int = 1, **configs: str) -> int:
    answer = world.call(create_topics.API, create_request(name, partitions, **configs), 7)
    code: int = answer.topics[0].error_code
    return code


def delete(world: ManualTopicLogsWorld, name: str) -> int:
    answer = world.call(delete_topics.API, DeleteTopicsRequest(topic_names=[name]), 5)
    code: int = answer.responses[0].error_code
    return code


def grow(world: ManualTopicLogsWorld, name: str, count: int) -> int:
    asked = CreatePartitionsTopic(name=name, count=count, assignments=None)
    answer = world.call(create_partitions.API, CreatePartitionsRequest(topics=[asked]), 3)
    code: int = answer.results[0].error_code
    return code


def produce(world: ManualTopicLogsWorld, records: bytes | None = None, **about: Any) -> PartitionProduceResponse:
    request = produce_request(batch() if records is None else records, **about)
    return produced(world.call(produce_api.API, request, 9))


def read(world: ManualTopicLogsWorld, offset: int = 0, topic: str = "orders", partition: int = 0) -> PartitionData:
    return fetched(world.call(fetch.API, fetch_request({(topic, partition): offset}, max_wait_ms=0), 11))


def read_all(world: ManualTopicLogsWorld, topic: str = "orders", partition: int = 0) -> list[bytes | None]:
    """Fetch every value of a partition."""
    found: list[bytes | None] = []
    offset = 0
    while True:
        answer = read(world, offset, topic, partition)
        if answer.error_code:
            raise AssertionError(f"{topic}-{partition} at {offset}: error {answer.error_code}")
        new = values(answer.records)
        if not new:
            return found
        found += new
        offset += len(new)


def producer_id(world: ManualTopicLogsWorld) -> int:
    answer = world.call(init_producer_id.API, InitProducerIdRequest(transactional_id=None), 4)
    if answer.error_code:
        raise AssertionError(f"no producer id: error {answer.error_code}")
    found: int = answer.producer_id
    return found


def directories(world: ManualTopicLogsWorld) -> list[str]:
    from tests.support.topic_logs_world import DATA

    return [name for name in world.fs.listdir(DATA) if world.fs.is_dir(DATA / name)]

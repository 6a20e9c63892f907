"""Real Kafka for the tests of the engine: one broker for most of them, three for what needs a cluster."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from coordinator.config.values import parse_address
from coordinator.engine.kafka.client import KafkaClient
from coordinator.engine.kafka.topics import open_topics
from coordinator.storage.store_partitions import StorePartitions
from tests.conformance.kafka import Kafka
from tests.engine.kafka.nodes import KafkaNodes, KafkaTopic
from tests.support.kafka_cluster import KafkaCluster

KIT_PARTITIONS = 300


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    kafka = Kafka(tmp_path_factory.mktemp("kafka"))
    try:
        yield kafka.start()
    finally:
        kafka.kill()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def topic(broker: Kafka) -> KafkaTopic:
    """One set of topics for all tests with one broker, which use partitions of their own."""

    async def create() -> KafkaTopic:
        client = KafkaClient([parse_address(broker.address)], 30.0)
        topics = await open_topics(client, "kit", StorePartitions(KIT_PARTITIONS), require_sync=False)
        await client.close()
        return KafkaTopic(broker.port, topics, itertools.count(), itertools.count(1))

    return asyncio.run(create())


@pytest.fixture
async def nodes(topic: KafkaTopic) -> AsyncIterator[KafkaNodes]:
    opened = KafkaNodes(topic)
    yield opened
    await opened.close()

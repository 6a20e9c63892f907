"""Transactions of daemons whose coordinators' logs are in topics of a real Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from coordinator.config.values import parse_address
from coordinator.engine.kafka.client import KafkaClient
from coordinator.engine.kafka.topics import open_topics
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.store_partitions import StorePartitions
from tests.conformance.kafka import Kafka
from tests.ha.engines import LIVE, Address, Files
from tests.ha.nodes import EngineNodes
from tests.ha.transactions import OUT, OUT_PARTITIONS, SETTINGS, commit_what_a_killed_coordinator_began, settled

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


class OneBroker(Files):
    """An engine of one broker, which nodes reach without a proxy."""

    def __init__(self, address: str) -> None:
        self._address = address

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        return [f"log.engine=kafka://{self._address}/shared", "log.engine.require.sync=false", *LIVE]


async def test_another_node_commits_what_a_killed_coordinator_began(broker: Kafka, tmp_path: Path) -> None:
    topic = f"{OUT}:{OUT_PARTITIONS}"
    async with EngineNodes(tmp_path, OneBroker(broker.address), 3, topic, SETTINGS, one_by_one=True) as nodes:
        await settled(nodes)
        await commit_what_a_killed_coordinator_began(nodes)


async def test_topics_of_an_earlier_version_get_the_partitions_of_the_transaction_log(broker: Kafka) -> None:
    client = KafkaClient([parse_address(broker.address)], 30.0)
    try:
        await open_topics(client, "grown", StorePartitions(2), require_sync=False)
        both = [open_topics(client, "grown", StorePartitions(2, 3), require_sync=False) for _ in range(2)]
        await asyncio.gather(*both)  # two nodes that start at the same time
        for name in ("grown", "grown-snapshots"):
            assert len((await client.metadata([name])).topics[0].partitions) == 5
        await open_topics(client, "grown", StorePartitions(2), require_sync=False)
        with pytest.raises(LogStoreError, match="topic grown has 5 partitions, not 8; recreate it"):
            await open_topics(client, "grown", StorePartitions(6, 2), require_sync=False)
    finally:
        await client.close()

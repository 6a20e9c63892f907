"""aiokafka: members join again in the midst of their work, and no record is handled twice.

pip install kafka-group-coordinator aiokafka pytest pytest-asyncio
pytest test_aiokafka.py
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition

from coordinator.testing import AsyncCoordinator

PARTITIONS, RECORDS = 4, 5  # in each partition


class Worker(ConsumerRebalanceListener):
    """The application: it gives no partition away before the record at hand is handled and committed."""

    def __init__(self, servers: str, name: str, handled: Counter[bytes]) -> None:
        self.handled = handled
        self.at_work = asyncio.Lock()
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            client_id=name,
            group_id="shop",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,  # a rebalance is heard of in the next heartbeat
        )
        self.consumer.subscribe(["orders"], listener=self)

    async def run(self) -> None:
        await self.consumer.start()
        try:
            async for record in self.consumer:
                async with self.at_work:
                    await self.handle(record)
                    await self.consumer.commit({TopicPartition(record.topic, record.partition): record.offset + 1})
        finally:
            await self.consumer.stop()

    async def handle(self, record: ConsumerRecord) -> None:
        await asyncio.sleep(0.05)
        self.handled[record.value] += 1

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        async with self.at_work:
            pass

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        pass


@pytest.mark.asyncio
@pytest.mark.coordinator(topics={"orders": PARTITIONS})
async def test_a_rebalance_amid_the_work(async_coordinator: AsyncCoordinator) -> None:
    orders = {partition: [f"{partition}-{number}" for number in range(RECORDS)] for partition in range(PARTITIONS)}
    for partition, values in orders.items():
        await async_coordinator.produce("orders", values, partition=partition)

    handled: Counter[bytes] = Counter()
    async with asyncio.TaskGroup() as tasks:
        workers = [Worker(async_coordinator.bootstrap_servers, name, handled) for name in ("web-1", "web-2")]
        running = [tasks.create_task(worker.run()) for worker in workers]
        before = await async_coordinator.wait_stable("shop", members=2)
        await async_coordinator.wait_committed("shop", "orders", 4)

        await async_coordinator.rebalance("shop")

        await async_coordinator.wait_committed("shop", "orders", PARTITIONS * RECORDS)
        assert (await async_coordinator.describe("shop")).generation > before.generation
        assert handled == Counter(value.encode() for values in orders.values() for value in values)  # each of them once
        for task in running:
            task.cancel()

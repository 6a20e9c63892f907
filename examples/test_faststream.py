"""FastStream: a subscriber handles a message once, although the server's answers to its commits go wrong.

pip install kafka-group-coordinator "faststream[kafka]" pytest pytest-asyncio
pytest test_faststream.py
"""

from __future__ import annotations

import pytest
from faststream import AckPolicy
from faststream.kafka import KafkaBroker

from coordinator.testing import AsyncCoordinator


def make_app(servers: str, handled: list[str]) -> KafkaBroker:
    """The application: a subscriber that commits a message after it has handled it."""
    broker = KafkaBroker(servers)

    @broker.subscriber("orders", group_id="shop", auto_offset_reset="earliest", ack_policy=AckPolicy.ACK)
    async def on_order(order: str) -> None:
        handled.append(order)

    return broker


@pytest.mark.asyncio
@pytest.mark.coordinator(topics={"orders": 1})
async def test_the_reply_to_a_commit_is_lost(async_coordinator: AsyncCoordinator) -> None:
    handled: list[str] = []
    lost = await async_coordinator.lose_reply("OffsetCommit", group="shop")
    async with make_app(async_coordinator.bootstrap_servers, handled) as broker:
        await broker.start()
        await broker.publish("first", "orders")
        await broker.publish("second", "orders")
        await async_coordinator.wait_committed("shop", "orders", 2)
    assert lost.fired == 1
    assert handled == ["first", "second"]


@pytest.mark.asyncio
@pytest.mark.coordinator(topics={"orders": 1})
async def test_the_first_commit_is_refused(async_coordinator: AsyncCoordinator) -> None:
    handled: list[str] = []
    await async_coordinator.fail_next("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", group="shop")
    async with make_app(async_coordinator.bootstrap_servers, handled) as broker:
        await broker.start()
        await broker.publish("first", "orders")
        await async_coordinator.wait_committed("shop", "orders", 1)
    assert handled == ["first"]

"""Renewals and declarations of death of the directory on Kafka, when the answer to a renewal does not come."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NodeState
from coordinator.engine.kafka.cluster_state import end_key
from tests.engine.kafka.memory_cluster import TOPICS, MemoryCluster, MemoryClusterNode
from tests.support.eventually import eventually_async


async def test_a_renewal_and_a_declaration_of_death_never_both_succeed() -> None:
    """The renewal before was written and not read back, so the node does not know that it was written."""
    kafka = MemoryCluster()
    node, other = await MemoryClusterNode.open(kafka, 1), await MemoryClusterNode.open(kafka, 2)
    await node.directory.renew()
    node.may_fetch.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await node.directory.renew()
    await other.directory.view()
    known = other.cluster.state.run(node.id, "run-1")
    assert known is not None
    known_beat = known.beat.number
    written = len(kafka.batches[TOPICS.nodes])
    renewal = asyncio.create_task(node.directory.renew())
    await eventually_async(lambda: len(kafka.batches[TOPICS.nodes]) > written, "the second beat is written")
    await other.cluster.write(end_key(node.id, "run-1", "late"), {"beat": known_beat})
    node.may_fetch.set()
    assert (await renewal).nodes[node.id].state is NodeState.UP
    assert (await other.directory.view()).nodes[node.id].state is NodeState.UP
    await node.directory.renew()
    await node.close()
    await other.close()


async def test_each_announcement_has_a_number_of_its_own() -> None:
    kafka = MemoryCluster()
    node = await MemoryClusterNode.open(kafka, 1)
    first = node.cluster.state.run(1, "run-1")
    assert first is not None
    number = first.beat.number
    await node.directory.announce(ClusterNode(1, "host", 1), "run-1")
    second = node.cluster.state.run(1, "run-1")
    assert second is not None
    assert second.beat.number > number
    await node.close()

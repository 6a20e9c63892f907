"""Open transactions that hold the groups of an observed cluster back, asked of its nodes for a group that is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from coordinator.core.events.model import Story
from coordinator.explain.transaction_facts import (
    ClusterLeaders,
    NodeRequest,
    TopicPartition,
    answered,
    transaction_facts,
)
from coordinator.observe.cluster import ObservedCluster
from coordinator.observe.errors import ClusterProblem


async def note_transactions(cluster: ObservedCluster, story: Story, committed: Mapping[TopicPartition, int]) -> None:
    """Note them in the story of a group with these committed offsets. What cannot be asked stays unknown."""
    if not committed:
        return
    try:
        layouts = await cluster.layouts(sorted({topic for topic, _ in committed}))
    except ClusterProblem:
        return
    leaders = {
        (topic, index): node for topic, layout in layouts.items() for index, node in layout.leaders.items() if node >= 0
    }

    async def ask(requests: list[NodeRequest]) -> list[Any]:
        return await asyncio.gather(*(_answer(cluster, each) for each in requests))

    await answered(transaction_facts(story, committed, ClusterLeaders(cluster.node_ids, leaders)), ask)


async def _answer(cluster: ObservedCluster, asked: NodeRequest) -> Any:
    try:
        link = await cluster.node(asked.node_id)
        return await link.call(asked.request, object, asked.max_version)
    except ClusterProblem:
        return None

"""`NodeDirectory` on Kafka: the records of the topic `<name>-nodes`, in their order.

Silence of a node is measured from when its last record was *received* here, after all records were read: its lease
counts from before that record was sent, so it ends earlier. A declaration of death names the last beat that was known;
it is void if there is a newer one before it, so a renewal and a declaration never both succeed. Each try to write a
beat has a number of its own, also if it is not known what became of the try before.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Final

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap, NodeState
from coordinator.engine.kafka.cluster_state import LEFT, Beat, NodeRun, end_key, mark_key, run_key
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.store import KafkaLogStore
from coordinator.membership.directory import ExpiredError, StoreFacts

MISSED_BEATS: Final = 1.25  # heartbeats without a record, before a refused connection proves that the process has ended


class KafkaDirectory:
    """`NodeDirectory` of one node."""

    def __init__(self, cluster: ClusterTopic, store: KafkaLogStore, *, lease_s: float, heartbeat_s: float) -> None:
        self._cluster = cluster
        self._store = store
        self._lease_s = lease_s
        self._heartbeat_s = heartbeat_s
        self._me = ClusterNode(-1, "", 0)
        self._state = NodeState.UP
        self._last_beat = -1  # number of the last beat that this process has tried to write

    @property
    def _incarnation(self) -> str:
        return self._store.incarnation

    async def facts(self, wanted: StoreFacts) -> StoreFacts:
        """Return the facts of the store; `wanted` is written if it has none."""
        if (await self._cluster.catch_up()).facts is None:
            await self._cluster.write(f"facts/{uuid.uuid4().hex}", wanted._asdict())
        facts = self._cluster.state.facts
        assert facts is not None
        return facts

    async def known_facts(self) -> StoreFacts | None:
        """Return the facts of the store; None if it has none."""
        return (await self._cluster.catch_up()).facts

    async def announce(self, node: ClusterNode, incarnation: str) -> None:
        """Enter a node as up, as `NodeDirectory.announce` says."""
        await self._cluster.catch_up()
        self._check_id(node.id, incarnation)
        found = self._cluster.state.current(node.id)
        if found is not None and found[0] != incarnation and found[1].ended_at < 0:
            await self._end(node.id, *found)
        await self._write_beat(node, incarnation, NodeState.UP, since=-1)
        try:
            self._check_id(node.id, incarnation)
        except ExpiredError:
            await self._tell_end(node.id, incarnation, LEFT)
            raise
        self._me, self._state, self._store.incarnation = node, NodeState.UP, incarnation
        await self._forget_ended(node.id)

    def _check_id(self, node_id: int, incarnation: str) -> None:
        """Raise ExpiredError unless a run may have this id, or has it."""
        run = self._cluster.state.run(node_id, incarnation)
        if run is not None and run.ended_at >= 0:
            raise ExpiredError(f"this run of node {node_id} was declared dead; announce it as a new run")
        found = self._cluster.state.current(node_id)
        if found is not None and found[0] != incarnation and found[1].ended_at < 0 and not self._is_silent(found[1]):
            raise ExpiredError(f"another run of node {node_id} was just heard of; stop it, or set another node.id")

    def _is_silent(self, run: NodeRun) -> bool:
        return self._cluster.clock() - run.heard_s > self._lease_s

    async def _forget_ended(self, node_id: int) -> None:
        """Delete the records of former runs, except those of the last one: it might still write one."""
        ended = sorted(
            (run.ended_at, each) for each, run in self._cluster.state.runs(node_id).items() if run.ended_at >= 0
        )
        for _, each in ended[:-1]:
            for key in self._cluster.state.end_keys(node_id, each):
                await self._cluster.write(key, None)
            await self._cluster.write(run_key(node_id, each), None)
            await self._cluster.write(mark_key(node_id, each), None)

    async def renew(self) -> ClusterMap:
        """Renew the lease of this node and return the newest map. Raises ExpiredError if the entry is gone."""
        run = self._run()
        await self._write_beat(self._me, self._incarnation, self._state, since=run.since)
        self._run()
        return self._map()

    async def view(self) -> ClusterMap:
        """Return the newest map. To a program that has just begun to follow, a silent node seems fresh."""
        await self._cluster.catch_up()
        return self._map()

    def _map(self) -> ClusterMap:
        return self._cluster.state.map(heard_after_s=self._cluster.clock() - self._lease_s)

    async def mark(self, node_id: int, state: NodeState) -> bool:
        """Mark a node as draining or up."""
        found = (await self._cluster.catch_up()).current(node_id)
        if found is None or found[1].ended_at >= 0:
            return False
        await self._cluster.write(mark_key(node_id, found[0]), {"state": state.value})
        return True

    def _run(self) -> NodeRun:
        """Return the run of this node. Raises ExpiredError if it has ended."""
        run = self._cluster.state.run(self._me.id, self._incarnation)
        if run is None or run.ended_at >= 0:
            raise ExpiredError(f"node {self._me.id} was declared dead; announce it again as a new run")
        return run

    async def drain(self) -> None:
        """Mark this node as draining."""
        self._state = NodeState.DRAINING
        await self.renew()

    async def expire(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead that was silent for longer than the lease. False if it was heard of meanwhile."""
        return await self._expire(node_id, incarnation, self._lease_s)

    async def expire_dead(self, node_id: int, incarnation: str) -> bool:
        """Declare a node dead whose port refuses connections, and whose next beat has not come.

        The port of a node that drains may be closed before its process ends, so it proves nothing.
        """
        run = self._cluster.state.run(node_id, incarnation)
        if run is None or run.beat.state != NodeState.UP.value:
            return False
        silence_s = self._heartbeat_s * MISSED_BEATS
        await asyncio.sleep(max(run.heard_s + silence_s - self._cluster.clock(), 0.0))
        return await self._expire(node_id, incarnation, silence_s)

    async def _expire(self, node_id: int, incarnation: str, silence_s: float) -> bool:
        found = (await self._cluster.catch_up()).current(node_id)
        if found is None or found[0] != incarnation or found[1].ended_at >= 0:
            return False
        if self._cluster.clock() - found[1].heard_s < silence_s:
            return False
        return await self._end(node_id, *found)

    async def _end(self, node_id: int, incarnation: str, run: NodeRun) -> bool:
        await self._tell_end(node_id, incarnation, run.beat.number)
        return run.ended_at >= 0

    async def _tell_end(self, node_id: int, incarnation: str, beat: int) -> None:
        await self._cluster.write(end_key(node_id, incarnation, uuid.uuid4().hex), {"beat": beat})

    async def leave(self) -> None:
        """Remove this node, which has released all its claims."""
        await self._tell_end(self._me.id, self._incarnation, LEFT)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` soon after the map has changed."""
        self._cluster.changed = changed

    async def close(self) -> None:
        """Stop following the records. The entry of this node stays."""
        await self._cluster.close()

    async def _write_beat(self, node: ClusterNode, incarnation: str, state: NodeState, *, since: int) -> None:
        run = self._cluster.state.run(node.id, incarnation)
        self._last_beat = max(self._last_beat, run.beat.number if run is not None else -1) + 1
        beat = Beat(node.host, node.port, state.value, since, self._last_beat, self._cluster.position)
        await self._cluster.write(run_key(node.id, incarnation), beat._asdict())

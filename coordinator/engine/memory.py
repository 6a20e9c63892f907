"""The directory of the shared store in memory, beside `coordinator.storage.memory_store`: for tests and simulation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap, NodeState
from coordinator.membership.directory import Engine, ExpiredError, StoreFacts
from coordinator.storage.memory_store import MemoryLogStore, MemoryNode, MemoryStoreState

T = TypeVar("T")


class MemoryEngineState(MemoryStoreState):
    """Content of the store with the facts that nodes share."""

    shared_facts: StoreFacts | None = None


class MemoryDirectory:
    """`NodeDirectory` of one node over a `MemoryEngineState`."""

    def __init__(self, state: MemoryEngineState, store: MemoryLogStore) -> None:
        self._state = state
        self._store = store
        self._watcher: Callable[[], None] | None = None

    async def facts(self, wanted: StoreFacts) -> StoreFacts:
        return await self._call("facts", lambda: self._facts(wanted))

    def _facts(self, wanted: StoreFacts) -> StoreFacts:
        if self._state.shared_facts is None:
            self._state.shared_facts = wanted
        return self._state.shared_facts

    async def known_facts(self) -> StoreFacts | None:
        return await self._call("known_facts", lambda: self._state.shared_facts)

    async def announce(self, node: ClusterNode, incarnation: str) -> None:
        await self._call("announce", lambda: self._announce(node, incarnation))
        self._store.incarnation = incarnation

    def _announce(self, node: ClusterNode, incarnation: str) -> None:
        there = self._state.map().nodes.get(node.id)
        if there is not None and there.incarnation == incarnation and not there.may_own:
            raise ExpiredError(f"this run of node {node.id} was declared dead; announce it as a new run")
        if there is not None and there.incarnation != incarnation and there.may_own and there.is_fresh:
            raise ExpiredError(f"another run of node {node.id} was just heard of; stop it, or set another node.id")
        self._state.nodes[node.id] = MemoryNode(node, incarnation, self._state.clock())
        self._state.changed(node.id)

    async def renew(self) -> ClusterMap:
        return await self._call("renew", partial(self._renew, self._store.incarnation))

    def _renew(self, incarnation: str) -> ClusterMap:
        self._entry(incarnation).seen_ms = self._state.clock()
        return self._state.map()

    async def view(self) -> ClusterMap:
        return await self._call("view", self._state.map)

    async def mark(self, node_id: int, state: NodeState) -> bool:
        return await self._call("mark", lambda: self._mark(node_id, state))

    def _mark(self, node_id: int, state: NodeState) -> bool:
        there = self._state.nodes.get(node_id)
        if there is None or there.state is NodeState.EXPIRED:
            return False
        there.state = state
        self._state.changed(self._store.node_id)
        return True

    async def drain(self) -> None:
        await self._call("drain", partial(self._drain, self._store.incarnation))

    def _drain(self, incarnation: str) -> None:
        self._entry(incarnation).state = NodeState.DRAINING
        self._state.changed(self._store.node_id)

    async def expire(self, node_id: int, incarnation: str) -> bool:
        return await self._call("expire", lambda: self._expire(node_id, incarnation, has_ended=False))

    async def expire_dead(self, node_id: int, incarnation: str) -> bool:
        has_ended = incarnation in self._state.ended
        return await self._call("expire_dead", lambda: self._expire(node_id, incarnation, has_ended=has_ended))

    def _expire(self, node_id: int, incarnation: str, *, has_ended: bool) -> bool:
        there = self._state.map().nodes.get(node_id)
        if there is None or there.incarnation != incarnation or (there.is_fresh and not has_ended):
            return False
        self._state.nodes[node_id].state = NodeState.EXPIRED
        self._state.changed(self._store.node_id)
        return True

    async def leave(self) -> None:
        await self._call("leave", partial(self._leave, self._store.incarnation))

    def _leave(self, incarnation: str) -> None:
        there = self._state.nodes.get(self._store.node_id)
        if there is not None and there.incarnation == incarnation:
            del self._state.nodes[self._store.node_id]
            self._state.changed(self._store.node_id)

    def watch(self, changed: Callable[[], None]) -> None:
        self._watcher = self._state.watchers[self._store.node_id] = changed

    async def close(self) -> None:
        if self._state.watchers.get(self._store.node_id) is self._watcher:
            self._state.watchers.pop(self._store.node_id, None)

    def _entry(self, incarnation: str) -> MemoryNode:
        there = self._state.nodes.get(self._store.node_id)
        if there is None or there.incarnation != incarnation or there.state is NodeState.EXPIRED:
            raise ExpiredError(f"node {self._store.node_id} was declared dead; announce it again as a new run")
        return there

    async def _call(self, method: str, act: Callable[[], T]) -> T:
        return await self._state.call(self._store.node_id, method, act)


def open_memory(state: MemoryEngineState, node_id: int) -> Engine:
    """Return the engine of one node."""
    store = MemoryLogStore(state, node_id)
    return Engine(store, MemoryDirectory(state, store))

"""The directory and the documents of the shared store in memory: for tests and simulation.

The log is in `coordinator.storage.memory_store`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap, NodeState
from coordinator.membership.directory import Engine, ExpiredError, StoreFacts
from coordinator.storage.documents.shared import StoredDocument, encode_text
from coordinator.storage.memory_store import (
    FateOfCall,
    MemoryLogStore,
    MemoryNode,
    MemoryStoreState,
    OutcomeLostError,
    always_done,
)

T = TypeVar("T")


class MemoryEngineState(MemoryStoreState):
    """Content of the store with the facts and the documents that nodes share."""

    shared_facts: StoreFacts | None = None

    def __init__(self, clock: Callable[[], int], *, lease_ms: int = 3000, fate: FateOfCall = always_done) -> None:
        super().__init__(clock, lease_ms=lease_ms, fate=fate)
        self.documents: dict[str, StoredDocument] = {}
        self.document_watchers: dict[int, Callable[[], None]] = {}  # by node
        self._kept_changes: set[object] = set()  # an identity for each change of a document

    async def call_documents(self, node_id: int, method: str, act: Callable[[], T]) -> T:
        """Carry out a call about documents as `call` does."""
        return await self.call(node_id, method, act)

    def replace_document(self, name: str, change: StoredDocument, identity: object, by: int) -> bool:
        """Make a change, unless it was made already or its revision does not follow. Returns whether it was made."""
        before = self.documents.get(name)
        if identity not in self._kept_changes and change.revision == (before.revision if before else 0) + 1:
            self.documents[name] = change
            self._kept_changes.add(identity)
            self.document_changed(by)
        return identity in self._kept_changes

    def document_changed(self, by: int) -> None:
        """Tell all other nodes that a document has changed."""
        for node_id, tell in self.document_watchers.items():
            if node_id != by:
                asyncio.get_running_loop().call_soon(tell)


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


class MemoryDocuments:
    """`SharedDocuments` of one node over a `MemoryEngineState`."""

    def __init__(self, state: MemoryEngineState, node_id: int) -> None:
        self._state = state
        self._node_id = node_id
        self._watcher: Callable[[], None] | None = None

    async def read(self, name: str, known: int = 0) -> StoredDocument | None:
        found = await self._state.call_documents(
            self._node_id, "read_document", lambda: self._state.documents.get(name)
        )
        return None if found is None or found.revision == known else found

    async def replace(self, name: str, text: str, revision: int) -> bool:
        """Make the change, a second time if the outcome was lost: the store makes it once."""
        await encode_text(name, text)  # refuses what other stores refuse
        change, identity = StoredDocument(revision + 1, text), object()

        def act() -> bool:
            return self._state.replace_document(name, change, identity, self._node_id)

        try:
            return await self._state.call_documents(self._node_id, "replace_document", act)
        except OutcomeLostError:
            return await self._state.call_documents(self._node_id, "replace_document", act)

    def watch(self, changed: Callable[[], None]) -> None:
        self._watcher = self._state.document_watchers[self._node_id] = changed

    async def close(self) -> None:
        if self._state.document_watchers.get(self._node_id) is self._watcher:
            self._state.document_watchers.pop(self._node_id, None)


def open_memory(state: MemoryEngineState, node_id: int) -> Engine:
    """Return the engine of one node."""
    store = MemoryLogStore(state, node_id)
    return Engine(store, MemoryDirectory(state, store), MemoryDocuments(state, node_id))

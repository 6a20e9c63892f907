"""A shared store of the offsets log in memory, for tests and for the simulation of several nodes.

`MemoryStoreState` is what a database server would hold. Each node has a `MemoryLogStore` and, beside it, a
`coordinator.engine.memory.MemoryDirectory`, which both call that state. The time of the server and the fate of each
call are handed in, so that a seed decides them: a call may be refused, its request or its answer may be lost, or it may
be carried out late, when `deliver_late` is called.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeVar

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NEVER_OWNED, NO_NODE, ClusterMap, LiveNode, NodeState, OwnedPartition
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStoreError,
    StoredExtent,
    StoredSnapshot,
)

T = TypeVar("T")


class CallOutcome(Enum):
    """Fate of one call of a node."""

    DONE = "done"
    REFUSED = "refused"  # the store has done nothing, and says so
    REQUEST_LOST = "request lost"  # the store has done nothing; the node cannot know
    ANSWER_LOST = "answer lost"  # the store has done it; the node cannot know
    LATE = "late"  # the store does it when `deliver_late` is called; the node cannot know


FateOfCall = Callable[[int, str], Awaitable[CallOutcome]]  # of a node's call, by the name of the method; may take time


class OutcomeLostError(LogStoreError):
    """The request or its answer was lost."""


@dataclass(slots=True)
class MemoryNode:
    """The entry of a node."""

    node: ClusterNode
    incarnation: str
    seen_ms: int  # when it was last heard of
    state: NodeState = NodeState.UP


class _StoredBatch(NamedTuple):
    base_offset: int
    last_offset: int
    appended_ms: int
    data: bytes


@dataclass(slots=True)
class _StoredPartition:
    owned: OwnedPartition = NEVER_OWNED
    batches: list[_StoredBatch] = field(default_factory=list)
    snapshot: StoredSnapshot | None = None

    @property
    def end_offset(self) -> int:
        covered = self.snapshot.next_offset if self.snapshot is not None else 0
        return max(covered, self.batches[-1].last_offset + 1) if self.batches else covered


async def always_done(node_id: int, method: str) -> CallOutcome:
    """Let every call succeed."""
    return CallOutcome.DONE


class MemoryStoreState:
    """Content of the store. `clock` returns its milliseconds; `fate` decides about each call."""

    def __init__(self, clock: Callable[[], int], *, lease_ms: int = 3000, fate: FateOfCall = always_done) -> None:
        self.clock = clock
        self.lease_ms = lease_ms
        self.fate = fate
        self.nodes: dict[int, MemoryNode] = {}
        self.ended: set[str] = set()  # incarnations whose process has ended, as the tests know
        self.watchers: dict[int, Callable[[], None]] = {}  # by node
        self._partitions: dict[int, _StoredPartition] = defaultdict(_StoredPartition)
        self._late: list[Callable[[], object]] = []

    async def call(self, node_id: int, method: str, act: Callable[[], T]) -> T:
        """Carry out a call of a node. Raises what `act` raises; LogStoreError, OutcomeLostError."""
        outcome = await self.fate(node_id, method)
        if outcome is CallOutcome.DONE:
            return act()
        if outcome is CallOutcome.REFUSED:
            raise LogStoreError(f"the store has refused {method}; try again")
        if outcome is CallOutcome.ANSWER_LOST:
            with suppress(LogStoreError):
                act()
        elif outcome is CallOutcome.LATE:
            self._late.append(act)
        raise OutcomeLostError(f"the connection was lost during {method}; try again")

    def deliver_late(self) -> None:
        """Carry out the calls that are late, in their order."""
        late, self._late = self._late, []
        for act in late:
            with suppress(LogStoreError):
                act()

    def map(self) -> ClusterMap:
        """Return the nodes and the owners as they are now."""
        oldest_ms = self.clock() - self.lease_ms
        nodes = {
            number: LiveNode(each.node, each.incarnation, each.state, each.seen_ms >= oldest_ms)
            for number, each in self.nodes.items()
        }
        return ClusterMap(nodes, {number: each.owned for number, each in self._partitions.items()})

    def changed(self, by: int) -> None:
        """Tell all other nodes that the map has changed."""
        for node_id, tell in self.watchers.items():
            if node_id != by:
                asyncio.get_running_loop().call_soon(tell)

    # -- partitions ----------------------------------------------------------------------------------------------

    def claim(self, partition: int, seen_epoch: int, node_id: int, incarnation: str) -> Claim:
        """Claim a partition as `LogStore.claim` says."""
        stored = self._partitions[partition]
        view = self.map()
        me = view.nodes.get(node_id)
        if me is None or me.incarnation != incarnation or not me.may_own:
            raise ClaimLostError(f"node {node_id} has no entry in the store; announce it again")
        if stored.owned.epoch != seen_epoch or view.owner(partition) is not None:
            raise ClaimLostError(f"partition {partition} has another owner or epoch; look at the newest map")
        stored.owned = OwnedPartition(seen_epoch + 1, node_id, incarnation)
        self.changed(node_id)
        return Claim(partition, seen_epoch + 1, stored.end_offset)

    def append(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Append the batches of one partition, unless they are there already."""
        stored = self._partitions[claim.partition]
        if stored.owned.epoch != claim.epoch:
            return AppendFenced()
        added = [_StoredBatch(_base_offset(one), one.last_offset, self.clock(), bytes(one.batch)) for one in entries]
        first, last = added[0], added[-1]
        there = [each.data for each in stored.batches if first.base_offset <= each.base_offset <= last.base_offset]
        if not there:
            is_due = first.base_offset == stored.end_offset or not (stored.batches or stored.snapshot)
            if not is_due:
                return AppendFailed(LogStoreError(f"offset {stored.end_offset} is due, not {first.base_offset}"))
            stored.batches += added
        elif there != [each.data for each in added]:
            return AppendFailed(LogStoreError(f"other batches are there from offset {first.base_offset} on"))
        return AppendDurable(last.last_offset + 1)

    def chunk(self, partition: int, from_offset: int, chunk_bytes: int) -> tuple[bytes, int]:
        """Return batches from the one that holds an offset on, and the offset behind them; nothing at the end."""
        parts: list[bytes] = []
        size = 0
        for batch in self._partitions[partition].batches:
            if batch.last_offset >= from_offset:
                if parts and size + len(batch.data) > chunk_bytes:
                    break
                parts.append(batch.data)
                size += len(batch.data)
                next_offset = batch.last_offset + 1
        return (b"".join(parts), next_offset) if parts else (b"", from_offset)

    def extent(self, partition: int) -> StoredExtent:
        """Return the extent of a partition."""
        stored = self._partitions[partition]
        start = stored.batches[0].base_offset if stored.batches else stored.end_offset
        return StoredExtent(start, stored.end_offset, stored.snapshot.next_offset if stored.snapshot is not None else 0)

    def snapshot(self, partition: int) -> StoredSnapshot | None:
        """Return the newest snapshot of a partition."""
        return self._partitions[partition].snapshot

    def save_snapshot(self, claim: Claim, snapshot: StoredSnapshot) -> None:
        """Replace the snapshot of a partition, unless there is a later one. Raises ClaimLostError."""
        stored = self._claimed(claim)
        if stored.snapshot is None or stored.snapshot.next_offset <= snapshot.next_offset:
            stored.snapshot = snapshot

    def trim(self, claim: Claim, below: int, keep_ms: int) -> int:
        """Delete batches as `LogStore.trim` says. Raises ClaimLostError."""
        stored = self._claimed(claim)
        covered = min(below, stored.snapshot.next_offset if stored.snapshot is not None else 0)
        newest_ms = self.clock() - keep_ms
        kept = [each for each in stored.batches if each.last_offset >= covered or each.appended_ms > newest_ms]
        count = len(stored.batches) - len(kept)
        stored.batches = kept
        return count

    def release(self, claim: Claim, by: int) -> None:
        """Give a claim up, if it is the newest one."""
        stored = self._partitions[claim.partition]
        if stored.owned.epoch == claim.epoch:
            stored.owned = OwnedPartition(claim.epoch, NO_NODE, "")
            self.changed(by)

    def _claimed(self, claim: Claim) -> _StoredPartition:
        stored = self._partitions[claim.partition]
        if stored.owned.epoch != claim.epoch:
            raise ClaimLostError(f"partition {claim.partition} was claimed by another node; look at the newest map")
        return stored


def _base_offset(entry: Entry) -> int:
    return int.from_bytes(entry.batch[:8], "big")


class MemoryLogStore:
    """`LogStore` of one node over a `MemoryStoreState`. `incarnation` is set when the node is announced."""

    name = "memory"
    deletes_below_snapshots = True

    def __init__(self, state: MemoryStoreState, node_id: int, concurrent_appends: int = 4) -> None:
        self.state = state
        self.node_id = node_id
        self.incarnation = ""
        self.concurrent_appends = concurrent_appends

    async def claim(self, partition: int, seen_epoch: int) -> Claim:
        node_id, incarnation = self.node_id, self.incarnation
        return await self._call("claim", lambda: self.state.claim(partition, seen_epoch, node_id, incarnation))

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        try:
            return await self._call("append", lambda: [self.state.append(claim, entries) for claim, entries in rows])
        except OutcomeLostError as error:
            return [AppendUnknown(error)] * len(rows)
        except LogStoreError as error:
            return [AppendFailed(error)] * len(rows)

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        """Send the batches once more: the store keeps them once."""
        try:
            return await self._call("resolve", lambda: self.state.append(claim, entries))
        except LogStoreError as error:
            return AppendUnknown(error)

    async def extents(self, partitions: Iterable[int]) -> Mapping[int, StoredExtent]:
        wanted = list(partitions)
        return await self._call("extents", lambda: {each: self.state.extent(each) for each in wanted})

    async def batches(
        self, partition: int, from_offset: int, chunk_bytes: int = 8 << 20, *, joined: bool = False
    ) -> AsyncIterator[bytes]:
        while True:
            read = partial(self.state.chunk, partition, from_offset, chunk_bytes)
            chunk, from_offset = await self._call("batches", read)
            if not chunk:
                return
            yield chunk

    async def load_snapshot(self, partition: int) -> StoredSnapshot | None:
        return await self._call("load_snapshot", lambda: self.state.snapshot(partition))

    async def save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        snapshot = StoredSnapshot(next_offset, b"".join(pieces))
        await self._call("save_snapshot", lambda: self.state.save_snapshot(claim, snapshot))

    async def trim(self, claim: Claim, below: int, keep_ms: int = 0) -> int:
        return await self._call("trim", lambda: self.state.trim(claim, below, keep_ms))

    async def release(self, claim: Claim) -> None:
        await self._call("release", lambda: self.state.release(claim, self.node_id))

    async def close(self) -> None:
        pass

    async def _call(self, method: str, act: Callable[[], T]) -> T:
        return await self.state.call(self.node_id, method, act)

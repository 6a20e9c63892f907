"""The simulated store that nodes share: `MemoryEngineState` behind a network that takes time and can fail.

A request that was sent is carried out even if its sender is frozen or dead by then. A fault decides about a request
when it reaches the store: refused, lost, or carried out with its answer lost, or carried out late, when the node may
have given up long ago.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from coordinator.core.live_cluster import NO_NODE, NodeState
from coordinator.engine.memory import MemoryEngineState
from coordinator.storage.log_store import Claim, LogStoreError, StoredSnapshot
from coordinator.storage.memory_store import CallOutcome, OutcomeLostError

if TYPE_CHECKING:
    from coordinator.simulation.world import World

T = TypeVar("T")

TIMEOUT_S: Final = 5.0  # log.engine.timeout.ms
WAY_S: Final = 0.001  # to the store or back, at most
LATE_S: Final = 12.0  # at most, until a late request is carried out; others are after the next claim or snapshot
PROOF_S: Final = 0.05  # until the store notices that a process has ended
OPERATOR: Final = 0  # the node id under which an operator changes the map


class StoreCut(NamedTuple):
    """A node does not reach the store. Its requests have this fate; None: each has another one."""

    until_s: float
    fate: CallOutcome | None


class SimulatedStore(MemoryEngineState):
    """The store of a world. `claimed` is called when a partition was claimed."""

    def __init__(self, world: World, lease_ms: int, claimed: Callable[[], None]) -> None:
        super().__init__(lambda: int(world.now_s * 1000), lease_ms=lease_ms)
        self.owners: dict[int, list[tuple[float, int]]] = defaultdict(list)  # by partition: since when, and the node
        self.slow_s: dict[int, float] = {}  # to the store and back, in addition, at most; by node
        self._world = world
        self._chance = world.chance("store")
        self._tell_claimed = claimed
        self._cuts: dict[int, StoreCut] = {}  # by node
        self._hit: list[tuple[int, str, Callable[[], None]]] = []  # node, method, and what happens with its next call
        self._late_snapshots: list[Callable[[], None]] = []  # carried out after the next snapshot that is saved
        self._next: list[tuple[int, str, CallOutcome]] = []  # node, method, and fate of the next such requests

    # -- faults --------------------------------------------------------------------------------------------------

    def cut(self, node_id: int, seconds: float, fate: CallOutcome | None) -> None:
        """Keep a node from the store for some time."""
        self._cuts[node_id] = StoreCut(self._world.now_s + seconds, fate)

    def is_cut(self, node_id: int) -> bool:
        """Return whether a node does not reach the store."""
        return node_id in self._cuts and self._cuts[node_id].until_s > self._world.now_s

    def spoil(self, node_id: int, method: str, fate: CallOutcome, count: int) -> None:
        """Decide the fate of the next calls of a method by a node."""
        self._next += [(node_id, method, fate)] * count

    def hit(self, node_id: int, method: str, act: Callable[[], None]) -> None:
        """Have something happen right after the next call of a method by a node has reached the store."""
        self._hit.append((node_id, method, act))

    def heal(self) -> None:
        """End all faults."""
        self._hit.clear()
        self._cuts.clear()
        self._next.clear()
        self.slow_s.clear()

    def mark_all(self, state: NodeState, *node_ids: int) -> None:
        """Mark nodes as an operator does. Those that are not there, or dead, stay what they are."""
        for node_id in node_ids:
            if node_id in self.nodes and self.nodes[node_id].state is not NodeState.EXPIRED:
                self.nodes[node_id].state = state
        self.changed(OPERATOR)

    def has_ended(self, node_id: int, incarnation: str) -> None:
        """Note that a process was killed. A node that was cut off may have died of it: there is no proof then."""
        if not self.is_cut(node_id) and self._chance.random() < 0.7:
            self._world.at(self._world.now_s + self._chance.random() * PROOF_S, lambda: self.ended.add(incarnation))

    # -- requests ------------------------------------------------------------------------------------------------

    async def call(self, node_id: int, method: str, act: Callable[[], T]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._later(self._way_s(node_id), partial(self._arrive, node_id, method, act, answer))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await answer
        except TimeoutError:
            raise OutcomeLostError(f"no answer to {method} within {TIMEOUT_S:g} s; look at the store") from None

    def _arrive(self, node_id: int, method: str, act: Callable[[], Any], answer: asyncio.Future[Any]) -> None:
        fate = self._fate(node_id, method)
        self._world.note(f"store: {method} of node {node_id} is {fate.value}")
        result: Any = None
        error: LogStoreError | None = None
        for found in [each for each in self._hit if each[:2] == (node_id, method)][:1]:
            self._hit.remove(found)
            self._world.at(self._world.now_s, found[2])
        if fate is CallOutcome.REFUSED:
            error = LogStoreError(f"the store has refused {method}; try again")
        elif fate in (CallOutcome.DONE, CallOutcome.ANSWER_LOST):
            try:
                result = act()
            except LogStoreError as raised:
                error = raised
        elif fate is CallOutcome.LATE:
            late = partial(self._carry_out_late, node_id, method, act)
            if self._chance.random() < 0.5:
                (self._late_snapshots if method == "save_snapshot" else self._late).append(late)
            else:
                self._later(self._chance.random() * LATE_S, late)
        if fate in (CallOutcome.REQUEST_LOST, CallOutcome.ANSWER_LOST, CallOutcome.LATE):
            if self._chance.random() < 0.5:
                return  # no answer at all
            error = OutcomeLostError(f"the connection was lost during {method}; try again")
        self._world.at(self._world.now_s + self._way_s(node_id), lambda: _answer(answer, result, error))

    def _carry_out_late(self, node_id: int, method: str, act: Callable[[], Any]) -> None:
        self._world.note(f"store: {method} of node {node_id} is done late")
        with suppress(LogStoreError):
            act()

    def _fate(self, node_id: int, method: str) -> CallOutcome:
        if self.is_cut(node_id):
            return self._cuts[node_id].fate or self._chance.choice(list(CallOutcome)[1:])
        for number, (spoilt_id, spoilt, fate) in enumerate(self._next):
            if (spoilt_id, spoilt) == (node_id, method):
                del self._next[number]
                return fate
        return CallOutcome.DONE

    def _way_s(self, node_id: int) -> float:
        return WAY_S * (0.1 + 0.9 * self._chance.random()) + self.slow_s.get(node_id, 0.0) * self._chance.random()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        def step() -> None:
            self._world.running = "store"
            act()

        self._world.at(self._world.now_s + seconds, step, is_step=True)

    async def call_documents(self, node_id: int, method: str, act: Callable[[], T]) -> T:
        """Carry out a call about documents at once, or refuse it: no chance is drawn, so that seeds stay what they are.

        Documents take no part in what the simulation checks.
        """
        if self.is_cut(node_id):
            raise LogStoreError(f"the store cannot be reached for {method}; try again")
        return act()

    # -- what the world is told ----------------------------------------------------------------------------------

    def changed(self, by: int) -> None:
        for node_id, tell in self.watchers.items():
            if node_id != by and not self.is_cut(node_id):
                self._later(self._way_s(node_id), tell)

    def document_changed(self, by: int) -> None:
        for node_id, tell in self.document_watchers.items():
            if node_id != by and not self.is_cut(node_id):
                self._later(WAY_S, tell)

    def claim(self, partition: int, seen_epoch: int, node_id: int, incarnation: str) -> Claim:
        claim = super().claim(partition, seen_epoch, node_id, incarnation)
        self._world.note(f"node {node_id} claims partition {partition} under epoch {claim.epoch}")
        self.owners[partition].append((self._world.now_s, node_id))
        self._tell_claimed()
        self._later(self._way_s(node_id), self.deliver_late)
        return claim

    def save_snapshot(self, claim: Claim, snapshot: StoredSnapshot) -> None:
        super().save_snapshot(claim, snapshot)
        late, self._late_snapshots = self._late_snapshots, []
        for act in late:
            self._later(self._way_s(OPERATOR), act)

    def release(self, claim: Claim, by: int) -> None:
        if self.map().owners[claim.partition].epoch == claim.epoch:
            self.owners[claim.partition].append((self._world.now_s, NO_NODE))
        super().release(claim, by)

    def owned_since(self, partition: int, node_id: int, since_s: float) -> bool:
        """Return whether a node had the newest claim of a partition at some time since then."""
        held = [owner for at_s, owner in self.owners[partition] if at_s <= since_s][-1:]
        held += [owner for at_s, owner in self.owners[partition] if at_s > since_s]
        return node_id in held


def _answer(answer: asyncio.Future[Any], result: Any, error: LogStoreError | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)

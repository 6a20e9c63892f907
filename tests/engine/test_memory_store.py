"""The store in memory keeps the rules of every store, and does to calls what it is told to do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from coordinator.engine.memory import MemoryEngineState, open_memory
from coordinator.membership.directory import NodeDirectory
from coordinator.storage.documents.shared import SharedDocuments, StoredDocument
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendUnknown,
    ClaimLostError,
    LogStore,
    LogStoreError,
)
from coordinator.storage.memory_store import CallOutcome, OutcomeLostError
from tests.support.log_store_kit import (
    HOUR_MS,
    ClaimRaceRules,
    DirectoryRules,
    LogStoreRules,
    StoreWorld,
    entries,
    entry,
    joined,
    snapshot,
)
from tests.support.shared_documents_kit import SharedDocumentsRules


class MemoryWorld(StoreWorld):
    loses_outcomes = True

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.fates: dict[tuple[int, str], CallOutcome] = {}  # of the next call of a node, by method
        self.state = MemoryEngineState(lambda: self.now_ms, fate=self.fate)

    async def fate(self, node_id: int, method: str) -> CallOutcome:
        return self.fates.pop((node_id, method), CallOutcome.DONE)

    async def open(self, node_id: int) -> tuple[LogStore, NodeDirectory | None, SharedDocuments | None]:
        return open_memory(self.state, node_id)

    async def silence(self, node_id: int) -> None:
        self.state.nodes[node_id].seen_ms = self.now_ms - self.state.lease_ms - 1

    async def lose_next_outcome(self, node_id: int, *, applied: bool) -> None:
        self.fates[node_id, "append"] = CallOutcome.ANSWER_LOST if applied else CallOutcome.REQUEST_LOST

    async def lose_next_change(self, node_id: int, name: str, text: str, *, applied: bool) -> None:
        self.fates[node_id, "replace_document"] = CallOutcome.ANSWER_LOST if applied else CallOutcome.LATE


@pytest.fixture
async def world() -> AsyncIterator[MemoryWorld]:
    made = MemoryWorld()
    yield made
    await made.close()


class TestMemoryStore(LogStoreRules):
    pass


class TestMemoryRaces(ClaimRaceRules):
    pass


class TestMemoryDirectory(DirectoryRules):
    pass


class TestMemoryDocuments(SharedDocumentsRules):
    pass


async def test_a_late_change_of_a_document_was_made_once(world: MemoryWorld) -> None:
    first, second = await world.node(), await world.node()
    world.fates[first.id, "replace_document"] = CallOutcome.LATE
    assert await first.documents.replace("users", "a", 0)
    assert await second.documents.replace("users", "b", 1)
    world.state.deliver_late()
    assert await first.documents.read("users") == StoredDocument(2, "b")


async def test_a_refused_change_of_a_document_changes_nothing(world: MemoryWorld) -> None:
    node = await world.node()
    world.fates[node.id, "replace_document"] = CallOutcome.REFUSED
    with pytest.raises(LogStoreError, match="refused"):
        await node.documents.replace("users", "a", 0)
    assert await node.documents.read("users") is None


async def test_a_refused_append_leaves_nothing(world: MemoryWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    world.fates[node.id, "append"] = CallOutcome.REFUSED
    assert isinstance(await node.append(claim, entry(0)), AppendFailed)
    world.state.deliver_late()
    assert await node.read(0) == b""
    assert await node.append(claim, entry(0)) == AppendDurable(1)


async def test_a_late_append_that_was_resolved_changes_nothing(world: MemoryWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    world.fates[node.id, "append"] = CallOutcome.LATE
    assert isinstance(await node.append(claim, *entries(2)), AppendUnknown)
    assert await node.read(0) == b""
    assert await node.store.resolve(claim, entries(2)) == AppendDurable(6)
    assert await node.append(claim, entry(6)) == AppendDurable(7)
    world.state.deliver_late()
    assert await node.read(0) == joined([*entries(2), entry(6)])


async def test_a_late_append_comes_before_a_claim_or_is_fenced(world: MemoryWorld) -> None:
    for is_before in (True, False):
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        world.fates[first.id, "append"] = CallOutcome.LATE
        assert isinstance(await first.append(claim, entry(0)), AppendUnknown)
        await world.end(first, by=second)
        if is_before:
            world.state.deliver_late()
        newest = await second.claim(partition)
        world.state.deliver_late()
        assert newest.end_offset == is_before
        assert await second.read(partition) == (bytes(entry(0).batch) if is_before else b"")
        assert await first.store.resolve(claim, [entry(0)]) == AppendFenced()


async def test_an_outcome_may_stay_unknown(world: MemoryWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    world.fates[node.id, "append"] = CallOutcome.REQUEST_LOST
    await node.append(claim, entry(0))
    for fate in (CallOutcome.REFUSED, CallOutcome.REQUEST_LOST, CallOutcome.ANSWER_LOST):
        world.fates[node.id, "resolve"] = fate
        assert isinstance(await node.store.resolve(claim, [entry(0)]), AppendUnknown)
    assert await node.store.resolve(claim, [entry(0)]) == AppendDurable(1)
    assert await node.read(0) == bytes(entry(0).batch)


async def test_a_gap_and_other_batches_are_refused(world: MemoryWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    await node.append(claim, *entries(2))
    for wrong in (entry(7), entry(3, salt=1), entry(5)):
        assert isinstance(await node.append(claim, wrong), AppendFailed), wrong.last_offset
    assert await node.read(0) == joined(entries(2))


async def test_a_claim_whose_answer_was_lost_is_there(world: MemoryWorld) -> None:
    node = await world.node()
    world.fates[node.id, "claim"] = CallOutcome.ANSWER_LOST
    with pytest.raises(OutcomeLostError):
        await node.claim(0)
    view = await node.directory.renew()
    owner = view.owner(0)
    assert owner is not None
    assert owner.node.id == node.id
    world.fates[node.id, "claim"] = CallOutcome.REFUSED
    with pytest.raises(LogStoreError):
        await node.store.claim(1, 0)
    assert (await node.directory.renew()).owner(1) is None


async def test_the_age_of_batches_decides_what_trim_keeps(world: MemoryWorld) -> None:
    node = await world.node()
    claim = await node.claim(0)
    for number in range(4):
        await node.append(claim, entry(number))
        world.now_ms += HOUR_MS
    await node.store.save_snapshot(claim, 4, snapshot(0, 4))
    assert await node.store.trim(claim, 4, 5 * HOUR_MS) == 0
    assert await node.store.trim(claim, 4, 3 * HOUR_MS) == 2
    assert await node.read(0) == joined([entry(2), entry(3)])


async def test_a_process_that_has_ended_is_declared_dead_before_its_lease_is_over(world: MemoryWorld) -> None:
    first, second = await world.node(), await world.node()
    world.state.ended.add(first.incarnation)
    assert await second.directory.expire_dead(first.id, first.incarnation)
    assert not (await second.directory.renew()).nodes[first.id].may_own


async def test_a_node_without_an_entry_claims_nothing(world: MemoryWorld) -> None:
    node, other = await world.unannounced(), await world.node()
    with pytest.raises(ClaimLostError):
        await node.claim(0)
    await node.announce()
    await world.end(node, by=other)
    with pytest.raises(ClaimLostError):
        await node.claim(0)

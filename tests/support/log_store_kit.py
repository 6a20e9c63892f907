"""The rules that every `LogStore` and every `NodeDirectory` keeps, as classes of tests.

A test module derives `TestMyStore(LogStoreRules)`, `TestMyRaces(ClaimRaceRules)` and `TestMyDirectory(DirectoryRules)`
and gives a fixture `world`: a `StoreWorld` that opens the store for as many nodes as a test asks for, and closes them.
Tests use partitions and node ids that no other test or example has used, so a world may keep one store for all of them.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NO_NODE, NodeState
from coordinator.core.offsets.packed_groups import encode_block
from coordinator.membership.directory import ExpiredError, NodeDirectory, StoreFacts
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStore,
    StoredExtent,
)
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, Contents, LastBatch
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from protocol.record_batch import Record, build_batch, iter_batches, read_records
from tests.support.eventually import eventually_async

NOW_MS = 1_700_000_000_000
FACTS = StoreFacts("kit", 8)
HOUR_MS = 3_600_000


class StoreWorld(ABC):
    """One store under test, and what a test needs to know of it."""

    has_directory = True  # claims depend on which nodes live; else any node may claim what it has seen
    loses_outcomes = False  # `lose_next_outcome` and `lose_next_change` work

    def __init__(self) -> None:
        self.new_ids = itertools.count(1)
        self.new_partitions = itertools.count()
        self.opened: list[Node] = []
        self.epochs: Counter[int] = Counter()  # of the newest claim, by partition

    @abstractmethod
    async def open(self, node_id: int) -> tuple[LogStore, NodeDirectory | None, SharedDocuments | None]:
        """Open the store for a node, which is not announced."""

    async def silence(self, node_id: int) -> None:
        """Let the store believe that a node was not heard of for longer than the lease.

        Where nodes measure that too, all of them believe it that have seen the node in a map.
        """
        raise NotImplementedError

    async def lose_next_outcome(self, node_id: int, *, applied: bool) -> None:
        """Let the next append of a node have an unknown outcome: the store has kept it, or never will."""
        raise NotImplementedError

    async def lose_next_change(self, node_id: int, name: str, text: str, *, applied: bool) -> None:
        """Let the answer to the next change of a document by a node be lost, after or before the store has done it."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close what was opened."""
        while self.opened:
            await self.opened.pop().close()

    def partition(self) -> int:
        return next(self.new_partitions)

    async def node(self, node_id: int | None = None) -> Node:
        """Open and announce a node; by default one with a new id."""
        node = await self.unannounced(node_id)
        await node.announce()
        return node

    async def unannounced(self, node_id: int | None = None) -> Node:
        number = next(self.new_ids) if node_id is None else node_id
        node = Node(self, number, *await self.open(number))
        self.opened.append(node)
        return node

    async def end(self, victim: Node, by: Node) -> None:
        """Have a node declared dead by another one."""
        if self.has_directory:
            await by.directory.renew()
            await self.silence(victim.id)
            assert await by.directory.expire(victim.id, victim.incarnation)


class Node:
    """One node of a world."""

    def __init__(
        self,
        world: StoreWorld,
        node_id: int,
        store: LogStore,
        directory: NodeDirectory | None,
        documents: SharedDocuments | None,
    ) -> None:
        self.world = world
        self.id = node_id
        self.store = store
        self._directory = directory
        self._documents = documents
        self.incarnation = ""

    @property
    def directory(self) -> NodeDirectory:
        assert self._directory is not None
        return self._directory

    @property
    def documents(self) -> SharedDocuments:
        assert self._documents is not None
        return self._documents

    @property
    def address(self) -> ClusterNode:
        return ClusterNode(self.id, "127.0.0.1", 9000 + self.id)

    async def announce(self) -> None:
        """Begin a run of this node."""
        if self.world.has_directory:
            incarnation = uuid.uuid4().hex
            await self.directory.announce(self.address, incarnation)
            self.incarnation = incarnation

    async def claim(self, partition: int) -> Claim:
        """Claim a partition after its newest epoch."""
        claim = await self.store.claim(partition, self.world.epochs[partition])
        assert claim.partition == partition
        assert claim.epoch > self.world.epochs[partition]
        self.world.epochs[partition] = claim.epoch
        return claim

    async def append(self, claim: Claim, *entries: Entry) -> AppendOutcome:
        (outcome,) = await self.store.append([(claim, entries)])
        return outcome

    async def read(self, partition: int, from_offset: int = 0, chunk_bytes: int = 8 << 20) -> bytes:
        return b"".join([chunk async for chunk in self.store.batches(partition, from_offset, chunk_bytes)])

    async def close(self) -> None:
        if self._documents is not None:
            await self._documents.close()
        await self.store.close()
        if self._directory is not None:
            await self._directory.close()


def entry(base_offset: int, records: int = 1, *, value_bytes: int = 0, salt: int = 0) -> Entry:
    """Return a batch of commits. `salt` makes batches of the same offsets differ."""
    rows = []
    for number in range(base_offset, base_offset + records):
        key = encode_offset_key(f"group-{number % 7}", "orders", salt)
        value = encode_offset_value(OffsetValue(number, -1, "", NOW_MS + number, -1))
        rows.append((key, random.Random(number).randbytes(value_bytes) if value_bytes else value))
    batch = build_batch(rows, base_offset=base_offset, timestamp_ms=NOW_MS + base_offset)
    return Entry(batch, base_offset + records - 1, NOW_MS + base_offset)


def entries(count: int, base_offset: int = 0, records: int = 3) -> list[Entry]:
    return [entry(base_offset + number * records, records) for number in range(count)]


def joined(batches: list[Entry]) -> bytes:
    return b"".join([bytes(each.batch) for each in batches])


def records(data: bytes) -> list[Record]:
    return [record for position, header in iter_batches(data) for record in read_records(data, position, header)]


def snapshot(partition: int, next_offset: int, *, large_bytes: int = 0) -> list[bytes]:
    """Return the pieces of a real snapshot."""
    blocks = [encode_block(f"group-{number}", None, number, {}) for number in range(20)]
    damaged = {b"\0\1\0\1x": (random.Random(next_offset).randbytes(large_bytes), 0)} if large_bytes else {}
    contents = Contents(blocks, {}, damaged, {}, 0, len(blocks), 0)
    return file.encode(Binding(partition, 0, next_offset, LastBatch(next_offset - 1, next_offset, 0)), contents)


class LogStoreRules:
    """Rules of one store that several nodes share."""

    async def test_batches_come_back_as_they_were_appended(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        assert claim.end_offset == 0
        batches = entries(5)
        assert await node.append(claim, *batches[:2]) == AppendDurable(6)
        assert await node.append(claim, *batches[2:]) == AppendDurable(15)
        assert await node.read(partition) == joined(batches)

    async def test_a_bytearray_that_changes_later_was_kept_as_it_was(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        batch, kept = entry(0), bytes(entry(0).batch)
        await node.append(await node.claim(partition), batch)
        assert isinstance(batch.batch, bytearray)
        batch.batch[:] = b"x" * len(batch.batch)
        assert await node.read(partition) == kept

    async def test_an_empty_partition_has_neither_batches_nor_a_snapshot(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        for _ in range(2):
            assert await node.read(partition) == b""
            assert await node.store.load_snapshot(partition) is None
            await node.store.release(await node.claim(partition))

    async def test_an_empty_partition_may_begin_at_any_offset(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        batches = entries(2, 1_000_000)
        assert await node.append(claim, *batches) == AppendDurable(1_000_006)
        assert await node.append(claim, entry(1_000_006)) == AppendDurable(1_000_007)
        assert (await node.read(partition)).startswith(joined(batches))

    async def test_offsets_beyond_32_bits(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        assert await node.append(claim, entry(1 << 40)) == AppendDurable((1 << 40) + 1)
        assert await node.read(partition, 1 << 40) == bytes(entry(1 << 40).batch)

    async def test_a_read_begins_with_the_batch_that_holds_the_offset(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        batches = entries(4)  # offsets 0-2, 3-5, 6-8, 9-11
        await node.append(await node.claim(partition), *batches)
        for from_offset, first in ((0, 0), (2, 0), (3, 1), (7, 2), (11, 3)):
            assert await node.read(partition, from_offset) == joined(batches[first:]), from_offset
        for from_offset in (12, 13, 1 << 40):
            assert await node.read(partition, from_offset) == b""

    async def test_joined_batches_have_the_same_records(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim, batches = await node.claim(partition), entries(9)
        for first in (0, 4, 5):
            await node.append(claim, *batches[first : first + 4][: 4 if first != 4 else 1])
        for from_offset in (0, 1, 6, 12, 14, 26):
            chunks = [chunk async for chunk in node.store.batches(partition, from_offset, joined=True)]
            assert records(b"".join(chunks)) == records(joined(batches[from_offset // 3 :]))

    @pytest.mark.parametrize("chunk_bytes", [1, 100, 1000, 5000])
    async def test_a_chunk_holds_whole_batches_of_about_its_size(self, world: StoreWorld, chunk_bytes: int) -> None:
        node, partition = await world.node(), world.partition()
        batches = entries(30)
        await node.append(await node.claim(partition), *batches)
        largest = max(len(each.batch) for each in batches)
        chunks = [chunk async for chunk in node.store.batches(partition, 4, chunk_bytes)]
        assert b"".join(chunks) == joined(batches[1:])
        for chunk in chunks:
            assert sum(header.size_bytes for _, header in iter_batches(chunk)) == len(chunk) < chunk_bytes + largest

    async def test_large_batches(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        batches = [entry(number, value_bytes=1 << 20) for number in range(5)]
        assert await node.append(claim, *batches[:4]) == AppendDurable(4)
        assert await node.append(claim, batches[4]) == AppendDurable(5)
        assert await node.read(partition, chunk_bytes=2 << 20) == joined(batches)

    async def test_partitions_are_apart(self, world: StoreWorld) -> None:
        node = await world.node()
        claims = [await node.claim(world.partition()) for _ in range(3)]
        batches = [entries(number + 1) for number in range(3)]
        outcomes = await node.store.append(list(zip(claims, batches, strict=True)))
        assert list(outcomes) == [AppendDurable(3), AppendDurable(6), AppendDurable(9)]
        for claim, written in zip(claims, batches, strict=True):
            assert await node.read(claim.partition) == joined(written)

    async def test_appends_to_several_partitions_at_the_same_time(self, world: StoreWorld) -> None:
        node = await world.node()
        claims = [await node.claim(world.partition()) for _ in range(node.store.concurrent_appends)]

        async def fill(claim: Claim) -> None:
            for number in range(10):
                assert await node.append(claim, entry(number)) == AppendDurable(number + 1)

        await asyncio.gather(*map(fill, claims))
        for claim in claims:
            assert await node.read(claim.partition) == joined([entry(number) for number in range(10)])

    # -- claims --------------------------------------------------------------------------------------------------

    async def test_a_claim_ends_behind_what_was_appended_before(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        await first.append(claim, *entries(4))
        await first.store.release(claim)
        later = await second.claim(partition)
        assert later.end_offset == 12
        assert later.epoch > claim.epoch
        assert await second.append(later, entry(12)) == AppendDurable(13)
        assert await first.read(partition) == joined([*entries(4), entry(12)])

    async def test_an_append_under_a_former_claim_is_fenced_and_leaves_nothing(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        former = await first.claim(partition)
        await first.append(former, entry(0))
        await world.end(first, by=second)
        newest = await second.claim(partition)
        assert await first.append(former, entry(1, salt=1)) == AppendFenced()
        assert await second.append(newest, entry(1, salt=2)) == AppendDurable(2)
        assert await first.append(former, entry(2, salt=1)) == AppendFenced()
        assert await second.read(partition) == joined([entry(0), entry(1, salt=2)])

    async def test_one_append_may_be_fenced_for_one_partition_only(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        claims = [await first.claim(world.partition()) for _ in range(3)]
        await first.store.release(claims[1])
        await second.claim(claims[1].partition)
        outcomes = await first.store.append([(claim, entries(2)) for claim in claims])
        assert list(outcomes) == [AppendDurable(6), AppendFenced(), AppendDurable(6)]
        assert [await first.read(claim.partition) for claim in claims] == [joined(entries(2)), b"", joined(entries(2))]

    async def test_a_claim_after_an_outdated_epoch_is_refused(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        await node.store.release(claim)
        newest = await node.claim(partition)
        await node.store.release(newest)
        for seen in (0, claim.epoch, newest.epoch + 1):
            with pytest.raises(ClaimLostError):
                await node.store.claim(partition, seen)
        assert (await node.claim(partition)).epoch > newest.epoch

    async def test_a_partition_whose_owner_lives_is_not_claimed(self, world: StoreWorld) -> None:
        assert world.has_directory, "a store without nodes leaves this rule out"
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        with pytest.raises(ClaimLostError):
            await second.claim(partition)
        await world.silence(first.id)  # silent is not dead: it must be declared dead first
        with pytest.raises(ClaimLostError):
            await second.claim(partition)
        assert await first.append(claim, entry(0)) == AppendDurable(1)

    async def test_a_former_claim_cannot_be_released(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        former = await first.claim(partition)
        await first.store.release(former)
        newest = await second.claim(partition)
        await first.store.release(former)
        if world.has_directory:
            with pytest.raises(ClaimLostError):
                await first.claim(partition)
        assert await second.append(newest, entry(0)) == AppendDurable(1)

    async def test_one_of_many_claims_at_the_same_time_succeeds(self, world: StoreWorld) -> None:
        nodes = [await world.node() for _ in range(4)]
        for _ in range(5):
            partition = world.partition()
            found = await asyncio.gather(*(node.store.claim(partition, 0) for node in nodes), return_exceptions=True)
            won = [each for each in found if isinstance(each, Claim)]
            assert len(won) == 1
            assert all(isinstance(each, Claim | ClaimLostError) for each in found), found

    async def test_a_claim_during_appends_ends_behind_the_last_of_them(self, world: StoreWorld) -> None:
        """A frozen owner that goes on while another node claims: what was acknowledged is below the new claim."""
        first, second, partition = await world.node(), await world.node(), world.partition()
        former = await first.claim(partition)
        acknowledged = 0
        has_begun = asyncio.Event()

        async def go_on() -> None:
            nonlocal acknowledged
            while (outcome := await first.append(former, entry(acknowledged))) == AppendDurable(acknowledged + 1):
                acknowledged += 1
                if acknowledged == 5:
                    has_begun.set()
                await asyncio.sleep(0)
            assert outcome == AppendFenced()

        async def take() -> Claim:
            await has_begun.wait()
            await world.end(first, by=second)
            return await second.claim(partition)

        _, newest = await asyncio.gather(go_on(), take())
        assert newest.end_offset == acknowledged
        assert await second.append(newest, entry(acknowledged, salt=1)) == AppendDurable(acknowledged + 1)
        kept = [*(entry(number) for number in range(acknowledged)), entry(acknowledged, salt=1)]
        assert await second.read(partition) == joined(kept)

    # -- unknown outcomes ----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("applied", [True, False])
    async def test_an_unknown_outcome_is_resolved_once(self, world: StoreWorld, applied: bool) -> None:
        node, partition = await self._losing(world), world.partition()
        claim = await node.claim(partition)
        await node.append(claim, *entries(2))
        await world.lose_next_outcome(node.id, applied=applied)
        lost = entries(2, 6)
        assert isinstance(await node.append(claim, *lost), AppendUnknown)
        outcome = await node.store.resolve(claim, lost)
        assert outcome == AppendDurable(12) or (isinstance(outcome, AppendFailed) and not applied)
        kept = 4 if outcome == AppendDurable(12) else 2
        if kept == 4:
            assert await node.store.resolve(claim, lost) == outcome
        assert await node.append(claim, entry(kept * 3)) == AppendDurable(kept * 3 + 1)
        assert await node.read(partition) == joined([*entries(kept), entry(kept * 3)])

    @pytest.mark.parametrize("applied", [True, False])
    async def test_an_unknown_outcome_before_a_later_claim(self, world: StoreWorld, applied: bool) -> None:
        first, second, partition = await self._losing(world), await world.node(), world.partition()
        former = await first.claim(partition)
        await world.lose_next_outcome(first.id, applied=applied)
        assert isinstance(await first.append(former, *entries(2)), AppendUnknown)
        await world.end(first, by=second)
        newest = await second.claim(partition)
        assert newest.end_offset == (6 if applied else 0)
        outcome = await first.store.resolve(former, entries(2))
        assert outcome == AppendFenced() or (applied and outcome == AppendDurable(6))
        assert await second.append(newest, entry(newest.end_offset)) == AppendDurable(newest.end_offset + 1)
        assert await second.read(partition) == joined([*entries(2 * applied), entry(newest.end_offset)])

    async def _losing(self, world: StoreWorld) -> Node:
        assert world.loses_outcomes, "a store that is always told the outcome leaves this rule out"
        return await world.node()

    # -- snapshots -----------------------------------------------------------------------------------------------

    async def test_a_snapshot_is_kept_and_replaced(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        await first.append(claim, *entries(3))
        for next_offset, large_bytes in ((3, 0), (6, 3 << 20), (9, 0)):
            pieces = snapshot(partition, next_offset, large_bytes=large_bytes)
            await first.store.save_snapshot(claim, next_offset, iter(pieces))
            for node in (first, second):
                found = await node.store.load_snapshot(partition)
                assert found is not None
                assert (found.next_offset, found.data) == (next_offset, b"".join(pieces))
        assert await first.store.load_snapshot(world.partition()) is None

    async def test_a_snapshot_under_a_former_claim_is_refused(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        former = await first.claim(partition)
        await first.append(former, *entries(2))
        await first.store.save_snapshot(former, 3, snapshot(partition, 3))
        await world.end(first, by=second)
        await second.claim(partition)
        with pytest.raises(ClaimLostError):
            await first.store.save_snapshot(former, 6, snapshot(partition, 6))
        with pytest.raises(ClaimLostError):
            await first.store.trim(former, 3)
        found = await second.store.load_snapshot(partition)
        assert found is not None
        assert found.next_offset == 3

    async def test_trim_deletes_nothing_that_no_snapshot_covers(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        await node.append(claim, *entries(4))
        assert await node.store.trim(claim, 12) == 0
        assert await node.read(partition) == joined(entries(4))
        await node.store.save_snapshot(claim, 6, snapshot(partition, 6))
        await self._trimmed(node, claim, below=12, left=2)
        assert await node.read(partition, 6) == joined(entries(4)[2:])

    async def test_an_extent_needs_no_claim(self, world: StoreWorld) -> None:
        node, reader, partition = await world.node(), await world.unannounced(), world.partition()

        async def extent() -> StoredExtent:
            return (await reader.store.extents([partition]))[partition]

        assert await extent() == (0, 0, 0)
        claim = await node.claim(partition)
        assert await extent() == (0, 0, 0)
        await node.append(claim, *entries(4))
        assert await extent() == (0, 12, 0)
        await node.store.save_snapshot(claim, 6, snapshot(partition, 6))
        assert await extent() == (0, 12, 6)
        if node.store.deletes_below_snapshots:
            await self._trimmed(node, claim, below=6, left=2)
            assert await extent() == (6, 12, 6)
            await node.store.save_snapshot(claim, 12, snapshot(partition, 12))
            await self._trimmed(node, claim, below=12, left=0)
            assert await extent() == (12, 12, 12)
        assert await node.append(claim, entry(12)) == AppendDurable(13), "the claim holds"

    async def test_trim_deletes_whole_batches_below_the_offset(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        await node.append(claim, *entries(4))
        await node.store.save_snapshot(claim, 12, snapshot(partition, 12))
        await self._trimmed(node, claim, below=5, left=3)  # 3-5 does not lie wholly below 5
        await self._trimmed(node, claim, below=6, left=2)

    async def test_trim_keeps_young_batches(self, world: StoreWorld) -> None:
        node, partition = await world.node(), world.partition()
        claim = await node.claim(partition)
        await node.append(claim, *entries(4))
        await node.store.save_snapshot(claim, 12, snapshot(partition, 12))
        assert await node.store.trim(claim, 12, HOUR_MS) == 0
        assert await node.read(partition) == joined(entries(4))

    async def test_a_snapshot_and_what_trim_has_left_are_all_of_the_log(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        for number in range(6):
            await first.append(claim, entry(number))
            await first.store.save_snapshot(claim, number, snapshot(partition, number))
            await first.store.trim(claim, number)
            found = await second.store.load_snapshot(partition)
            assert found is not None
            left = await second.read(partition, found.next_offset)
            assert left == joined([entry(each) for each in range(found.next_offset, number + 1)])

    async def test_a_partition_that_was_trimmed_to_its_end_keeps_its_end(self, world: StoreWorld) -> None:
        first, second, partition = await world.node(), await world.node(), world.partition()
        claim = await first.claim(partition)
        await first.append(claim, *entries(4))
        await first.store.save_snapshot(claim, 12, snapshot(partition, 12))
        await self._trimmed(first, claim, below=12, left=0)
        assert await first.append(claim, entry(12)) == AppendDurable(13)
        await first.store.save_snapshot(claim, 13, snapshot(partition, 13))
        await first.store.trim(claim, 13)
        await first.store.release(claim)
        later = await second.claim(partition)
        assert later.end_offset == 13
        assert await second.append(later, entry(13)) == AppendDurable(14)

    async def _trimmed(self, node: Node, claim: Claim, *, below: int, left: int) -> None:
        """Trim, and check what it says and leaves; a store may delete less, but nothing else."""
        before = [header for _, header in iter_batches(await node.read(claim.partition))]
        count = await node.store.trim(claim, below)
        after = [header for _, header in iter_batches(await node.read(claim.partition))]
        assert after == before[count:]
        assert len(after) == left if node.store.deletes_below_snapshots else len(after) >= left


OPERATIONS = st.one_of(
    st.tuples(st.just("claim"), st.integers(0, 2), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 3), st.integers(1, 4)),
    st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 3), st.integers(1, 4)),
    st.tuples(st.just("lose"), st.integers(0, 2), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("resolve"), st.integers(0, 2), st.just(0), st.just(0)),
    st.tuples(st.just("release"), st.integers(0, 2), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("end"), st.integers(0, 2), st.just(0), st.just(0)),
)


@dataclass
class _Held:
    """The claim of a node, and what it knows of the partition."""

    claim: Claim
    next_offset: int
    unknown: list[Entry] = field(default_factory=list)  # of an append whose outcome it does not know


@dataclass
class _Log:
    """The truth about a partition."""

    number: int
    kept: list[Entry] = field(default_factory=list)  # acknowledged, or found behind a claim
    unknown: list[Entry] = field(default_factory=list)
    owner: int = -1  # index of the node; -1: free

    @property
    def end_offset(self) -> int:
        return self.kept[-1].last_offset + 1 if self.kept else 0


class History:
    """Three nodes and two partitions, carried from operation to operation."""

    def __init__(self, world: StoreWorld, nodes: list[Node]) -> None:
        self.world = world
        self.nodes = nodes
        self.logs = [_Log(world.partition()) for _ in range(2)]
        self.held: list[dict[int, _Held]] = [{} for _ in nodes]  # by index of the log; former claims stay
        self.salts = itertools.count(1)

    def is_newest(self, claim: Claim) -> bool:
        return claim.epoch == self.world.epochs[claim.partition]

    async def claim(self, who: int, which: int, is_outdated: Any) -> None:
        node, log = self.nodes[who], self.logs[which]
        newest = self.world.epochs[log.number]
        seen = newest - 1 if is_outdated and newest else newest
        may = seen == newest and (log.owner < 0 or not self.world.has_directory)
        try:
            claim = await node.store.claim(log.number, seen)
        except ClaimLostError:
            assert not may
            return
        assert may
        assert claim.epoch > newest
        self.world.epochs[log.number] = claim.epoch
        if claim.end_offset != log.end_offset:
            assert log.unknown
            log.kept += log.unknown
        log.unknown = []
        assert claim.end_offset == log.end_offset
        assert await node.read(log.number) == joined(log.kept)
        log.owner = who
        self.held[who][which] = _Held(claim, claim.end_offset)

    def _rows(self, who: int, which: int, count: int) -> list[tuple[int, _Held, list[Entry]]]:
        rows = []
        for index, held in self.held[who].items():
            if which >> index & 1 and not held.unknown:
                salt = next(self.salts)
                rows.append((index, held, [entry(held.next_offset + each, salt=salt) for each in range(count)]))
        return rows

    async def append(self, who: int, which: int, count: Any) -> None:
        rows = self._rows(who, which, count)
        if not rows:
            return
        outcomes = await self.nodes[who].store.append([(held.claim, batches) for _, held, batches in rows])
        for (index, held, batches), outcome in zip(rows, outcomes, strict=True):
            if self.is_newest(held.claim):
                held.next_offset += count
                assert outcome == AppendDurable(held.next_offset)
                self.logs[index].kept += batches
            else:
                assert outcome == AppendFenced()

    async def lose(self, who: int, which: int, applied: Any) -> None:
        rows = self._rows(who, which, 1)
        if not rows or not self.world.loses_outcomes:
            return
        await self.world.lose_next_outcome(self.nodes[who].id, applied=applied)
        outcomes = await self.nodes[who].store.append([(held.claim, batches) for _, held, batches in rows])
        for (index, held, batches), outcome in zip(rows, outcomes, strict=True):
            assert isinstance(outcome, AppendUnknown)
            held.unknown = batches
            if self.is_newest(held.claim):
                self.logs[index].unknown = batches

    async def resolve(self, who: int, _: int, __: Any) -> None:
        for index, held in self.held[who].items():
            if not held.unknown:
                continue
            outcome = await self.nodes[who].store.resolve(held.claim, held.unknown)
            if self.is_newest(held.claim):
                assert isinstance(outcome, AppendDurable | AppendFailed)
                if isinstance(outcome, AppendDurable):
                    held.next_offset += len(held.unknown)
                    self.logs[index].kept += held.unknown
                self.logs[index].unknown = []
            elif isinstance(outcome, AppendDurable):  # then it must be true
                kept = self.logs[index].kept
                assert all(each in kept for each in held.unknown)
            else:
                assert outcome == AppendFenced()
            held.unknown = []

    async def release(self, who: int, which: int, _: Any) -> None:
        held = self.held[who].get(which)
        if held is not None:
            await self.nodes[who].store.release(held.claim)
            if self.is_newest(held.claim):
                self.logs[which].owner = -1

    async def end(self, who: int, _: int, __: Any) -> None:
        """Declare a node dead. It goes on under its former claims, and announces itself as a new run."""
        await self.world.end(self.nodes[who], by=self.nodes[who - 1])
        await self.nodes[who].announce()
        for log in self.logs:
            if log.owner == who:
                log.owner = -1

    async def check(self) -> None:
        """Check that all that was acknowledged is there, in order, and nothing else but what is still unknown."""
        for log in self.logs:
            found = await self.nodes[0].read(log.number, chunk_bytes=200)
            assert found in (joined(log.kept), joined([*log.kept, *log.unknown]))


class ClaimRaceRules:
    """Rules for histories of a few nodes that claim, append, die and come back."""

    @settings(
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
        ]
    )
    @given(operations=st.lists(OPERATIONS, min_size=4, max_size=40))
    async def test_what_was_acknowledged_is_there(self, world: StoreWorld, operations: list[Any]) -> None:
        history = History(world, [await world.node() for _ in range(3)])
        for name, who, which, argument in operations:
            await getattr(history, name)(who, which, argument)
        await history.check()
        await world.close()


class DirectoryRules:
    """Rules of the directory of a store that several nodes share."""

    async def test_the_first_node_writes_the_facts(self, world: StoreWorld) -> None:
        first, second = await world.unannounced(), await world.unannounced()
        written = await first.directory.facts(FACTS)
        assert await second.directory.facts(StoreFacts("other", 50)) == written
        assert await first.directory.facts(StoreFacts("third", 3)) == written

    async def test_an_announced_node_is_up_for_all(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        for reader in (first, second):
            found = (await reader.directory.renew()).nodes
            for node in (first, second):
                live = found[node.id]
                assert (live.node, live.incarnation, live.state) == (node.address, node.incarnation, NodeState.UP)
                assert live.is_up

    async def test_a_silent_node_is_not_fresh_until_it_is_heard_of(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        await world.silence(first.id)
        assert not (await second.directory.renew()).nodes[first.id].is_fresh
        assert (await first.directory.renew()).nodes[first.id].is_fresh
        assert (await second.directory.renew()).nodes[first.id].is_up

    async def test_only_a_silent_node_is_declared_dead(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        assert not await second.directory.expire(first.id, first.incarnation)
        assert not await second.directory.expire_dead(first.id, first.incarnation)
        await second.directory.renew()
        assert not await second.directory.expire(first.id, first.incarnation)
        await world.silence(first.id)
        assert not await second.directory.expire(first.id, second.incarnation)
        assert not await second.directory.expire(first.id + 1000, first.incarnation)
        assert await second.directory.expire(first.id, first.incarnation)
        found = (await second.directory.renew()).nodes.get(first.id)
        assert found is None or found.state is NodeState.EXPIRED

    async def test_a_node_that_was_declared_dead_learns_it(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        partition = world.partition()
        claim = await first.claim(partition)
        await world.end(first, by=second)
        for _ in range(2):
            with pytest.raises(ExpiredError):
                await first.directory.renew()
        assert (await second.directory.renew()).owner(partition) is None
        await first.announce()
        view = await first.directory.renew()
        assert view.nodes[first.id].is_up
        assert view.owner(partition) is None, "the claim of the run that was declared dead"
        assert (await second.claim(partition)).epoch > claim.epoch

    async def test_a_renewal_and_a_death_at_the_same_moment(self, world: StoreWorld) -> None:
        """A renewal at the same moment wins, or the node is dead: never both."""
        nodes = [await world.node() for _ in range(3)]
        first = nodes[0]
        for _ in range(5):
            for node in nodes:
                await node.directory.renew()
            await world.silence(first.id)
            renewed, *ended = await asyncio.gather(
                first.directory.renew(),
                *(node.directory.expire(first.id, first.incarnation) for node in nodes[1:]),
                return_exceptions=True,
            )
            if isinstance(renewed, ExpiredError):
                assert True in ended
                await first.announce()
            else:
                assert not isinstance(renewed, BaseException), renewed
                assert True not in ended
                assert (await nodes[1].directory.renew()).nodes[first.id].is_up

    async def test_owners_are_in_the_map(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        partition = world.partition()
        assert (await second.directory.renew()).owner(partition) is None
        claim = await first.claim(partition)
        view = await second.directory.renew()
        owner = view.owner(partition)
        assert owner is not None
        assert owner.node == first.address
        assert view.owners[partition].epoch == claim.epoch
        await first.store.release(claim)
        view = await second.directory.renew()
        assert view.owner(partition) is None
        assert (view.owners[partition].epoch, view.owners[partition].node) == (claim.epoch, NO_NODE)

    async def test_a_draining_node_keeps_what_it_has(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        partition = world.partition()
        claim = await first.claim(partition)
        await first.directory.drain()
        await first.directory.renew()
        view = await second.directory.renew()
        assert view.nodes[first.id].state is NodeState.DRAINING
        assert not view.nodes[first.id].is_up
        owner = view.owner(partition)
        assert owner is not None
        assert owner.node.id == first.id
        assert await first.append(claim, entry(0)) == AppendDurable(1)

    async def test_a_node_that_leaves_is_gone(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        partition = world.partition()
        claim = await first.claim(partition)
        await first.store.release(claim)
        await first.directory.leave()
        view = await second.directory.renew()
        assert first.id not in view.nodes or not view.nodes[first.id].may_own
        assert (await second.claim(partition)).epoch > claim.epoch
        again = await world.node(first.id)
        assert (await second.directory.renew()).nodes[again.id].incarnation == again.incarnation

    async def test_a_second_run_of_a_living_node_is_refused(self, world: StoreWorld) -> None:
        first = await world.node()
        second = await world.unannounced(first.id)
        with pytest.raises(ExpiredError):
            await second.announce()
        assert (await first.directory.renew()).nodes[first.id].incarnation == first.incarnation

    async def test_a_new_run_replaces_a_silent_one(self, world: StoreWorld) -> None:
        first, other = await world.node(), await world.node()
        partition = world.partition()
        claim = await first.claim(partition)
        await world.silence(first.id)
        second = await world.node(first.id)
        view = await other.directory.renew()
        assert view.nodes[first.id].incarnation == second.incarnation
        assert view.owner(partition) is None, "the claim of the former run"
        with pytest.raises(ExpiredError):
            await first.directory.renew()
        assert (await second.claim(partition)).epoch > claim.epoch
        assert await first.append(claim, entry(0)) == AppendFenced()

    async def test_a_watcher_hears_of_the_changes_of_others(self, world: StoreWorld) -> None:
        first, second = await world.node(), await world.node()
        heard = 0

        def hear() -> None:
            nonlocal heard
            heard += 1

        second.directory.watch(hear)
        before = heard
        claim = await first.claim(world.partition())
        await eventually_async(lambda: heard > before, "the watcher hears of a claim")
        before = heard
        await first.store.release(claim)
        await eventually_async(lambda: heard > before, "the watcher hears of a release")
        before = heard
        await first.directory.leave()
        await eventually_async(lambda: heard > before, "the watcher hears of a node that left")

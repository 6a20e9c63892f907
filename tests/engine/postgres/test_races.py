"""Nodes that take partitions from each other while all of them append: no acknowledged batch is lost."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import asyncpg
import pytest

from coordinator.membership.directory import ExpiredError
from coordinator.storage.log_store import AppendDurable, AppendFailed, AppendFenced, Claim, ClaimLostError
from protocol.record_batch import iter_batches
from tests.engine.postgres.database import Database, DatabaseNode
from tests.support.log_store_kit import entry, joined

pytestmark = pytest.mark.integration

PARTITIONS = 2
THEFTS = 150


class Contest:
    """Three nodes that fight for two partitions until there were enough thefts."""

    def __init__(self, database: Database, chance: random.Random) -> None:
        self.database = database
        self.chance = chance
        self.salts = itertools.count(1)
        self.acknowledged: dict[tuple[int, int], tuple[bytes, int]] = {}  # batch and epoch, by partition and offset
        self.thefts = 0
        self.fenced = 0

    async def play(self, node: DatabaseNode, killer: asyncpg.Connection) -> None:
        held: dict[int, tuple[Claim, int]] = {}  # with the next offset
        while self.thefts < THEFTS:
            if held and self.chance.random() < 0.8:
                await self.append(node, held)
            else:
                await self.steal(node, killer, held)

    async def append(self, node: DatabaseNode, held: dict[int, tuple[Claim, int]]) -> None:
        rows = [(claim, [entry(offset, salt=next(self.salts))]) for claim, offset in held.values()]
        outcomes = await node.store.append(rows)
        for (claim, (batch,)), outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, AppendDurable):
                key = claim.partition, batch.last_offset
                assert key not in self.acknowledged, "acknowledged twice"
                self.acknowledged[key] = bytes(batch.batch), claim.epoch
                held[claim.partition] = claim, outcome.high_watermark
            else:
                assert outcome == AppendFenced()
                del held[claim.partition]
                self.fenced += 1

    async def steal(self, node: DatabaseNode, killer: asyncpg.Connection, held: dict[int, tuple[Claim, int]]) -> None:
        partition = self.chance.randrange(PARTITIONS)
        if partition in held:
            return
        owned = (await killer.fetch("SELECT epoch, node FROM owner WHERE p = $1", partition)) or [(0, 0)]
        epoch, owner = owned[0]
        await killer.execute("UPDATE node SET state = 'expired' WHERE id = $1 AND id <> $2", owner, node.id)
        try:
            claim = await node.store.claim(partition, epoch)
        except ClaimLostError:
            try:
                await node.map()
            except ExpiredError:
                await node.announce()
            return
        assert claim.epoch > epoch
        held[partition] = claim, claim.end_offset
        self.thefts += 1


@pytest.mark.parametrize("seed", [1, 2])
async def test_thefts_in_the_middle_of_appends(database: Database, seed: int) -> None:
    nodes = [await database.node() for _ in range(3)]
    contest = Contest(database, random.Random(seed))
    killers = [await database.connect() for _ in nodes]
    try:
        await asyncio.gather(*(contest.play(node, killer) for node, killer in zip(nodes, killers, strict=True)))
        kept = await killers[0].fetch("SELECT p, base, last, epoch, batch FROM log ORDER BY p, base")
    finally:
        for killer in killers:
            await killer.close()
    assert contest.fenced > 10
    ends, epochs = dict.fromkeys(range(PARTITIONS), 0), dict.fromkeys(range(PARTITIONS), 0)
    for partition, base, last, epoch, batch in kept:
        assert base == ends[partition], "no gap and no overlap"
        assert epoch >= epochs[partition], "no write of a former owner behind one of a later owner"
        ends[partition], epochs[partition] = last + 1, epoch
        assert contest.acknowledged.get((partition, last), (batch, epoch)) == (batch, epoch)
    found = {(partition, last) for partition, _, last, _, _ in kept}
    assert contest.acknowledged.keys() <= found, "an acknowledged batch is lost"
    for partition in range(PARTITIONS):
        headers = [header for _, header in iter_batches(await nodes[0].read(partition))]
        assert [header.base_offset for header in headers] == list(range(ends[partition]))


async def test_a_node_that_was_declared_dead_may_not_claim(database: Database) -> None:
    first, second = await database.node(), await database.node()
    database.sql(f"UPDATE node SET state = 'expired' WHERE id = {first.id}")
    with pytest.raises(ClaimLostError):
        await first.store.claim(0, 0)
    unannounced = await database.unannounced()
    with pytest.raises(ClaimLostError):
        await unannounced.store.claim(0, 0)
    assert (await second.store.claim(0, 0)).epoch == 1


async def test_another_writer_at_the_same_offset_ends_the_claim(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A writer that goes past the claims cannot be overwritten, and makes no gap."""
    node = await database.node()
    claims = [await node.store.claim(partition, 0) for partition in range(2)]
    for claim in claims:
        await node.fill(claim, 2)
    database.sql("INSERT INTO log SELECT 0, 2, 2, epoch, crc, at, batch FROM log WHERE p = 0 AND base = 1")
    outcomes = await node.store.append([(claim, [entry(2)]) for claim in claims])
    assert list(outcomes) == [AppendFenced(), AppendDurable(3)]
    assert "its log ends at offset 3 in the database, and this node was about to append at 2" in caplog.text
    assert await node.append(claims[0], entry(3)) == AppendFenced()


async def test_a_log_that_is_shorter_than_it_was_gets_no_gap(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 2)
    database.sql("DELETE FROM log WHERE base = 1")
    assert await node.append(claim, entry(2)) == AppendFenced()
    assert "its log ends at offset 1 in the database, and this node was about to append at 2" in caplog.text
    assert await node.read(0) == joined([entry(0)])


async def test_batches_with_a_gap_between_them_are_not_kept(database: Database) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    assert isinstance(await node.append(claim, entry(0), entry(2)), AppendFailed)
    await node.fill(claim, 2)


async def test_a_claim_waits_for_an_append_that_has_seen_the_former_one(database: Database) -> None:
    """The append is stopped between its check of the claim and its end, by a row of another session at its place."""
    first, second = await database.node(), await database.node()
    blocker, watcher = await database.connect(), await database.connect()
    try:
        for partition in range(5):  # again if the machine was so busy that a lock was waited for too long
            former = await first.store.claim(partition, 0)
            await first.fill(former, 1)
            await blocker.execute("UPDATE node SET state = 'expired' WHERE id = $1", first.id)
            row = blocker.transaction()
            await row.start()
            await blocker.execute(
                "INSERT INTO log SELECT p, 1, 1, epoch, crc, at, batch FROM log WHERE p = $1", partition
            )
            append = asyncio.ensure_future(first.append(former, entry(1)))
            await waiting(watcher, "appends", append)
            claim = asyncio.ensure_future(second.store.claim(partition, former.epoch))
            await waiting(watcher, "loads", claim)
            await row.rollback()
            outcome, newest = await asyncio.gather(append, claim, return_exceptions=True)
            await first.announce()
            if isinstance(outcome, AppendDurable) and isinstance(newest, Claim):
                assert newest.end_offset == outcome.high_watermark == 2
                return
            assert "lock timeout" in f"{outcome} {newest}"
    finally:
        await blocker.close()
        await watcher.close()
    pytest.fail("a lock was waited for too long each time")


async def waiting(watcher: asyncpg.Connection, role: str, request: asyncio.Future[Any]) -> None:
    """Wait until a request of a session waits for a lock, or has ended."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE $1"
    for _ in range(5000):
        if request.done() or await watcher.fetchval(query, f"%{role}"):
            return
        await asyncio.sleep(0.002)

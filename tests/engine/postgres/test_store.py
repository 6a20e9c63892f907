"""Details of the store that the rules for every store leave open."""

from __future__ import annotations

import re

import pytest

from coordinator.engine.postgres import appender, snapshots, store
from coordinator.engine.postgres.snapshots import cut
from coordinator.storage.log_store import AppendDurable
from protocol.record_batch import iter_batches
from tests.engine.postgres.database import Database
from tests.support.log_store_kit import entries, entry, joined

pytestmark = pytest.mark.integration


async def test_a_chunk_is_bounded_also_in_its_number_of_batches(database: Database) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    batches = entries(4500)
    assert await node.append(claim, *batches) == AppendDurable(13_500)
    chunks = [chunk async for chunk in node.store.batches(0, 0)]
    assert b"".join(chunks) == joined(batches)
    assert len(chunks) == 3


async def test_the_database_reads_only_what_fits_into_a_chunk(database: Database) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    for number in range(8):
        assert await node.append(claim, entry(number, value_bytes=1 << 20)) == AppendDurable(number + 1)
    sizes = [len(chunk) async for chunk in node.store.batches(0, 0, 3 << 20)]
    assert [round(size / (1 << 20)) for size in sizes] == [3, 3, 2]


async def test_a_large_log_is_trimmed_in_steps(database: Database) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    assert await node.append(claim, *entries(3100)) == AppendDurable(9300)
    await node.store.save_snapshot(claim, 9000, [b"state"])
    assert await node.store.trim(claim, 9300) == 3000
    (first, *_) = [header async for chunk in node.store.batches(0, 0) for _, header in iter_batches(chunk)]
    assert first.base_offset == 9000


async def test_young_batches_in_front_of_old_ones_are_not_skipped(database: Database) -> None:
    """A clock that went back makes no hole in the log."""
    node = await database.node()
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 6)
    await node.store.save_snapshot(claim, 6, [b"state"])
    database.sql("UPDATE log SET at = at - interval '1 day' WHERE base <> 2")
    assert await node.store.trim(claim, 6, keep_ms=3_600_000) == 2
    assert await node.read(0) == joined([entry(number) for number in range(2, 6)])


async def test_no_statement_reads_all_of_a_log(database: Database) -> None:
    """The tables are small and have no statistics, which is when PostgreSQL would."""
    node = await database.node()
    claim = await node.store.claim(0, 0)
    assert await node.append(claim, *entries(3000)) == AppendDurable(9000)
    session, me = node.store._appends, (0, claim.epoch, node.id, node.incarnation)  # type: ignore[attr-defined]
    batch = bytes(entry(9000).batch)
    one_row = ([0], [1], [node.incarnation], [9000], node.id, [0], [9000], [9000], [5], [batch])
    for query, arguments in (
        (appender._APPEND, one_row),
        (appender._KEPT, (0, 5, 9)),
        (store._BATCHES, (0, 100, 1000)),
        (snapshots._BOUNDARY, (0, 100, 1.0)),
        (snapshots._DELETE, (*me, 100)),
    ):
        plan = "\n".join(line for (line,) in await session.fetch(f"EXPLAIN {query}", *arguments))
        assert "using log_pkey on log" in plan
        assert not re.search("Seq Scan|Bitmap|Sort", plan), plan


async def test_the_name_of_the_store_has_no_user(database: Database) -> None:
    node = await database.unannounced(database.config(query="?application_name=secret"))
    assert node.store.name == f"postgresql://127.0.0.1:{database.server.port}/{database.name}"


def test_pieces_are_cut_anew() -> None:
    assert list(cut([b"abc", b"", b"defgh", b"i"], 4)) == [b"abcd", b"efgh", b"i"]
    assert list(cut([b"abcd"], 4)) == [b"abcd"]
    assert list(cut([b""], 4)) == []

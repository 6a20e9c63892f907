"""A primary with a synchronous standby: commits that wait for it, its promotion, and lost acknowledgements."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from coordinator.storage.log_store import AppendDurable, AppendFailed, AppendFenced, AppendUnknown, LogStoreError
from tests.engine.postgres.database import Database
from tests.support.eventually import eventually, eventually_async
from tests.support.log_store_kit import entry, joined
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


async def test_a_wait_for_the_standby_that_was_cancelled_is_unknown(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    """PostgreSQL answers with success and a warning; the row is visible, and is on one machine only."""
    database = Database(primary, tmp_path)
    config = database.config(log_engine_require_sync=True, log_engine_timeout_ms=1000)
    node, reader = await database.node(config), await database.node(database.config())
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    standby.stop()

    append = asyncio.ensure_future(node.append(claim, entry(1)))
    await eventually_async(lambda: primary.sql(WAITING) != "0", "the commit waits for the standby")
    assert await reader.read(0) == joined([entry(0)]), "it is not visible before"
    await asyncio.to_thread(primary.sql, CANCEL)
    unknown = await append
    assert isinstance(unknown, AppendUnknown)
    assert "may be on one machine only" in str(unknown.error)
    assert await reader.read(0) == joined([entry(0), entry(1)])
    resolved = await node.store.resolve(claim, [entry(1)])
    assert isinstance(resolved, AppendUnknown), "that the row is there proves nothing while the standby is away"
    hasty = await database.unannounced(database.config(log_engine_timeout_ms=200))
    with pytest.raises(LogStoreError):
        await hasty.store.extents([0])

    await asyncio.to_thread(standby.start)
    assert await node.resolved(claim, entry(1)) == AppendDurable(2)
    assert await hasty.store.extents([0]) == {0: (0, 2, 0)}
    assert standby.sql("SELECT count(*) FROM kgc_test.log", database.name) == "2"
    await database.close()


async def test_a_standby_that_is_away_for_longer_than_the_timeout_makes_appends_unknown(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node(database.config(log_engine_require_sync=True, log_engine_timeout_ms=500))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    standby.stop()
    assert isinstance(await node.append(claim, entry(1)), AppendUnknown)
    with pytest.raises(LogStoreError):
        await node.map()  # nor is a lease renewed that a promoted standby would not know of
    await asyncio.to_thread(standby.start)
    assert await node.resolved(claim, entry(1)) == AppendDurable(2)
    await database.close()


async def test_the_primary_is_killed_and_the_standby_promoted(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node(database.config(primary.port, standby.port))
    claim = await node.store.claim(0, 0)
    acknowledged = 0
    has_failed = asyncio.Event()

    async def go_on() -> None:
        nonlocal acknowledged
        while not (has_failed.is_set() and acknowledged >= at_failure + 50):
            outcome = await node.append(claim, entry(acknowledged))
            if isinstance(outcome, AppendUnknown):
                has_failed.set()
                outcome = await node.resolved(claim, entry(acknowledged))
            if isinstance(outcome, AppendFailed):
                has_failed.set()
                await asyncio.sleep(0.02)
                continue
            assert outcome == AppendDurable(acknowledged + 1)
            acknowledged += 1

    at_failure = 1 << 30
    appends = asyncio.ensure_future(go_on())
    await eventually_async(lambda: acknowledged > 100, "appends are acknowledged")
    await asyncio.to_thread(primary.kill)
    await asyncio.wait_for(has_failed.wait(), 20)
    at_failure = acknowledged
    await asyncio.to_thread(standby.promote)
    await appends
    assert await node.read(0) == joined([entry(number) for number in range(acknowledged)])
    owner = (await node.map()).owner(0)
    assert owner is not None
    assert owner.node.id == node.id
    await database.close()


async def test_a_promoted_standby_without_a_standby_of_its_own_is_not_enough(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node(database.config(primary.port, standby.port, log_engine_require_sync=True))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 3)
    primary.kill()
    standby.promote()
    await node.append(claim, entry(3))  # its connection was lost
    outcome = await node.append(claim, entry(3))
    assert isinstance(outcome, AppendFailed)
    assert "has no synchronous standby" in str(outcome.error)
    assert node.id in (await node.map()).nodes, "leases go on: no node may believe that it alone is cut off"
    assert await node.read(0) == joined([entry(number) for number in range(3)])
    await database.close()


async def test_acknowledged_batches_that_an_old_backup_does_not_have(
    primary: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node()
    lost, whole = await node.store.claim(0, 0), await node.store.claim(1, 0)
    await node.fill(lost, 3)
    await node.fill(whole, 3)
    copy = primary.save()
    await node.resolved(lost, entry(3))  # after the connection, which was lost
    await node.fill(lost, 2, 4)
    assert "LOST" not in caplog.text
    primary.restore(copy)

    await node.resolved(whole, entry(3))
    assert "partition=0: THE DATABASE HAS LOST ACKNOWLEDGED COMMITS: up to offset 6" in caplog.text
    assert "the log ends at 3" in caplog.text
    assert "partition=1" not in caplog.text
    assert await node.append(lost, entry(6)) == AppendFenced()
    assert await node.append(whole, entry(4)) == AppendDurable(5)

    caplog.clear()
    await node.store.release(lost)
    again = await node.store.claim(0, lost.epoch)
    assert again.end_offset == 3
    await node.fill(again, 1, 3)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    await database.close()


async def test_acknowledged_batches_that_a_later_claim_does_not_find(
    primary: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node()
    claims = [await node.store.claim(partition, 0) for partition in range(2)]
    for claim in claims:
        await node.fill(claim, 2)
        await node.store.release(claim)
    copy = primary.save()
    other = await database.node()
    for partition in range(2):
        taken = await other.store.claim(partition, 1)
        await other.fill(taken, 3, 2)
        await other.store.release(taken)
    primary.restore(copy)
    database.sql("UPDATE log SET crc = 17, epoch = 9 WHERE p = 1 AND base = 1")  # as another history would have it
    for partition in range(2):
        for _ in range(50):
            try:
                assert (await node.store.claim(partition, 1)).end_offset == 2
                break
            except LogStoreError as error:
                assert error.may_pass
                await asyncio.sleep(0.02)
    assert "partition=0: THE DATABASE" not in caplog.text, "this node was acknowledged up to offset 2 only"
    assert "partition=1: THE DATABASE HAS LOST ACKNOWLEDGED COMMITS" in caplog.text
    assert "the log has another batch there" in caplog.text
    await database.close()


async def test_batches_that_a_later_owner_has_deleted_are_not_lost(
    primary: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(primary, tmp_path)
    first, second = await database.node(), await database.node()
    claim = await first.store.claim(0, 0)
    await first.fill(claim, 3)
    await first.store.release(claim)
    later = await second.store.claim(0, 1)
    await second.fill(later, 2, 3)
    await second.store.save_snapshot(later, 5, [b"state"])
    assert await second.store.trim(later, 5) == 5
    await second.store.release(later)
    again = await first.store.claim(0, 2)
    assert again.end_offset == 5
    await first.fill(again, 1, 5)
    primary.restart()
    assert await first.resolved(again, entry(6)) == AppendDurable(7)
    assert "LOST" not in caplog.text
    eventually(lambda: primary.is_running, "the server runs")
    await database.close()

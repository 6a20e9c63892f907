"""Leases, locks and notifications of nodes, as PostgreSQL keeps them."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.core.cluster import ClusterNode
from coordinator.membership.directory import ExpiredError
from coordinator.storage.log_store import LogStoreError
from tests.engine.postgres.database import Database, DatabaseNode
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.integration

SESSIONS = "FROM pg_stat_activity WHERE application_name LIKE 'coordinator node {} %'"


async def silent(database: Database, node: DatabaseNode) -> None:
    """Let a node be silent for the database's clock."""
    database.sql(f"UPDATE node SET seen = seen - interval '1 day' WHERE id = {node.id}")


async def test_a_step_of_the_clock_of_the_database_ends_no_lease(database: Database) -> None:
    now_s = 0.0
    first = await database.node()
    watcher = await database.unannounced(clock=lambda: now_s)
    await watcher.announce()
    await watcher.map()
    await silent(database, first)
    assert not (await watcher.map()).nodes[first.id].is_fresh
    now_s = 9.9
    assert not await watcher.directory.expire(first.id, first.incarnation), "it was seen to renew 9.9 s ago"
    now_s = 10.1
    assert await watcher.directory.expire(first.id, first.incarnation)
    with pytest.raises(ExpiredError):
        await first.map()


async def test_a_clock_of_the_database_that_went_back_hides_no_silence(database: Database) -> None:
    now_s = 0.0
    first = await database.node()
    watcher = await database.unannounced(clock=lambda: now_s)
    await watcher.announce()
    database.sql(f"UPDATE node SET seen = seen + interval '1 day' WHERE id = {first.id}")
    assert (await watcher.map()).nodes[first.id].is_fresh
    now_s = 10.1
    assert not (await watcher.map()).nodes[first.id].is_fresh
    assert await watcher.directory.expire(first.id, first.incarnation)


async def test_a_renewal_between_two_looks_begins_a_new_silence(database: Database) -> None:
    now_s = 0.0
    first = await database.node()
    watcher = await database.unannounced(clock=lambda: now_s)
    await watcher.announce()
    await watcher.map()
    now_s = 10.1
    await first.map()
    assert not await watcher.directory.expire(first.id, first.incarnation), "the row is newer than the last look"
    assert (await watcher.map()).nodes[first.id].is_fresh


async def test_a_node_without_a_session_can_be_declared_dead_at_once(database: Database) -> None:
    first, second = await database.node(), await database.node()
    claim = await first.store.claim(0, 0)
    assert not await second.directory.expire_dead(first.id, first.incarnation)
    await first.close()  # its entry stays, as after a kill
    await eventually_async(lambda: database.sql(f"SELECT count(*) {SESSIONS.format(first.id)}") == "0", "it is gone")
    assert not await second.directory.expire_dead(first.id, "another run")
    assert await second.directory.expire_dead(first.id, first.incarnation)
    assert (await second.map()).owner(0) is None
    assert (await second.store.claim(0, claim.epoch)).epoch == claim.epoch + 1


async def test_a_session_that_was_lost_takes_its_lock_again(database: Database) -> None:
    first, second = await database.node(), await database.node()
    for _ in range(3):
        database.sql(f"SELECT pg_terminate_backend(pid) {SESSIONS.format(first.id)}")
        for _ in range(2):
            try:
                assert first.id in (await first.map()).nodes
            except LogStoreError as error:
                assert error.may_pass
        assert not await second.directory.expire_dead(first.id, first.incarnation)


async def test_a_watcher_hears_after_its_session_was_lost(database: Database) -> None:
    first, second = await database.node(), await database.node()
    heard: list[int] = []
    second.directory.watch(lambda: heard.append(1))
    database.sql(f"SELECT pg_terminate_backend(pid) {SESSIONS.format(second.id)}")
    for _ in range(2):
        try:
            await second.map()
        except LogStoreError as error:
            assert error.may_pass
    await first.store.claim(0, 0)
    await eventually_async(lambda: heard, "the watcher hears of the claim")


async def test_a_watcher_does_not_hear_of_its_own_changes(database: Database) -> None:
    first, second = await database.node(), await database.node()
    own: list[int] = []
    others: list[int] = []
    first.directory.watch(lambda: own.append(1))
    second.directory.watch(lambda: others.append(1))
    await first.store.claim(0, 0)
    await first.directory.drain()
    await first.map()
    await eventually_async(lambda: len(others) >= 2, "the other one hears")
    await first.map()
    assert not own


async def test_an_announcement_may_be_repeated_until_it_is_answered(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.unannounced(database.config(proxy.port))
    proxy.cut_at(b"127.0.0.1", applied=True)
    with pytest.raises(LogStoreError) as caught:
        await node.announce()
    assert not isinstance(caught.value, ExpiredError)
    await node.directory.announce(ClusterNode(node.id, "127.0.0.1", 9000 + node.id), node.incarnation)
    assert (await node.map()).nodes[node.id].incarnation == node.incarnation


async def test_appends_and_loads_do_not_delay_renewals(database: Database) -> None:
    """Each kind of request has a session of its own."""
    node = await database.node()
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    sessions = node.store._appends, node.store.work  # type: ignore[attr-defined]
    busy = [asyncio.ensure_future(session.fetch("SELECT pg_sleep(4)")) for session in sessions]
    await asyncio.sleep(0)
    assert node.id in (await node.map()).nodes
    assert not any(request.done() for request in busy)
    database.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(4)'")
    await asyncio.gather(*busy, return_exceptions=True)

"""Requests whose answer was lost, and requests that arrive long after their client has given them up."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStoreError,
)
from tests.engine.postgres.database import MARKER, Database
from tests.support.eventually import eventually_async
from tests.support.log_store_kit import entries, entry, joined, snapshot

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("applied", [True, False])
async def test_each_of_many_lost_answers_is_resolved(database: Database, applied: bool) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    claim = await node.store.claim(0, 0)
    for number in range(20):
        proxy.cut_at(MARKER, applied=applied)
        assert isinstance(await node.append(claim, entry(number)), AppendUnknown)
        assert not proxy.is_waiting
        assert database.sql("SELECT count(*) FROM log") == str(number + applied)
        assert await node.store.resolve(claim, [entry(number)]) == AppendDurable(number + 1)
    assert await node.read(0) == joined([entry(number) for number in range(20)])


async def test_a_request_that_arrives_after_it_was_resolved_changes_nothing(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    claims = [await node.store.claim(partition, 0) for partition in range(2)]
    await node.store.append([(claim, [entry(0)]) for claim in claims])
    proxy.hold_at(MARKER)
    late = [(claim, entries(2, 1, 1)) for claim in claims]
    assert {type(outcome) for outcome in await node.store.append(late)} == {AppendUnknown}
    assert await node.store.resolve(*late[0]) == AppendDurable(3)
    await node.fill(claims[0], 2, 3)
    await proxy.deliver_held()  # it still fits for the other partition, which was not resolved yet
    assert await node.read(0) == joined([entry(number) for number in range(5)])
    assert await node.store.resolve(*late[1]) == AppendDurable(3)
    assert await node.read(1) == joined([entry(number) for number in range(3)])


async def test_a_request_that_arrives_after_a_later_claim_changes_nothing(database: Database) -> None:
    proxy = await database.proxy()
    first, second = await database.node(database.config(proxy.port)), await database.node()
    former = await first.store.claim(0, 0)
    await first.fill(former, 1)
    proxy.hold_at(MARKER)
    assert isinstance(await first.append(former, entry(1)), AppendUnknown)
    database.sql(f"UPDATE node SET state = 'expired' WHERE id = {first.id}")
    newest = await second.store.claim(0, former.epoch)
    assert newest.end_offset == 1
    await proxy.deliver_held()
    assert await first.store.resolve(former, [entry(1)]) == AppendFenced()
    await second.fill(newest, 2, 1)
    assert await first.read(0) == joined([entry(number) for number in range(3)])


async def test_nothing_is_decided_while_the_database_is_away(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    proxy.cut_at(MARKER, applied=False)
    assert isinstance(await node.append(claim, entry(1)), AppendUnknown)
    proxy.refuses = True
    for _ in range(5):
        assert isinstance(await node.store.resolve(claim, [entry(1)]), AppendUnknown)
        failed = await node.append(claim, entry(1))
        assert isinstance(failed, AppendFailed), "without a connection nothing is sent"
        assert isinstance(failed.error, LogStoreError)
        assert failed.error.may_pass
    proxy.refuses = False
    assert await node.resolved(claim, entry(1)) == AppendDurable(2)


async def test_an_answer_that_comes_too_late_is_unknown(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port, log_engine_timeout_ms=500))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    proxy.drops_answers = True
    assert isinstance(await node.append(claim, entry(1)), AppendUnknown)
    proxy.drops_answers = False
    assert await node.resolved(claim, entry(1)) == AppendDurable(2)


async def test_a_cancelled_append_is_unknown_and_the_next_one_works(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    proxy.drops_answers = True
    append = asyncio.ensure_future(node.append(claim, entry(1)))
    await eventually_async(lambda: database.sql("SELECT count(*) FROM log") == "2", "the batch is in the log")
    append.cancel()
    with pytest.raises(asyncio.CancelledError):
        await append
    proxy.drops_answers = False
    assert await node.store.resolve(claim, [entry(1)]) == AppendDurable(2)
    await node.fill(claim, 1, 2)


async def test_a_row_lock_that_is_held_for_too_long_fails_the_append(database: Database) -> None:
    node = await database.node(database.config(log_engine_timeout_ms=2000))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)

    async def lock(connection: object) -> None:
        async with connection.transaction():  # type: ignore[attr-defined]
            await connection.execute("SELECT FROM owner FOR UPDATE")  # type: ignore[attr-defined]
            outcome = await node.append(claim, entry(1))
            assert isinstance(outcome, AppendFailed)
            assert "lock timeout" in str(outcome.error)

    other = await database.node()
    await other.directory._session.run(lock)  # type: ignore[attr-defined]
    await node.fill(claim, 1, 1)


async def test_a_claim_whose_answer_was_lost_can_be_released(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    proxy.cut_at(node.incarnation.encode(), applied=True)
    with pytest.raises(LogStoreError):
        await node.store.claim(0, 0)
    assert not proxy.is_waiting
    owned = (await node.map()).owners[0]
    assert (owned.epoch, owned.node, owned.incarnation) == (1, node.id, node.incarnation)
    with pytest.raises(ClaimLostError):
        await node.store.claim(0, 1)
    await node.store.release(Claim(0, 1, 0))
    assert (await node.store.claim(0, 1)).epoch == 2


async def test_a_snapshot_that_was_cut_off_is_not_seen(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port))
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 9)
    pieces = {offset: snapshot(0, offset, large_bytes=3 << 20) for offset in (3, 6)}
    await node.store.save_snapshot(claim, 3, pieces[3])
    tail = b"".join(pieces[6])[-64:]
    proxy.cut_at(tail, applied=False)
    with pytest.raises(LogStoreError):
        await node.store.save_snapshot(claim, 6, pieces[6])
    assert not proxy.is_waiting
    found = await node.store.load_snapshot(0)
    assert found is not None
    assert (found.next_offset, found.data) == (3, b"".join(pieces[3]))
    await node.store.save_snapshot(claim, 6, pieces[6])
    found = await node.store.load_snapshot(0)
    assert found is not None
    assert (found.next_offset, found.data) == (6, b"".join(pieces[6]))
    assert database.sql("SELECT DISTINCT next_offset FROM snapshot_piece") == "6"
    await node.store.save_snapshot(claim, 3, pieces[3])  # an older one never replaces a newer one
    found = await node.store.load_snapshot(0)
    assert found is not None
    assert found.next_offset == 6

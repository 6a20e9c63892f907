"""Shared documents in PostgreSQL: stores of earlier releases, answers that were lost, the standby, notifications."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from coordinator.engine.postgres import documents, schema
from coordinator.engine.postgres.directory import DOCUMENT_BY
from coordinator.engine.postgres.documents import PART_BYTES
from coordinator.storage.documents.shared import StoredDocument
from coordinator.storage.log_store import LogStoreError
from tests.engine.postgres.database import Database
from tests.support.eventually import eventually_async
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
LAST = DOCUMENT_BY.encode()  # in the statement that makes a change, and in no other one
TEXT = "the second text"
PARTS = "SELECT count(*) FROM document_part"
READING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT data FROM document_part%'"


async def test_a_store_without_documents_is_brought_up_to_date(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "_MIGRATIONS", schema._MIGRATIONS[:1])
        earlier.setattr(schema, "VERSION", 1)
        former = await database.node()
        await former.fill(await former.store.claim(0, 0), 2)
    assert database.sql("SELECT to_regclass('document') IS NULL") == "t"
    node = await database.node()
    assert await node.documents.read("users") is None
    assert await node.documents.replace("users", "one", 0)
    assert await node.read(0) == await former.read(0) != b""
    assert database.sql("SELECT revision FROM fact WHERE name = 'schema'") == str(schema.VERSION)


async def test_a_change_that_arrives_after_it_was_made_again_changes_nothing(database: Database) -> None:
    proxy = await database.proxy()
    first, second = await database.node(database.config(proxy.port)), await database.node()
    for number in range(2):
        name = f"document-{number}"
        for revision in range(number):
            assert await second.documents.replace(name, "one", revision)
        proxy.hold_at(LAST)
        assert await first.documents.replace(name, TEXT, number)
        assert await second.documents.replace(name, "later", number + 1)
        await proxy.deliver_held()
        assert await first.documents.read(name) == StoredDocument(number + 2, "later")


async def test_an_outcome_that_cannot_be_found_out_is_an_error(database: Database) -> None:
    """The change was made, and another one behind it, before this node could look."""
    proxy = await database.proxy()
    first, second = await database.node(database.config(proxy.port)), await database.node()
    assert await first.documents.replace("users", "one", 0)
    proxy.cut_at(LAST, applied=True)
    proxy.refuses = True
    change = asyncio.ensure_future(first.documents.replace("users", TEXT, 1))
    await eventually_async(lambda: database.sql("SELECT revision FROM document") == "2", "the change is made")
    assert await second.documents.replace("users", "three", 2)
    proxy.refuses = False
    with pytest.raises(LogStoreError, match="is not known, as it has revision 3 now; look at it"):
        await change
    assert await first.documents.read("users") == StoredDocument(3, "three")


async def test_a_change_that_another_one_has_overtaken_was_not_made(database: Database) -> None:
    proxy = await database.proxy()
    first, second = await database.node(database.config(proxy.port)), await database.node()
    assert await first.documents.replace("users", "one", 0)
    proxy.cut_at(LAST, applied=False)
    proxy.refuses = True
    change = asyncio.ensure_future(first.documents.replace("users", TEXT, 1))
    await eventually_async(lambda: not proxy.is_waiting, "the request is lost")
    assert await second.documents.replace("users", TEXT, 1)
    proxy.refuses = False
    assert not await change


async def test_a_database_that_stays_away_is_an_error(database: Database) -> None:
    proxy = await database.proxy()
    node = await database.node(database.config(proxy.port, log_engine_timeout_ms=500))
    assert await node.documents.replace("users", "one", 0)
    proxy.cut_at(LAST, applied=True)
    proxy.refuses = True
    with pytest.raises(LogStoreError, match="the connection was lost"):
        await node.documents.replace("users", TEXT, 1)
    for _ in range(2):
        with pytest.raises(LogStoreError):
            await node.documents.replace("users", "three", 2)
        with pytest.raises(LogStoreError):
            await node.documents.read("users")


async def test_a_change_that_may_be_on_one_machine_only_is_not_made_yet(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop_behind_the_check(connection: object, settings: object) -> None:
        standby.stop()
        monkeypatch.setattr(documents, "check_sync", never_refused)

    async def never_refused(connection: object, settings: object) -> None:
        pass

    database = Database(primary, tmp_path)
    node = await database.node(database.config(log_engine_require_sync=True))
    assert await node.documents.replace("users", "one", 0)
    monkeypatch.setattr(documents, "check_sync", stop_behind_the_check)
    change = asyncio.ensure_future(node.documents.replace("users", TEXT, 1))
    await eventually_async(lambda: primary.sql(WAITING) != "0", "the commit waits for the standby")
    await asyncio.to_thread(primary.sql, CANCEL)
    await eventually_async(lambda: database.sql("SELECT revision FROM document") == "2", "it is visible")
    await eventually_async(lambda: primary.sql(WAITING) != "0", "the look waits for the standby, too")
    assert not change.done()
    await asyncio.to_thread(standby.start)
    assert await change
    assert standby.sql("SELECT revision FROM kgc_test.document", database.name) == "2"
    await database.close()


async def test_without_a_standby_no_document_is_changed(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    node = await database.node(database.config(log_engine_require_sync=True))
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
    primary.sql("SELECT pg_reload_conf()")
    await eventually_async(lambda: primary.sql("SHOW synchronous_standby_names") == "", "the setting is read")
    with pytest.raises(LogStoreError, match="has no synchronous standby"):
        await node.documents.replace("users", "one", 0)
    assert await node.documents.read("users") is None
    await database.close()


async def test_a_change_of_a_document_does_not_look_like_one_of_the_nodes(database: Database) -> None:
    first, second = await database.node(), await database.node()
    heard: list[str] = []
    second.directory.watch(lambda: heard.append("nodes"))
    second.documents.watch(lambda: heard.append("documents"))
    assert await first.documents.replace("users", "one", 0)
    await eventually_async(lambda: heard == ["documents"], "the change is heard of")
    await first.directory.drain()
    await eventually_async(lambda: heard == ["documents", "nodes"], "the node is heard of")
    assert await second.documents.replace("users", "two", 1)
    await first.directory.mark(second.id, (await second.map()).nodes[second.id].state)
    await eventually_async(lambda: heard == ["documents", "nodes", "nodes"], "no node hears of its own changes")


async def test_a_new_connection_may_have_missed_a_change(database: Database) -> None:
    proxy = await database.proxy()
    node, other = await database.node(database.config(proxy.port)), await database.node()
    heard: list[str] = []
    node.documents.watch(lambda: heard.append("documents"))
    proxy.cut()
    with suppress(LogStoreError):
        await node.map()
    await node.map()
    assert heard
    heard.clear()
    assert await other.documents.replace("users", "one", 0)
    await eventually_async(lambda: heard, "the new connection listens")


async def test_a_half_written_document_is_ignored_and_deleted_by_the_next_change(database: Database) -> None:
    proxy = await database.proxy()
    first, second = await database.node(database.config(proxy.port)), await database.node()
    assert await first.documents.replace("users", "one", 0)
    assert await first.documents.replace("quotas", "other", 0)
    proxy.cut_at(b"the end", applied=True)
    with pytest.raises(LogStoreError, match="the connection was lost"):
        await first.documents.replace("users", "x" * 2 * PART_BYTES + "the end" + "x" * PART_BYTES, 1)
    assert database.sql(PARTS) == "5"
    assert await second.documents.read("users") == StoredDocument(1, "one")
    assert await second.documents.replace("users", "two", 1)
    assert database.sql(PARTS) == "2"
    assert await first.documents.read("users") == StoredDocument(2, "two")
    assert await first.documents.read("quotas") == StoredDocument(1, "other")


async def test_changes_at_the_same_time_leave_no_parts(database: Database) -> None:
    nodes = [await database.node() for _ in range(3)]
    for revision in range(5):
        text = "x" * (PART_BYTES + revision)
        made = await asyncio.gather(*(node.documents.replace("users", text, revision) for node in nodes))
        assert sorted(made) == [False, False, True]
        assert await nodes[0].documents.read("users") == StoredDocument(revision + 1, text)
    assert database.sql(PARTS) == "2"


async def test_a_document_that_is_replaced_while_it_is_read(database: Database) -> None:
    proxy = await database.proxy()
    reader, writer = await database.node(database.config(proxy.port)), await database.node()
    assert await writer.documents.replace("users", "x" * 3 * PART_BYTES, 0)
    proxy.delay_s = 0.05  # of each chunk
    read = asyncio.ensure_future(reader.documents.read("users"))
    await eventually_async(lambda: database.sql(READING) != "0", "the first part is read")
    assert await writer.documents.replace("users", "two", 1)
    assert await read == StoredDocument(2, "two")


async def test_a_change_whose_parts_were_lost_is_not_made(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    node = await database.node()
    assert await node.documents.replace("users", "one", 0)

    async def lose_parts(connection: object, settings: object) -> None:
        database.sql(f"DELETE FROM document_part WHERE convert_from(data, 'UTF8') = '{TEXT}'")

    with monkeypatch.context() as losing:
        losing.setattr(documents, "check_sync", lose_parts)
        for name, revision in (("users", 1), ("quotas", 0)):
            with pytest.raises(LogStoreError, match="has lost parts"):
                await node.documents.replace(name, TEXT, revision)
    assert await node.documents.read("users") == StoredDocument(1, "one")
    assert await node.documents.read("quotas") is None
    assert await node.documents.replace("users", TEXT, 1)

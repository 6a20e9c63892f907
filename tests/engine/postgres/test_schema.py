"""The schema is made by the nodes themselves, once, and is never older or newer than the program."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.engine.postgres import schema
from coordinator.engine.postgres.settings import schema_name
from coordinator.storage.log_store import LogStoreError
from tests.engine.postgres.database import Database
from tests.support.log_store_kit import FACTS, joined

pytestmark = pytest.mark.integration


async def test_three_nodes_that_start_at_the_same_time_make_it_once(database: Database) -> None:
    nodes = await asyncio.gather(*(database.node() for _ in range(3)))
    assert {await node.directory.facts(FACTS._replace(cluster_id=f"of {node.id}")) for node in nodes} == {
        FACTS._replace(cluster_id=f"of {nodes[0].id}")
    }
    assert {len((await node.map()).nodes) for node in nodes} == {3}
    assert database.sql("SELECT revision FROM fact WHERE name = 'schema'") == str(schema.VERSION)


async def test_a_later_start_changes_nothing(database: Database) -> None:
    first = await database.node()
    await first.fill(await first.store.claim(0, 0), 2)
    tables = database.sql(
        "SELECT array_agg(oid ORDER BY oid) FROM pg_class WHERE relnamespace = 'kgc_test'::regnamespace"
    )
    second = await database.node()
    assert await second.read(0) == await first.read(0) != joined([])
    assert tables == database.sql(
        "SELECT array_agg(oid ORDER BY oid) FROM pg_class WHERE relnamespace = 'kgc_test'::regnamespace"
    )


async def test_a_newer_schema_is_refused(database: Database) -> None:
    await database.node()
    database.sql(f"UPDATE fact SET revision = {schema.VERSION + 1} WHERE name = 'schema'")
    with pytest.raises(LogStoreError, match=r"has version \d+, .* install the release") as caught:
        await database.unannounced()
    assert not caught.value.may_pass


async def test_clusters_in_one_database_are_apart(database: Database) -> None:
    one = await database.node(database.config(cluster_id="one"))
    two = await database.node(database.config(cluster_id="two"))
    await one.fill(await one.store.claim(0, 0), 3)
    assert (await two.store.claim(0, 0)).end_offset == 0
    assert set((await two.map()).nodes) == {two.id}


def test_each_cluster_id_has_a_name_of_its_own() -> None:
    ids = ["", "a-b", "a.b", "a_b", "A_b", "x" * 100, "x" * 101, 'drop"; --', "Größe"]
    names = [schema_name(each) for each in ids]
    assert len(set(names)) == len(ids)
    assert all(name.isascii() and name.replace("_", "").isalnum() and len(name) < 63 for name in names)
    assert (names[0], names[3]) == ("kgc", "kgc_a_b")

"""Warnings of PostgreSQL that say nothing about the standby: requests succeed, and each is logged once."""

from __future__ import annotations

import logging

import pytest

from coordinator.engine.postgres.session import MOST_WARNINGS
from tests.engine.postgres.database import Database
from tests.support.log_store_kit import entry, joined

pytestmark = pytest.mark.integration

# The text has another number each time, as that of PostgreSQL before transaction ids wrap around.
WARN = """
CREATE SEQUENCE left_over;
CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE WARNING E'vacuum within % transactions\\nor do it later', nextval('kgc_test.left_over')
        USING DETAIL = 'a detail', HINT = 'a hint';
    RETURN NULL;
END $$;
CREATE TRIGGER warn AFTER INSERT OR UPDATE ON log EXECUTE FUNCTION warn();
CREATE TRIGGER warn AFTER INSERT OR UPDATE ON node EXECUTE FUNCTION warn();
"""


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if " warns: " in record.getMessage()]


async def test_requests_that_are_warned_of_something_else_succeed(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    connection = await database.connect()
    await connection.execute(WARN)
    await connection.close()
    await node.fill(claim, 3)
    for _ in range(3):
        assert node.id in (await node.map()).nodes
    assert await node.read(0) == joined([entry(number) for number in range(3)])
    assert int(database.sql("SELECT last_value FROM left_over")) >= 6
    found = warnings(caplog)
    assert sorted(line.partition(":")[0] for line in found) == ["connection for appends", "connection for renewals"]
    for line in found:
        assert line.endswith("transactions; see the log of the database"), "the first line of the message only"


async def test_warnings_of_many_texts_are_not_logged_without_end(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    node = await database.node()
    caplog.set_level(logging.WARNING)
    many = f"FOR n IN 1..{2 * MOST_WARNINGS} LOOP RAISE WARNING '%', repeat('x', n); END LOOP"
    for _ in range(2):
        await node.directory._session.fetch(f"DO $$ BEGIN {many}; END $$")  # type: ignore[attr-defined]
    assert len(warnings(caplog)) == MOST_WARNINGS


async def test_a_database_cannot_keep_warnings_from_the_session(database: Database) -> None:
    database.server.sql(f"ALTER DATABASE {database.name} SET client_min_messages = error")
    node = await database.node()
    ((shown,),) = await node.directory._session.fetch("SHOW client_min_messages")  # type: ignore[attr-defined]
    assert shown == "warning"

"""A database that cannot be used is refused by one sentence that says what to do, and never tells the password."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.config.config import Config
from coordinator.engine.opening import open_engine
from coordinator.storage.log_store import AppendFailed, LogStoreError
from tests.engine.postgres.database import Database
from tests.support.eventually import eventually
from tests.support.log_store_kit import entry
from tests.support.nodes import free_ports
from tests.support.postgres import PASSWORD, PostgresServer

pytestmark = pytest.mark.integration

SECRET = "a-wrong-secret"


async def refusal(config: Config, *words: str, may_pass: bool) -> None:
    """Check that the engine is refused by one sentence with these words, and without a password."""
    with pytest.raises(LogStoreError) as caught:
        await open_engine(config, 1)
    sentence = str(caught.value)
    for word in words:
        assert word in sentence, sentence
    assert caught.value.may_pass is may_pass, sentence
    assert "\n" not in sentence
    chain = [repr(caught.value), repr(caught.value.__cause__), sentence]
    assert not [text for text in chain if SECRET in text or PASSWORD in text]


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    caplog.set_level(logging.DEBUG)
    yield caplog
    assert SECRET not in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_wrong_password(database: Database) -> None:
    database.password.write_text(SECRET)
    await refusal(database.config(), "password authentication failed", "log.engine.password.file", may_pass=False)


async def test_no_password(database: Database) -> None:
    await refusal(database.config(log_engine_password_file=""), "password", may_pass=False)


async def test_a_password_that_was_changed_is_read_at_the_next_connect(database: Database) -> None:
    database.server.sql(f"CREATE ROLE {database.name} LOGIN SUPERUSER PASSWORD 'first'")
    database.user.write_text(database.name)
    database.password.write_text("first")
    node = await database.node()
    database.password.write_text("second")
    database.server.sql(f"ALTER ROLE {database.name} PASSWORD 'second'")
    database.server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'")
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)


async def test_a_password_file_that_is_missing_or_empty(database: Database, tmp_path: Path) -> None:
    missing = database.config(log_engine_password_file=str(tmp_path / "missing"))
    await refusal(missing, "log.engine.password.file", "No such file", "write the password into it", may_pass=False)
    database.user.write_text("\n")
    await refusal(database.config(), "log.engine.user.file", "is empty", may_pass=False)


async def test_no_such_database(database: Database) -> None:
    config = database.config()
    wrong = Config(**{**vars_of(config), "log_engine": config.log_engine + "x"})
    await refusal(wrong, "does not exist", "CREATE DATABASE", may_pass=False)


def vars_of(config: Config) -> dict[str, object]:
    names = ("log_engine_user_file", "log_engine_password_file", "log_engine_require_sync", "cluster_id")
    return {name: getattr(config, name) for name in names}


async def test_a_host_that_does_not_answer(database: Database) -> None:
    (port,) = free_ports(1)
    await refusal(database.config(port), f"127.0.0.1:{port}", "cannot be reached", "start it", may_pass=True)


async def test_a_host_that_accepts_and_says_nothing(database: Database) -> None:
    proxy = await database.proxy()
    proxy.drops_answers = True
    config = database.config(proxy.port, log_engine_timeout_ms=300)
    await refusal(config, "cannot be reached", "no answer in time", may_pass=True)


async def test_a_silent_host_delays_nothing_where_another_one_answers(database: Database) -> None:
    proxy = await database.proxy()
    proxy.drops_answers = True
    node = await database.node(database.config(proxy.port, database.server.port, log_engine_timeout_ms=60_000))
    await node.fill(await node.store.claim(0, 0), 1)
    assert proxy.connections > 0


@pytest.mark.parametrize(
    "query",
    ["?sslmode=perhaps", "?target_session_attrs=best", "?broken", "?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"],
)
async def test_an_address_with_a_wrong_option(database: Database, query: str) -> None:
    await refusal(database.config(query=query), "log.engine", may_pass=False)


async def test_a_user_without_the_right_to_create_the_schema(database: Database) -> None:
    database.server.sql(f"CREATE ROLE {database.name} LOGIN PASSWORD '{PASSWORD}'")
    database.user.write_text(database.name)
    await refusal(database.config(), "permission denied", "GRANT", may_pass=False)
    database.server.sql(f"CREATE SCHEMA kgc_test AUTHORIZATION {database.name}", database.name)
    node = await database.node()
    await node.fill(await node.store.claim(0, 0), 1)


async def test_a_user_without_the_right_to_use_the_tables(database: Database) -> None:
    await database.node()
    database.server.sql(f"CREATE ROLE {database.name} LOGIN PASSWORD '{PASSWORD}'")
    database.user.write_text(database.name)
    await refusal(database.config(), "permission denied", "GRANT", may_pass=False)


async def test_a_database_without_a_synchronous_standby(database: Database) -> None:
    config = database.config(log_engine_require_sync=True)
    await refusal(
        config, "no synchronous standby", "synchronous_standby_names", "log.engine.require.sync=false", may_pass=False
    )


async def test_a_user_that_cannot_see_the_standbys(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    primary.sql(f"CREATE ROLE plain LOGIN PASSWORD '{PASSWORD}'")
    primary.sql(f"GRANT CREATE ON DATABASE {database.name} TO plain")
    database.user.write_text("plain")
    config = database.config(log_engine_require_sync=True)
    await refusal(config, "cannot see", "GRANT pg_read_all_stats", may_pass=False)
    primary.sql("GRANT pg_read_all_stats TO plain")
    node = await database.node(config)
    await node.fill(await node.store.claim(0, 0), 1)
    await database.close()


async def test_a_standby_that_is_away_and_one_that_is_no_primary(
    primary: PostgresServer, standby: PostgresServer, tmp_path: Path
) -> None:
    database = Database(primary, tmp_path)
    names = "SELECT string_agg(datname, ',') FROM pg_database"
    eventually(lambda: database.name in standby.sql(names), "the standby has the database")
    anything = database.config(standby.port, query="?target_session_attrs=any")
    await refusal(anything, "is a standby", "target_session_attrs=read-write", may_pass=True)
    await refusal(database.config(standby.port), "no host is a primary", "promote", may_pass=True)
    await database.unannounced()
    standby.stop()
    eventually(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication") == "0", "the standby has gone")
    config = database.config(log_engine_require_sync=True)
    await refusal(config, "no synchronous standby is connected", "start it", may_pass=True)
    await database.close()


async def test_a_database_that_takes_no_writes_any_more(database: Database) -> None:
    node = await database.node()
    claim = await node.store.claim(0, 0)
    await node.fill(claim, 1)
    database.server.sql(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    database.server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'")
    outcome = await node.append(claim, entry(1))
    if not isinstance(outcome, AppendFailed):  # the end of the connection was not noticed before
        outcome = await node.append(claim, entry(1))
    assert isinstance(outcome, AppendFailed)
    assert "no host is a primary that takes writes" in str(outcome.error)
    database.server.sql(f"ALTER DATABASE {database.name} SET default_transaction_read_only = off")


async def test_synchronous_commit_is_on_whatever_the_database_says(database: Database) -> None:
    database.server.sql(f"ALTER DATABASE {database.name} SET synchronous_commit = off")
    node = await database.node(database.config(query="?synchronous_commit=off"))
    await node.fill(await node.store.claim(0, 0), 1)
    for session in (node.store._appends, node.store.work, node.directory._session):  # type: ignore[attr-defined]
        assert (await session.fetch("SHOW synchronous_commit"))[0][0] == "on"

"""One server for all tests of the engine; each test has a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.engine.postgres.database import Database
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer.new()
    yield server
    server.close()


@pytest.fixture(scope="session")
def shared_name(server: PostgresServer) -> str:
    """The name of a database for tests that need no more than a cluster of their own."""
    return server.new_database()


@pytest.fixture
async def database(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(server, tmp_path)
    yield database
    await database.close()


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    """A server of the test's own, which it may kill."""
    server = PostgresServer.new()
    yield server
    server.close()


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """The synchronous standby of `primary`."""
    server = primary.new_standby()
    yield server
    server.close()

"""The link of one node to PostgreSQL, broken in each way, and the same link after the primary was replaced."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.ha.engines import Postgres
from tests.ha.proxy import EngineProxy, Way
from tests.support.postgres import PASSWORD, SUPERUSER

pytestmark = pytest.mark.integration
SOON_S = 1.0  # no answer comes in this time where none can come


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Postgres]:
    engine = Postgres(tmp_path)
    engine.start()
    yield engine
    engine.stop()


@contextlib.asynccontextmanager
async def links(engine: Postgres) -> AsyncIterator[list[EngineProxy]]:
    proxies = [EngineProxy(*target) for target in engine.targets]
    for proxy in proxies:
        await proxy.start()
    try:
        yield proxies
    finally:
        for proxy in proxies:
            await proxy.close()


async def connect(proxies: list[EngineProxy]) -> asyncpg.Connection:
    return await asyncpg.connect(
        host=["127.0.0.1"] * len(proxies),
        port=[proxy.port for proxy in proxies],
        user=SUPERUSER,
        password=PASSWORD,
        database=SUPERUSER,
        target_session_attrs="read-write",
        timeout=20,
        ssl=False,
    )


async def test_a_link_is_broken_and_healed_and_follows_the_primary(engine: Postgres) -> None:
    async with links(engine) as proxies:
        connection = await connect(proxies)
        await connection.execute("CREATE TABLE seen (way text)")
        await connection.close()
        for way in Way:
            connection = await connect(proxies)
            try:
                await broken(connection, proxies, way)
            finally:
                connection.terminate()
        await asyncio.to_thread(engine.fail_over, 0.1)
        for proxy, target in zip(proxies, engine.targets, strict=True):
            proxy.aim(*target)
        connection = await connect(proxies)
        rows = await connection.fetch("SELECT way FROM seen ORDER BY way")
        await connection.close()
    assert [row["way"] for row in rows] == [Way.ANSWERLESS.name]  # the one way in which a request arrives


async def broken(connection: asyncpg.Connection, proxies: list[EngineProxy], way: Way) -> None:
    """Try to insert over a broken link; the client must not be told that it worked, and the link must heal."""
    for proxy in proxies:
        proxy.break_off(way)
    with pytest.raises((TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
        await asyncio.wait_for(connection.execute(f"INSERT INTO seen VALUES ('{way.name}')"), SOON_S)
    for proxy in proxies:
        proxy.heal()
    again = await connect(proxies)
    await again.close()

"""The rules of every store and directory, kept by the one on PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from coordinator.engine.postgres.directory import DOCUMENT_BY
from coordinator.membership.directory import ExpiredError, NodeDirectory
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.log_store import LogStore
from tests.engine.postgres.database import MARKER, Database
from tests.support.log_store_kit import ClaimRaceRules, DirectoryRules, LogStoreRules, StoreWorld
from tests.support.postgres import PostgresServer
from tests.support.shared_documents_kit import SharedDocumentsRules
from tests.support.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

LEASE_MS = 600_000
NUMBERS = itertools.count(1)


class PostgresWorld(StoreWorld):
    """A database that each node reaches through a proxy of its own."""

    loses_outcomes = True

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._proxies: dict[int, TcpProxy] = {}
        self._now_s = 0.0

    async def open(self, node_id: int) -> tuple[LogStore, NodeDirectory | None, SharedDocuments | None]:
        if node_id not in self._proxies:
            self._proxies[node_id] = await self._database.proxy()
        config = self._database.config(self._proxies[node_id].port, cluster_lease_ms=LEASE_MS)
        opened = await self._database.unannounced(config, node_id, clock=lambda: self._now_s)
        return opened.store, opened.directory, opened.documents

    async def silence(self, node_id: int) -> None:
        """Let time pass for the clocks of the nodes and of the database."""
        await self._renew_all_but(node_id)
        self._now_s += LEASE_MS / 1000
        await self._renew_all_but(node_id)
        self._database.sql(f"UPDATE node SET seen = seen - interval '{LEASE_MS} ms' WHERE id = {node_id}")

    async def _renew_all_but(self, node_id: int) -> None:
        for node in self.opened:
            if node.id != node_id:
                with suppress(ExpiredError):
                    await node.directory.renew()

    async def lose_next_outcome(self, node_id: int, *, applied: bool) -> None:
        self._proxies[node_id].cut_at(MARKER, applied=applied)

    async def lose_next_change(self, node_id: int, name: str, text: str, *, applied: bool) -> None:
        self._proxies[node_id].cut_at(f"{DOCUMENT_BY}{node_id}".encode(), applied=applied)


@pytest.fixture
async def world(server: PostgresServer, shared_name: str, tmp_path: Path) -> AsyncIterator[PostgresWorld]:
    database = Database(server, tmp_path, name=shared_name, cluster_id=f"kit{next(NUMBERS)}")
    world = PostgresWorld(database)
    yield world
    await world.close()
    await database.close()


class TestPostgresStore(LogStoreRules):
    pass


class TestPostgresRaces(ClaimRaceRules):
    pass


class TestPostgresDirectory(DirectoryRules):
    pass


class TestPostgresDocuments(SharedDocumentsRules):
    pass

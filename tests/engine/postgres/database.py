"""A database for a test, and the nodes that use it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from coordinator.config.config import Config
from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import ClusterMap
from coordinator.engine.postgres.opening import open_postgres
from coordinator.membership.directory import NodeDirectory
from coordinator.storage.documents.shared import SharedDocuments
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import AppendDurable, AppendOutcome, AppendUnknown, Claim, LogStore
from tests.support.log_store_kit import entry
from tests.support.postgres import PASSWORD, SUPERUSER, PostgresServer
from tests.support.tcp_proxy import TcpProxy

MARKER = b"orders"  # the topic in the batches of `entry`


@dataclass
class DatabaseNode:
    """A node that has opened the database."""

    id: int
    store: LogStore
    directory: NodeDirectory
    documents: SharedDocuments
    incarnation: str = ""

    async def announce(self) -> None:
        self.incarnation = f"run-{next(_runs)}-of-{self.id}"
        await self.directory.announce(ClusterNode(self.id, "127.0.0.1", 9000 + self.id), self.incarnation)

    async def append(self, claim: Claim, *entries: Entry) -> AppendOutcome:
        (outcome,) = await self.store.append([(claim, entries)])
        return outcome

    async def resolved(self, claim: Claim, *entries: Entry) -> AppendOutcome:
        """Resolve an unknown outcome, as soon as that is possible."""
        for _ in range(1000):
            outcome = await self.store.resolve(claim, entries)
            if not isinstance(outcome, AppendUnknown):
                return outcome
            await asyncio.sleep(0.02)
        return outcome

    async def fill(self, claim: Claim, count: int, base_offset: int = 0) -> None:
        """Append batches of one record, each acknowledged."""
        for offset in range(base_offset, base_offset + count):
            assert await self.append(claim, entry(offset)) == AppendDurable(offset + 1)

    async def read(self, partition: int, from_offset: int = 0, chunk_bytes: int = 8 << 20) -> bytes:
        return b"".join([chunk async for chunk in self.store.batches(partition, from_offset, chunk_bytes)])

    async def map(self) -> ClusterMap:
        return await self.directory.renew()

    async def close(self) -> None:
        await self.documents.close()
        await self.store.close()
        await self.directory.close()


_runs = itertools.count(1)


class Database:
    """A cluster in a database of a server, by default in a new one."""

    def __init__(
        self, server: PostgresServer, files: Path, *, name: str | None = None, cluster_id: str = "test"
    ) -> None:
        self.server = server
        self.name = name or server.new_database()
        self.cluster_id = cluster_id
        self.user = self._file(files / "user", SUPERUSER)
        self.password = self._file(files / "password", PASSWORD)
        self.proxies: list[TcpProxy] = []
        self.opened: list[DatabaseNode] = []
        self._ids = itertools.count(1)

    @staticmethod
    def _file(path: Path, text: str) -> Path:
        path.write_text(text + "\n")
        return path

    def config(self, *ports: int, query: str = "", **changes: Any) -> Config:
        """Return the settings of a node that connects to `ports`, by default to the server's own."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports or (self.server.port,))
        return Config(
            **{
                "cluster_id": self.cluster_id,
                "log_engine": f"postgresql://{hosts}/{self.name}{query}",
                "log_engine_user_file": str(self.user),
                "log_engine_password_file": str(self.password),
                "log_engine_require_sync": False,
                "cluster_lease_ms": 10_000,
                **changes,
            }
        )

    async def proxy(self) -> TcpProxy:
        proxy = await TcpProxy("127.0.0.1", self.server.port).start()
        self.proxies.append(proxy)
        return proxy

    async def unannounced(
        self,
        config: Config | None = None,
        node_id: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> DatabaseNode:
        number = next(self._ids) if node_id is None else node_id
        engine = await open_postgres(config or self.config(), number, clock=clock)
        node = DatabaseNode(number, *engine)
        self.opened.append(node)
        return node

    async def node(self, config: Config | None = None, node_id: int | None = None) -> DatabaseNode:
        node = await self.unannounced(config, node_id)
        await node.announce()
        return node

    async def connect(self) -> asyncpg.Connection:
        """Connect as the superuser, beside the nodes."""
        return await asyncpg.connect(
            host="127.0.0.1", port=self.server.port, user=SUPERUSER, password=PASSWORD, database=self.name,
            server_settings={"search_path": f"kgc_{self.cluster_id}"},
        )  # fmt: skip

    def sql(self, command: str) -> str:
        return self.server.sql(f"SET search_path = kgc_{self.cluster_id}; {command}", self.name)

    async def close(self) -> None:
        for node in self.opened:
            await node.close()
        for proxy in self.proxies:
            await proxy.close()

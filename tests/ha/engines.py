"""The engines of a run: a PostgreSQL pair, a Kafka of three brokers, or no engine, which is the files of each node."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tests.support.kafka_cluster import KafkaCluster
from tests.support.postgres import PASSWORD, SUPERUSER, PostgresServer

Address = tuple[str, int]
SCHEMA = "kgc_ha"  # of the cluster id of `tests.ha.nodes`
LIVE = ("cluster.rebalance.delay.ms=2000",)  # planned moves happen within a pause


class SharedEngine(Protocol):
    """An engine that runs in processes of its own. Addresses are those that a node must reach."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def targets(self) -> list[Address]:
        """The addresses of its servers that stand behind proxies, in a fixed order; empty if there cannot be any."""

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        """Return the settings of a node that reaches the targets by `ways`; `ports` are those of all nodes."""

    def fail_over(self, seconds: float) -> None:
        """Kill the server that matters most, wait, and let another one take its place."""

    def lose_standby(self, seconds: float) -> None:
        """Kill the server that each commit waits for, and start it again after so many seconds."""

    def fill_disk(self, seconds: float) -> None:
        """Leave no room on the disk of the server that matters most, for so many seconds."""


class Files:
    """No engine: each node has its own groups and keeps their offsets on its disk."""

    targets: list[Address] = []  # noqa: RUF012 - never changed

    def start(self) -> None:
        """There is nothing to start."""

    def stop(self) -> None:
        """There is nothing to stop."""

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        nodes = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports[:-1], 1))
        return [f"cluster.nodes={nodes}"]

    def fail_over(self, seconds: float) -> None:
        raise NotImplementedError

    lose_standby = fill_disk = fail_over


class Postgres:
    """A primary and a synchronous standby. The one that was promoted gets a new standby."""

    def __init__(self, directory: Path, *, disk_bytes: int = 0) -> None:
        self._disk_bytes = disk_bytes  # of each server; 0: as large as that of the machine
        self._directory = directory
        self._servers: list[PostgresServer] = []
        self._primary = 0
        self._database = ""

    def start(self) -> None:
        primary = PostgresServer.new(disk_bytes=self._disk_bytes)
        self._servers.append(primary)
        self._servers.append(primary.new_standby())
        self.new_database()
        for name, text in (("user", SUPERUSER), ("password", PASSWORD)):
            path = self._directory / name
            path.write_text(text)
            path.chmod(0o600)

    def new_database(self) -> None:
        """Let nodes that start from now on use a new, empty database."""
        self._database = self._servers[self._primary].new_database()

    def stop(self) -> None:
        for server in self._servers:
            server.close()

    @property
    def targets(self) -> list[Address]:
        return [("127.0.0.1", server.port) for server in self._servers]

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        hosts = ",".join(f"{host}:{port}" for host, port in ways)
        return [
            f"log.engine=postgresql://{hosts}/{self._database}?target_session_attrs=read-write",
            f"log.engine.user.file={self._directory / 'user'}",
            f"log.engine.password.file={self._directory / 'password'}",
            "log.engine.require.sync=true",
            *LIVE,
        ]

    def fail_over(self, seconds: float) -> None:
        dead, self._primary = self._primary, 1 - self._primary
        self._servers[dead].kill()
        time.sleep(seconds)
        self._servers[self._primary].promote()
        replaced, self._servers[dead] = self._servers[dead], self._servers[self._primary].new_standby()
        replaced.close()

    def lose_standby(self, seconds: float) -> None:
        standby = self._servers[1 - self._primary]
        standby.kill()
        time.sleep(seconds)
        standby.start()

    def fill_disk(self, seconds: float) -> None:
        """Fill the disk of the primary. One that has ended meanwhile is started when there is room."""
        primary = self._servers[self._primary]
        assert primary.disk is not None, "the engine has no disk of its own"
        primary.disk.fill()
        time.sleep(seconds)
        primary.disk.make_room()
        if not primary.is_running:
            primary.start()

    def lose_last_batch(self, partition: int) -> None:
        """Delete the newest batch of a partition, and end all connections of nodes."""
        primary = self._servers[self._primary]
        log = f"{SCHEMA}.log"
        newest = f"SELECT max(base) FROM {log} WHERE p = {partition}"
        primary.sql(f"DELETE FROM {log} WHERE p = {partition} AND base = ({newest})", self._database)
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        primary.sql(f"{ended} WHERE datname = '{self._database}' AND pid <> pg_backend_pid()")


class KafkaTopic:
    """A topic of a Kafka cluster. Its brokers tell their own addresses, so no proxy can stand before them."""

    targets: list[Address] = []  # noqa: RUF012 - never changed

    def __init__(self, directory: Path, *, is_brief: bool = True) -> None:
        self._cluster = KafkaCluster(directory, is_brief=is_brief)
        self._next = 0

    def start(self) -> None:
        self._cluster.__enter__()

    def stop(self) -> None:
        self._cluster.stop()

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        return [f"log.engine=kafka://{self._cluster.addresses}/kgc-offsets", *LIVE]

    def fail_over(self, seconds: float) -> None:
        """Kill one broker after the other, one in each call, and start it again."""
        brokers = list(self._cluster.brokers.values())
        broker = brokers[self._next % len(brokers)]
        self._next += 1
        broker.kill()
        time.sleep(seconds)
        broker.start()

    def lose_standby(self, seconds: float) -> None:
        raise NotImplementedError

    fill_disk = lose_standby

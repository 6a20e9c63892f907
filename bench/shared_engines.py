"""The engines that `bench-shared_store` and `bench-fail_over` measure: PostgreSQL with or without a standby, and Kafka.

They are those of `tests/ha`, with the memory and WAL size that PostgreSQL has by default, and JVMs that optimise. Their
files are below /tmp (PostgreSQL) and in the directory of the benchmark (Kafka). A synchronous standby and three brokers
on one machine cost no network and share its disk, so latencies are the least that the engine can do.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import pytest

from bench.findings import Findings, parser
from bench.measure import BenchError
from tests.conformance.kafka import KafkaFetchError, KafkaMissingError
from tests.ha.engines import LIVE, Address, KafkaTopic, Postgres, SharedEngine
from tests.support.postgres import PASSWORD, SUPERUSER, PostgresServer

ENGINES: Final = {"postgres": "PostgreSQL, synchronous standby", "kafka": "Kafka, three brokers"}
DEFAULTS: Final = {"shared_buffers": "128MB", "max_wal_size": "1GB"}  # tests use less


class BenchEngine(SharedEngine, Protocol):
    """An engine that can begin anew, empty."""

    def new_database(self) -> None: ...


class BenchPostgres(Postgres):
    """PostgreSQL, whose commits wait for a standby, or for nothing but its own disk."""

    def __init__(self, directory: Path, *, standby: bool = True) -> None:
        super().__init__(directory)
        self._has_standby = standby

    def start(self) -> None:
        primary = PostgresServer.new()
        self._servers.append(primary)
        for name, value in DEFAULTS.items():
            primary.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        primary.restart()
        if self._has_standby:
            self._servers.append(primary.new_standby())
        self.new_database()
        for name, text in (("user", SUPERUSER), ("password", PASSWORD)):
            path = self._directory / name
            path.write_text(text)
            path.chmod(0o600)

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        sync = f"log.engine.require.sync={str(self._has_standby).lower()}"
        return [
            sync if each.startswith("log.engine.require.sync=") else each for each in super().overrides(ways, ports)
        ]


class BenchKafka(KafkaTopic):
    """Kafka with three brokers; `new_database` takes another topic."""

    _number = 1

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, is_brief=False)

    def new_database(self) -> None:
        self._number += 1

    def overrides(self, ways: Sequence[Address], ports: Sequence[int]) -> list[str]:
        return [f"log.engine=kafka://{self._cluster.addresses}/kgc-{self._number}", *LIVE]


@contextmanager
def running(engine: BenchEngine) -> Iterator[BenchEngine]:
    """Start the engine and stop it. BenchError: its programs are not on this machine, or it does not start."""
    try:
        engine.start()
    except (pytest.skip.Exception, KafkaMissingError, KafkaFetchError, AssertionError) as problem:
        engine.stop()
        raise BenchError(str(problem)) from None
    try:
        yield engine
    finally:
        engine.stop()


def engine_parser(description: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark that measures one engine."""
    arguments = parser(description)
    arguments.add_argument("--engine", choices=ENGINES, default="postgres", help="default postgres")
    return arguments


def with_engine(
    name: str,
    title: str,
    args: argparse.Namespace,
    measure: Callable[[Findings, BenchEngine, argparse.Namespace], None],
) -> int:
    """Run a benchmark beside the engine that `args` names, and return the exit code."""
    args.work_dir.mkdir(parents=True, exist_ok=True)
    findings = Findings(name if args.engine == "postgres" else f"{name}_{args.engine}", title)
    findings.raw["engine"] = args.engine

    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=args.work_dir) as directory:
            made = BenchKafka(Path(directory)) if args.engine == "kafka" else BenchPostgres(Path(directory))
            with running(made) as engine:
                measure(findings, engine, args)

    findings.attempt("ours: the engine", run)
    return findings.finish(args)

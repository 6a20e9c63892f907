"""Servers and loads that `make bench` measures side by side.

A peer says how its server is started; a scenario says what load.c sends and to whom. On one core every server has the
same pinned core to itself and the load the other one; with all cores server and load share them, as the load does not
fit anywhere else. Rates of the open loop are ones that every server can serve on one core, and far from any limit of
the load.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import servers
from bench.measure import HERE, BenchError, all_cores
from bench.peers import kafka
from bench.servers import Running

TOPIC: Final = "bench"
GROUP_SIZE: Final = 10
MOST_PARTITIONS: Final = 10  # in one request
PARTITIONS: Final = GROUP_SIZE * MOST_PARTITIONS
REBALANCE_DELAY: Final = "group.initial.rebalance.delay.ms=300"  # Kafka, ours and the mock; kfake has none

Start = Callable[[str, Path, set[int]], AbstractContextManager[Running]]


@dataclass(frozen=True, slots=True)
class Peer:
    """One server of the comparison."""

    key: str
    label: str
    start: Start
    ours: bool = False
    is_jvm: bool = False  # is warmed up before anything is measured


@dataclass(frozen=True, slots=True)
class Scenario:
    """One load: closed loop with `in_flight` on every connection, or open loop with `rate` requests a second."""

    key: str
    what: str
    mode: str  # of load.c
    connections: int
    peers: tuple[str, ...]
    in_flight: int = 1
    partitions: int = 1
    rate: int = 0
    cores: str = "one"  # or "all"
    group_size: int = GROUP_SIZE
    quick: bool = True  # also with --quick

    @property
    def title(self) -> str:
        if self.rate:
            how = f"{self.rate:,} a second over {self.connections:,} connections"
        elif self.connections == 1:
            how = "one connection"
        else:
            how = f"{self.connections:,} connections, {self.in_flight} in flight"
        return f"{self.what}: {how}" + (", all cores" if self.cores == "all" else "")


def _ours(python: str, policy: str, workers: int = 1) -> Start:
    def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
        return servers.coordinator(
            directory,
            core,
            name=name,
            python=python,
            workers=workers,
            topics=[f"{TOPIC}:{PARTITIONS}"],
            overrides=[REBALANCE_DELAY, f"log.flush.policy={policy}"],
        )

    return start


def _kafka(settings: dict[str, str]) -> Start:
    def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
        return kafka.kafka(directory, core, name=name, topic=TOPIC, partitions=PARTITIONS, settings=settings)

    return start


def _in_memory(what: Callable[..., AbstractContextManager[Running]]) -> Start:
    return lambda name, directory, core: what(directory, core, name=name, topic=TOPIC, partitions=PARTITIONS)


def _echo(what: Callable[..., AbstractContextManager[Running]]) -> Start:
    return lambda name, directory, core: what(directory, core, name=name)


def peers(compiled_python: str | None) -> dict[str, Peer]:
    """All servers, by key. Those of the compiled build start only with the interpreter that has it."""
    workers = max(2, len(all_cores()))

    def compiled(policy: str, count: int = 1) -> Start:
        def start(name: str, directory: Path, core: set[int]) -> AbstractContextManager[Running]:
            if compiled_python is None:
                raise BenchError("name the interpreter that has the compiled build with --compiled-python PATH")
            return _ours(compiled_python, policy, count)(name, directory, core)

        return start

    listed = (
        Peer("ours", "ours, sync", _ours(sys.executable, "sync"), ours=True),
        Peer("ours-interval", "ours, interval", _ours(sys.executable, "interval"), ours=True),
        Peer("ours-workers", f"ours, sync, {workers} workers", _ours(sys.executable, "sync", workers), ours=True),
        Peer(
            "workers-interval",
            f"ours, interval, {workers} workers",
            _ours(sys.executable, "interval", workers),
            ours=True,
        ),
        Peer("compiled", "ours compiled, sync", compiled("sync"), ours=True),
        Peer("compiled-workers", f"ours compiled, sync, {workers} workers", compiled("sync", workers), ours=True),
        Peer("kafka", "Apache Kafka, default flush", _kafka({}), is_jvm=True),
        Peer("kafka-flush", "Apache Kafka, flush every message", _kafka(kafka.FLUSH_EVERY_MESSAGE), is_jvm=True),
        Peer("kfake", "kfake, in memory", _in_memory(servers.kfake)),
        Peer("mock", "librdkafka mock, in memory", _in_memory(servers.mock)),
        Peer("uvloop", "uvloop echo", _echo(servers.uvloop_echo)),
        Peer("c-echo", "C epoll echo", _echo(servers.c_echo)),
    )
    return {peer.key: peer for peer in listed}


def _version_of(python: str) -> str:
    """Return the output of `coordinator --version`: release and build, plain or compiled."""
    command = [python, "-m", "coordinator", "--version"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as problem:
        return f"unknown ({problem})"
    return done.stdout.strip().partition(" ")[2] or "unknown"


def versions(keys: Iterable[str], compiled_python: str | None) -> dict[str, str]:
    """Return the versions of the servers that tell them."""
    found = {"ours": _version_of(sys.executable)}
    if compiled_python and any(key.startswith("compiled") for key in keys):
        found["ours compiled"] = _version_of(compiled_python)
    with contextlib.suppress(BenchError):
        if any(key.startswith("kafka") for key in keys):
            found["Apache Kafka"] = kafka.version()
    if "kfake" in keys:
        lines = (HERE / "peers" / "kfake" / "go.mod").read_text().splitlines()
        found["franz-go kfake"] = next(line.split()[-1] for line in lines if line.startswith("require github.com"))
    if "mock" in keys:
        with contextlib.suppress(ImportError):
            import confluent_kafka

            found["librdkafka"] = confluent_kafka.libversion()[0]
    return found


ECHOES: Final = ("uvloop", "c-echo")
_ANSWERING: Final = ("ours", "compiled", "kafka", "kfake")
_WORKERS: Final = ("ours-workers",)  # on one core too: what sharing the work costs, without a load on the same cores
_DURABLE: Final = ("ours", "ours-interval", "compiled", "kafka", "kafka-flush", "kfake")
_CORES: Final = ("ours", "ours-workers", "compiled", "compiled-workers", "kafka", "kfake")
_CORES_DURABLE: Final = (
    "ours",
    "ours-workers",
    "workers-interval",
    "compiled",
    "compiled-workers",
    "kafka",
    "kafka-flush",
    "kfake",
)
HEARTBEATS, COMMITS, TEN, FETCHES = "heartbeat", "commit", "commit of 10 partitions", "OffsetFetch"
# Small groups on all cores: they hash to workers, and ten groups would seldom do so evenly.
# librdkafka's mock is left out where a thousand connections come: it loses those members that join late.
SCENARIOS: Final = (
    Scenario("heartbeat-p1", HEARTBEATS, "heartbeat", 1000, (*_ANSWERING, *_WORKERS, *ECHOES)),
    Scenario("heartbeat-p10", HEARTBEATS, "heartbeat", 100, (*_ANSWERING, *_WORKERS, "mock", *ECHOES), in_flight=10),
    Scenario("commit-p1", COMMITS, "commit", 1000, _DURABLE, quick=False),
    Scenario("commit-p10", COMMITS, "commit", 100, (*_DURABLE, *_WORKERS, "mock"), in_flight=10),
    Scenario("commit10-p10", TEN, "commit", 100, (*_DURABLE, "mock"), in_flight=10, partitions=10),
    Scenario("commit-one", COMMITS, "commit", 1, ("ours", "ours-interval", "compiled", "kafka", "kafka-flush")),
    Scenario("fetch-p10", FETCHES, "fetch", 100, (*_ANSWERING, "mock"), in_flight=10),
    Scenario("heartbeat-open", HEARTBEATS, "heartbeat", 100, (*_ANSWERING, "mock"), rate=10_000),
    Scenario("commit-open", COMMITS, "commit", 100, _DURABLE, rate=3_000),
    Scenario("heartbeat-p1-all", HEARTBEATS, "heartbeat", 1000, _CORES, cores="all", quick=False),
    Scenario("heartbeat-p10-all", HEARTBEATS, "heartbeat", 100, _CORES, in_flight=10, cores="all", group_size=2),
    Scenario("commit-p10-all", COMMITS, "commit", 100, _CORES_DURABLE, in_flight=10, cores="all", group_size=2),
)

"""The rows of the matrix of transactions: how each program is built, and what it is told and says.

A program gets five arguments: bootstrap, topic, transactional.id, transaction.timeout.ms, and how many milliseconds a
call may take where the library lets that be chosen. On stdin it is told, line by line, `init`, `begin`,
`send PARTITION VALUE`, `offsets GROUP OFFSET` (of partition 0), `commit` and `abort`. When the call of the library has
returned, it says `ok`, or `error` and the message of the library. The end of stdin ends it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tests.clients.matrix_programs import (
    HERE,
    JVM,
    OLDER_JAVA_CLIENTS,
    QUIET,
    built,
    go_compiler,
    jars,
    java_name,
    kafka_version,
    need,
    node_modules,
    run,
)

OFFSETS: Final = "offsets"
RESTART: Final = "restart"


class Program(NamedTuple):
    """A client that can be run. `without`: by scenario, why it does not go through it."""

    version: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})
    without: Mapping[str, str] = MappingProxyType({})


def java(release: str) -> Program:
    need("java")
    javac = need("javac")
    libraries = jars(release)
    source = HERE / "java" / "transactions" / "Transactions.java"

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), str(source)], cwd=fresh)

    classes = built("java-transactions", [source], compile_it, release)
    classpath = f"{classes}{os.pathsep}{libraries}/*"
    return Program(f"kafka-clients {release}", ("java", *JVM, *QUIET, "-cp", classpath, "Transactions"))


def go(name: str, folder: str, module: str, without: Mapping[str, str] = MappingProxyType({})) -> Program:
    source = HERE / "go"
    compiler = go_compiler(source)
    sources = [*(source / "transactions").rglob("*.go"), source / "go.mod", source / "go.sum"]

    def build(fresh: Path) -> None:
        run([compiler, "build", "-o", f"{fresh}/", "./transactions/franz", "./transactions/sarama"], source, attempts=2)

    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None
    command = (str(built("go-transactions", sources, build) / folder),)
    return Program(f"{name} {found[1]}", command, without=without)


def kafkajs() -> Program:
    node = need("node")
    modules, release = node_modules("kafkajs", "kafkajs")
    command = (node, str(HERE / "node" / "transactions.js"))
    return Program(f"kafkajs {release}", command, {"NODE_PATH": str(modules)})


def python(library: str) -> Program:
    command = (sys.executable, "-W", "ignore", "-m", "tests.clients.transactions_python", library)
    return Program(f"{library} {version(library)}", command)


def librdkafka() -> Program:
    import confluent_kafka

    found = python("confluent-kafka")
    return found._replace(version=f"{found.version} (librdkafka {confluent_kafka.libversion()[0]})")


SESSION_SENDS: Final = "its GroupTransactSession sends them; make exactly-once runs a loop of it"
PROGRAMS: Final[Mapping[str, Callable[[], Program]]] = {
    **{java_name(release): partial(java, release) for release in (kafka_version(), *OLDER_JAVA_CLIENTS)},
    "confluent-kafka": librdkafka,
    "aiokafka": lambda: python("aiokafka"),
    "kafka-python": lambda: python("kafka-python"),
    "kafkajs": kafkajs,
    "franz-go": lambda: go("franz-go", "franz", "github.com/twmb/franz-go", {OFFSETS: SESSION_SENDS}),
    "sarama": lambda: go("sarama", "sarama", "github.com/IBM/sarama"),
}

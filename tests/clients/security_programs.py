"""The rows of the security matrix: how each program is built, and what it reads and says.

A program gets one argument, a JSON object of strings: bootstrap, protocol, ca, certificate (a file with a key and its
certificate), mechanism, user, password, token (a file), topic, group, client_id, milliseconds, pause_ms, patience_ms.
What does not apply is empty. It works in rounds: it produces three records, reads them as the only member of the group,
and commits. After the first round it goes on for the milliseconds, with a pause before each. Its lines are JSON:
{"event": "round"} after each round, {"event": "log"} with a message that the library logs (Python), and at the end
{"event": "closed"}, or {"event": "error"} with the message of the library. It never tries again by itself. The patience
is for libraries that would try to connect for ever.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tests.clients.matrix_programs import (
    HERE,
    JVM,
    QUIET,
    built,
    go_compiler,
    jars,
    kafka_version,
    need,
    node_modules,
    run,
)

PASSWORD: Final = "wrong password"
TOKEN: Final = "expired token"
SERVER: Final = "expired server certificate"
CLIENT: Final = "expired client certificate"
AGAIN: Final = "log in again"


class Otherwise(NamedTuple):
    """The words of cells in which a library does not do what is best for its users, and the reason."""

    words: tuple[str, ...]
    reason: str


class Program(NamedTuple):
    """A client that can be run."""

    version: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})


def java() -> Program:
    need("java")
    javac = need("javac")
    folder = HERE / "java" / "security"
    release = kafka_version()
    libraries = jars(release, folder / "pom.xml", "security-jars")
    source = folder / "Security.java"

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), str(source)], cwd=fresh)

    classes = built("java-security", [source, folder / "pom.xml"], compile_it, release)
    classpath = f"{classes}{os.pathsep}{libraries}/*"
    return Program(f"kafka-clients {release}", ("java", *JVM, *QUIET, "-cp", classpath, "Security"))


def go(name: str, folder: str, module: str) -> Program:
    source = HERE / "go"
    compiler = go_compiler(source)
    sources = [*(source / "security").rglob("*.go"), source / "go.mod", source / "go.sum"]

    def build(fresh: Path) -> None:
        run([compiler, "build", "-o", f"{fresh}/", "./security/franz", "./security/sarama"], cwd=source, attempts=2)

    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None
    return Program(f"{name} {found[1]}", (str(built("go-security", sources, build) / folder),))


def kafkajs() -> Program:
    node = need("node")
    modules, release = node_modules("kafkajs", "kafkajs")
    command = (node, str(HERE / "node" / "security.js"))
    return Program(f"kafkajs {release}", command, {"NODE_PATH": str(modules)})


def python(library: str) -> Program:
    command = (sys.executable, "-W", "ignore", "-m", "tests.clients.security_python", library)
    return Program(f"{library} {version(library)}", command)


def librdkafka() -> Program:
    import confluent_kafka

    found = python("confluent-kafka")
    return found._replace(version=f"{found.version} (librdkafka {confluent_kafka.libversion()[0]})")


PROGRAMS: Final[Mapping[str, Callable[[], Program]]] = {
    "java": java,
    "confluent-kafka": librdkafka,
    "aiokafka": lambda: python("aiokafka"),
    "kafka-python": lambda: python("kafka-python"),
    "kafkajs": kafkajs,
    "franz-go": lambda: go("franz-go", "franz", "github.com/twmb/franz-go"),
    "sarama": lambda: go("sarama", "sarama", "github.com/IBM/sarama"),
}

ON_KAFKA: Final = "; the same happens on Apache Kafka 4.4.0"
TAKEN_FOR_SUCCESS: Final = (
    "the answer to a bad token is a challenge that has the reason (RFC 7628), and the library takes it for success; "
    f"its next request ends the connection{ON_KAFKA}"
)
TIMES_OUT: Final = (
    "it tries again until bootstrap_timeout_ms is over, and raises a KafkaTimeoutError without the reason"
)
DROPS_ANSWER: Final = (
    f"{TIMES_OUT}; its log has the reason, unless it reads the answer and the end of the connection at once, and drops "
    f"both{ON_KAFKA}"
)
NO_REASON: Final = "it raises a KafkaConnectionError without the reason"
OTHERWISE: Final[Mapping[tuple[str, str], Otherwise]] = {
    ("aiokafka", PASSWORD): Otherwise(("logged",), NO_REASON),
    ("aiokafka", TOKEN): Otherwise(("vague",), TAKEN_FOR_SUCCESS),
    ("aiokafka", SERVER): Otherwise(("logged",), NO_REASON),
    ("aiokafka", CLIENT): Otherwise(("vague",), f"{NO_REASON}, and its log says only that the connection was closed"),
    ("aiokafka", AGAIN): Otherwise(
        ("new",),
        "it does not log in again; its connections are closed at the first request after the end of a login, and it "
        f"sends that request again on a new one{ON_KAFKA}",
    ),
    ("kafka-python", PASSWORD): Otherwise(("logged", "vague"), DROPS_ANSWER),
    ("kafka-python", TOKEN): Otherwise(("logged", "vague"), DROPS_ANSWER),
    ("kafka-python", SERVER): Otherwise(("logged",), TIMES_OUT),
    ("kafka-python", CLIENT): Otherwise(("logged",), TIMES_OUT),
    ("kafkajs", TOKEN): Otherwise(("vague",), TAKEN_FOR_SUCCESS),
    ("franz-go", TOKEN): Otherwise(
        ("vague",), f"it gives up at the challenge that has the reason (RFC 7628), and does not show it{ON_KAFKA}"
    ),
}

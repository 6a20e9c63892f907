"""The rows of the matrix for the consumer protocol (KIP-848): the programs of matrix_programs.py, told to use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tests.clients.matrix_members import Program
from tests.clients.matrix_programs import (
    HERE,
    PROGRAMS,
    BrokenError,
    Missing,
    java_name,
    kafka_version,
    need,
    node_modules,
)

# Without a ready binary for this machine the package compiles librdkafka, and then with the libraries of the machine:
# its own way downloads their sources from several places.
WITH_LIBRARIES_OF_THE_MACHINE = {"CKJS_LINKING": "dynamic"}


def confluent_javascript() -> Program:
    """@confluentinc/kafka-javascript: librdkafka in Node."""
    node = need("node")
    package = "@confluentinc/kafka-javascript"
    try:
        modules, version = node_modules("confluent", package, WITH_LIBRARIES_OF_THE_MACHINE)
    except BrokenError as error:
        raise Missing(f"{package} has no binary for this machine, and could not be compiled: {error}") from None
    return Program(
        "confluent-javascript",
        f"{package} {version}",
        lambda options: [node, str(HERE / "node" / "confluent_member.js"), *options.as_arguments()],
        environment={"NODE_PATH": str(modules)},
    )


WITHOUT = {
    "franz-go": {
        "static": "its departure (member epoch -2) does not name the instance, so that the place is not free before "
        "the session ends; the same happens on Apache Kafka 4.4.0"
    },
    "confluent-javascript": {
        "fenced": "the second is refused and gets nothing, which its library writes to its log but does not tell the "
        "program; the same happens on Apache Kafka 4.4.0"
    },
}


def of_the_consumer_protocol(name: str, make: Callable[[], Program]) -> Program:
    return replace(make(), name=f"{name}-consumer", protocol="consumer", without=WITHOUT.get(name, {}))


CLIENTS: dict[str, Callable[[], Program]] = {
    java_name(kafka_version()): PROGRAMS[java_name(kafka_version())],
    "franz-go": PROGRAMS["franz-go"],
    "confluent-kafka": PROGRAMS["confluent-kafka"],
    "confluent-javascript": confluent_javascript,
}
CONSUMER_PROGRAMS: dict[str, Callable[[], Program]] = {
    f"{name}-consumer": partial(of_the_consumer_protocol, name, make) for name, make in CLIENTS.items()
}

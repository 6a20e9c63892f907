"""Settings: text in properties syntax and values of every key become a Config, or a ConfigError of one sentence."""

from __future__ import annotations

from random import Random
from typing import Final

from coordinator.config.config import keys
from coordinator.config.properties import PropertiesError, parse_properties
from coordinator.config.sources import load
from coordinator.config.values import ConfigError
from tests.fuzz.edits import edited

NAMES: Final = list(keys())
VALUES: Final = (
    *(
        "",
        "0",
        "1",
        "-1",
        "1e3",
        "true",
        "TRUE",
        "127.0.0.1:9092",
        ":9092",
        "[::1]:1",
        "PLAINTEXT://h:1",
        "1@h:1,2@h:2",
    ),
    *("orders:12,x", "off", "kgo*", "sarama", "9092,9093", "'", "a b", "\\u0041", "\\", "é", "٣", "9" * 25, "0.5", "²"),
)


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        for entry in parse_properties(text):
            assert entry.line >= 1
    except PropertiesError as error:
        assert str(error).startswith("line ")
    try:
        config = load(text)
    except ConfigError as error:
        assert str(error)
        return
    assert config.listen_address.port < 65536
    assert config.node_addresses is not None and config.worker_ports_of("PLAINTEXT") is not None
    assert config.preloaded_topics is not None and config.http_address is not ...


def seeds() -> list[bytes]:
    return [f"{name}={keys()[name].default}\n".encode() for name in NAMES[::3]] + [
        b"# comment\n! comment\na\\ b : c\\\n  d\n",
        b"group.max.size 7",
        b"log.retention.hours=1\nlog.retention.ms=5",
    ]


def mutate(data: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 1, 2, 3))):
        name = chance.choice(NAMES)
        value = chance.choice((*VALUES, str(keys()[name].default)))
        lines.insert(chance.randrange(len(lines) + 1), f"{name}{chance.choice('=: ')}{value}".encode())
    made = b"\n".join(lines[-6:])
    return made if chance.random() < 0.6 else edited(made, chance)

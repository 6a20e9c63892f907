"""Parsers for settings that are more than a number or a word: addresses, nodes, ports, topics, a command, a directory.

A text that cannot be parsed raises `ConfigError` with one sentence that says what to write. `config.py` adds the name
of the setting to it, and `sources.py` the place.
"""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple
from urllib.parse import urlsplit

MAX_NODE_ID: Final = 2**23 - 2  # in cluster.nodes; each node has its own range of producer ids (core/cluster.py)
OFF: Final = "off"
ALL_INTERFACES: Final = ("0.0.0.0", "::")
FILES: Final = "files"
ENGINES: Final = ("postgresql", "postgres", "kafka")
_ENGINE_SHAPES: Final = "postgresql://host:5432/database or kafka://host:9092/topic"
# A password in the address of a store. It may have characters that end the host for urlsplit, such as / # and ?.
_PASSWORD: Final = re.compile(r":.*@|password\s*=", re.DOTALL | re.IGNORECASE)
# Clients that must not be parked, under the names that they send or have as client id. An entry that includes one of
# them, as a lone * does, is refused.
HARMED_BY_PARKING: Final = {
    "sarama": "stops consuming",
    "kafkajs": "stops consuming",
    "kafka-go": "loses its connection",
}

_LEGAL_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class ConfigError(ValueError):
    """A setting that cannot be used. The message is one sentence that says what to do."""


GROUP_PROTOCOLS: Final = frozenset({"classic", "consumer", "share", "streams"})  # Kafka's; the last two are not served


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Return True for a host that only programs on the same machine reach."""
    if host.lower() == "localhost":
        return True
    from ipaddress import ip_address  # late, because few daemons ask

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def parse_address(text: str) -> Address:
    """Parse `host:port`, `[v6 address]:port`, `:port` (all interfaces) or Kafka's `PLAINTEXT://host:port`."""
    scheme, separator, rest = text.strip().rpartition("://")
    if separator and scheme.upper() != "PLAINTEXT":
        raise ConfigError(f"{text!r} asks for the protocol {scheme}, but only PLAINTEXT is served; write host:port")
    host, separator, port = rest.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not separator or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535 or (":" in host and not bracketed):
        raise ConfigError(f"{text!r} is not an address; write host:port, for example 127.0.0.1:9092")
    return Address(host[1:-1] if bracketed else host or "0.0.0.0", int(port))


def parse_topics(text: str, default_partitions: int = 1) -> dict[str, int]:
    """Parse `orders:12,payments:3` into a dict from topic to number of partitions; the number may be left out."""
    topics: dict[str, int] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        name, separator, count = entry.rpartition(":")
        if not separator:
            name, count = entry, ""
        if name in topics:
            raise ConfigError(f"the topic {name!r} is named twice; give each topic once")
        if not _LEGAL_TOPIC.fullmatch(name) or name in (".", ".."):
            raise ConfigError(
                f"{name!r} is not a topic name; use up to 249 letters, digits, dots, dashes and underscores, "
                "as in orders:12"
            )
        if not count and not separator:
            topics[name] = default_partitions
            continue
        if not re.fullmatch("[0-9]{1,9}", count) or int(count) < 1:
            raise ConfigError(f"{entry!r} must give a number of partitions of at least 1, as in orders:12")
        topics[name] = int(count)
    return topics


def parse_nodes(text: str) -> dict[int, Address]:
    """Parse `1@host:port,2@host:port` into a dict from node id to address, in ascending order of the ids."""
    nodes: dict[int, Address] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        number, separator, where = entry.partition("@")
        if not separator or not re.fullmatch("[0-9]{1,9}", number) or int(number) > MAX_NODE_ID:
            raise ConfigError(f"{entry!r} must be a node id of 0 to {MAX_NODE_ID} and an address, as in 1@host:9092")
        address = parse_address(where)
        if address.host in ALL_INTERFACES or not address.port:
            raise ConfigError(f"{entry!r} has no address that others can connect to; write a host and a port")
        if int(number) in nodes or address in nodes.values():
            raise ConfigError(f"{entry!r} repeats an id or an address of another entry; each node has its own")
        nodes[int(number)] = address
    return dict(sorted(nodes.items()))


class Names(NamedTuple):
    """Names, and beginnings of names."""

    exact: frozenset[str]
    prefixes: tuple[str, ...]

    def include(self, name: str) -> bool:
        return name in self.exact or (bool(name) and name.startswith(self.prefixes))


def parse_parked_clients(text: str) -> Names:
    """Parse `kgo, confluent-kafka-*`. Refused is what includes a client that stops consuming meanwhile."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    for entry in entries:
        stem = entry.removesuffix("*")
        if "*" in stem:
            raise ConfigError(f"{entry!r} has a * before its end; write a name, or its beginning and a *, as in kgo*")
        names = Names(frozenset([entry]), (stem,) if entry.endswith("*") else ())
        for name, effect in HARMED_BY_PARKING.items():
            if names.include(name):
                raise ConfigError(
                    f"{entry!r} includes {name}, which {effect} while a heartbeat is parked; name only clients that "
                    "docs/parked-heartbeats.md calls safe"
                )
    prefixes = tuple(entry.removesuffix("*") for entry in entries if entry.endswith("*"))
    return Names(frozenset(entry for entry in entries if not entry.endswith("*")), prefixes)


def parse_ports(text: str) -> list[int]:
    """Parse `9092,9192` into a list of numbers."""
    entries = list(filter(None, (entry.strip() for entry in text.split(","))))
    if any(not re.fullmatch("[0-9]{1,5}", entry) or not 0 < int(entry) < 65536 for entry in entries):
        raise ConfigError(f"{text!r} must be ports from 1 to 65535 with commas between, as in 9092,9192")
    if len(set(map(int, entries))) != len(entries):
        raise ConfigError(f"{text!r} has a port twice; each worker has its own")
    return [int(entry) for entry in entries]


def parse_names(text: str) -> list[str]:
    """Return the names of a list in their order. Raises ConfigError if there is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError("name at least one")
    return list(dict.fromkeys(names))


def check_protocols(text: str) -> None:
    names = parse_names(text)
    if "classic" not in names or not set(names) <= GROUP_PROTOCOLS:
        raise ConfigError(f"{text!r} must be a list of {', '.join(sorted(GROUP_PROTOCOLS))}, with classic among them")


def check_otlp_endpoint(text: str) -> None:
    if text and not re.fullmatch(r"https?://[^/\s@]+(/\S*)?", text):
        raise ConfigError(f"{text!r} must be a URL as http://collector:4318/v1/metrics, without a password")


def check_http(text: str) -> None:
    if text.lower() not in ("", OFF):
        parse_address(text)


def check_engine(text: str) -> None:
    """Raise ConfigError unless the text is `files` or the address of a store, without a password.

    The error quotes at most the scheme: anything else may be a part of a password.
    """
    if text == FILES:
        return
    if _PASSWORD.search(text.split("://", 1)[-1]):
        raise ConfigError(
            "it holds a password; write that into a file, and name the file by log.engine.password.file (if it holds "
            "none, write its @ as %40)"
        )
    try:
        parts = urlsplit(text)
    except ValueError:  # its message has the text
        raise ConfigError(f"it is not the address of a store; write {FILES}, or {_ENGINE_SHAPES}") from None
    if parts.scheme not in ENGINES or not parts.netloc:
        shown = repr(parts.scheme[:40]) if "://" in text and parts.scheme else "it"
        raise ConfigError(f"{shown} is not a store; write {FILES}, or {_ENGINE_SHAPES}")


def check_command(text: str) -> None:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} cannot be split into words ({error}); write it as in a shell") from None
    if text and not words:
        raise ConfigError(f"{text!r} names no program; leave it empty for the built-in command")


def check_data_dir(text: str) -> None:
    if not text or "," in text:
        raise ConfigError(f"{text!r} must be exactly one directory; the coordinator keeps all its data in one")

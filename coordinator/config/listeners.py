"""The listeners: names, security protocols, and the addresses that are bound and advertised.

An entry of `listeners` is host:port, which is named PLAINTEXT, or NAME://host:port. `listener.security.protocol.map`
gives the protocol of each name. Entries named CONTROLLER are ignored, because no controller listens here. Source:
Kafka's `SocketServerConfigs` and `AbstractKafkaConfig.validateValues`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from coordinator.config.values import ALL_INTERFACES, Address, ConfigError, parse_address

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
HTTP: Final = "HTTP"  # of http.listen, for settings of TLS
OWN_NAMES: Final = ",".join(f"{name}:{name}" for name in PROTOCOLS)
_IGNORED: Final = "CONTROLLER"


class Endpoint(NamedTuple):
    """One listener (Kafka's class of this name): its address, and how its clients are protected and recognised."""

    name: str
    protocol: str
    address: Address

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")


def parse_listeners(text: str) -> dict[str, Address]:
    """Parse `host:port` or `NAME://host:port,...` into a dict from name to address, in the order written."""
    found: dict[str, Address] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        scheme, separator, rest = entry.rpartition("://")
        name = scheme.upper() if separator else PLAINTEXT
        if name == _IGNORED:
            continue
        address = parse_address(rest)
        if name in found:
            raise ConfigError(f"{entry!r} is a second listener named {name}; give each a name of its own")
        if address.port and address in found.values():
            raise ConfigError(f"{entry!r} repeats the address of another listener; give each a port of its own")
        found[name] = address
    return found


def check_listeners(text: str) -> None:
    if not parse_listeners(text):
        raise ConfigError(f"{text!r} names no listener; write host:port, for example 127.0.0.1:9092")


def check_advertised(text: str) -> None:
    for address in parse_listeners(text).values():
        if address.host in ALL_INTERFACES:
            raise ConfigError(
                f"{text!r} is no address that a client can connect to; advertise a host name or an IP address"
            )


def parse_protocol_map(text: str) -> dict[str, str]:
    """Parse `NAME:PROTOCOL,...` into a dict from the name of a listener to its security protocol."""
    protocols: dict[str, str] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        name, _, protocol = entry.partition(":")
        if protocol.upper() not in PROTOCOLS:
            raise ConfigError(f"{entry!r} must be a listener and one of {', '.join(PROTOCOLS)}, as in EXTERNAL:SSL")
        protocols[name.upper()] = protocol.upper()
    return protocols


def listeners_of(listeners: str, protocol_map: str) -> tuple[Endpoint, ...]:
    """Return the listeners of these two settings. Raises ConfigError if a name has no protocol."""
    protocols = parse_protocol_map(protocol_map)
    found = parse_listeners(listeners)
    for name in found:
        if name not in protocols:
            raise ConfigError(
                f"the listener {name} has no security protocol; add it to listener.security.protocol.map, as in "
                f"{name}:SASL_SSL"
            )
    return tuple(Endpoint(name, protocols[name], address) for name, address in found.items())

"""Hosts of access rules: `*`, an address, or a range of addresses as 10.0.0.0/8.

A rule with an address is for the client whose address Java writes in the same way, with IPv6 in full:
0:0:0:0:0:0:0:1. Source: Java's `InetAddress.getHostAddress`, Kafka's `CidrUtils`, and for the texts `SubnetUtils` of
Apache Commons Net.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

_IPV4_RANGE: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+")
_MAX_INTEGER: Final = (1 << 31) - 1


class AddressRange(NamedTuple):
    """The addresses whose first bits are equal."""

    version: int
    first_bits: int
    other_bits: int  # the number of bits behind them

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        return address.version == self.version and int(address) >> self.other_bits == self.first_bits


@lru_cache(maxsize=1024)
def host_of(address: str) -> str:
    """Return an address as Java writes it; any other text as it is."""
    found = parse_address(address)
    if not isinstance(found, IPv6Address):
        return address if found is None else str(found)
    groups = ":".join(f"{int(found) >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    return groups if found.scope_id is None else f"{groups}%{found.scope_id}"


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address of a client; None if there is none. An IPv4 address in IPv6 form is IPv4, as in Java."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def parse_range(text: str) -> AddressRange:
    """Return the range that a host with a slash stands for. Raises ValueError with Kafka's text."""
    return _parse_ipv6_range(text) if ":" in text else _parse_ipv4_range(text)


def _parse_ipv4_range(text: str) -> AddressRange:
    found = _IPV4_RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"Could not parse [{text}]")
    *octets, prefix = map(int, found.groups())
    for value, most in ((octets[0], 255), (octets[1], 255), (octets[2], 255), (octets[3], 255), (prefix, 32)):
        if value > most:
            raise ValueError(f"Value [{value}] not in range [0,{most}]")
    return AddressRange(4, int.from_bytes(octets, "big") >> 32 - prefix, 32 - prefix)


def _parse_ipv6_range(text: str) -> AddressRange:
    name, _, number = text.partition("/")
    if _INTEGER.fullmatch(number) is None or abs(int(number)) > _MAX_INTEGER:
        raise ValueError(f"Could not parse [{text}] - invalid prefix length")
    prefix = int(number)
    if not 0 <= prefix <= 128:
        raise ValueError(f"Could not parse [{text}] - prefix length must be between 0 and 128")
    try:
        address = IPv6Address(name[1:-1] if name[:1] == "[" and name[-1:] == "]" else name)
    except AddressValueError:
        raise ValueError(f"Could not parse [{name}]") from None
    if address.ipv4_mapped is not None:
        raise ValueError(f"Could not parse [{name}] - not an IPv6 address")
    return AddressRange(6, int(address) >> 128 - prefix, 128 - prefix)

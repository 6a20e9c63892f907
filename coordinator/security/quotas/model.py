"""Entities that have quotas, and the keys of these quotas. Source: Kafka's `ClientQuotaEntity` and `QuotaConfig`.

All keys are Kafka's but `request_rate`, which is ours: requests per second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (CLIENT_ID, USER, IP)  # the order of Java's hash table, in which Kafka's texts name them

REQUEST_RATE: Final = "request_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"  # of the time of the event loop
PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Types, each once and in the order of ENTITY_TYPES, with names; a name of None is the default of its type."""

QuotaMap: TypeAlias = Mapping[Entity, Mapping[str, float]]
"""The quotas of each entity by their keys. It is replaced, never changed."""

NO_QUOTAS: Final[QuotaMap] = MappingProxyType({})


class ValueType(NamedTuple):
    """The type of a quota in Java: a whole number up to `largest`, or any number if that is None."""

    name: str
    largest: float | None


_INT: Final = ValueType("an INT", float((1 << 31) - 1))
_LONG: Final = ValueType("a LONG", float(1 << 63))
_DOUBLE: Final = ValueType("a DOUBLE", None)

CLIENT_KEYS: Final[Mapping[str, ValueType]] = {
    REQUEST_RATE: _DOUBLE,
    REQUEST_PERCENTAGE: _DOUBLE,
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    CONTROLLER_MUTATION_RATE: _DOUBLE,
}
"""Of users, client ids and pairs of them."""

IP_KEYS: Final[Mapping[str, ValueType]] = {CONNECTION_CREATION_RATE: _INT}


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the entity with these types and names; of a type that is given twice, the last name counts."""
    named = dict(parts)
    known = [(each, named.pop(each)) for each in ENTITY_TYPES if each in named]
    return (*known, *named.items())

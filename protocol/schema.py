"""One declaration for every version of a message.

A message is a slotted dataclass whose fields say what they are on the wire and in which versions they exist. From these
declarations `protocol.generate` writes the encoders and decoders of `protocol/generated`; nothing here runs when a
request is served. The names are Kafka's in snake_case; a field that a version lacks has its default.

What a version lacks is dropped silently by its encoder, also where Kafka would refuse a value that is not the
default: the layer that fills a response knows its version and decides what to put where.

`default` may be left out: 0, False, "", an empty list, a struct of defaults. A default of None needs a nullable type.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, cast, dataclass_transform

from protocol.api_keys import ApiKey

Message: TypeAlias = Any
"""An instance of one of the declared classes. Which one depends on a key that is known only at run time."""

LATEST: Final = sys.maxsize
NEVER: Final = sys.maxsize


@dataclass(frozen=True, slots=True)
class WireType:
    """What a field is on the wire. `element` is the struct of a struct, or the type of an array's elements."""

    name: str
    nullable: bool = False
    element: WireType | type | None = None


BOOL: Final = WireType("bool")
INT8: Final = WireType("int8")
INT16: Final = WireType("int16")
UINT16: Final = WireType("uint16")
INT32: Final = WireType("int32")
UINT32: Final = WireType("uint32")
INT64: Final = WireType("int64")
FLOAT64: Final = WireType("float64")
UUID: Final = WireType("uuid")
STRING: Final = WireType("string")
NULLABLE_STRING: Final = WireType("string", nullable=True)
BYTES: Final = WireType("bytes")
NULLABLE_BYTES: Final = WireType("bytes", nullable=True)
RECORDS: Final = WireType("records", nullable=True)


def array(element: WireType | type) -> WireType:
    """A list of a plain type or of a struct."""
    return WireType("array", element=element)


def nullable_array(element: WireType | type) -> WireType:
    """A list, or None."""
    return WireType("array", nullable=True, element=element)


def struct_of(element: type) -> WireType:
    """One struct within another."""
    return WireType("struct", element=element)


def nullable_struct(element: type) -> WireType:
    """One struct, or None."""
    return WireType("struct", nullable=True, element=element)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Where and since when a field is on the wire. Versions are those of the message, both ends included."""

    wire: WireType
    since: int
    until: int
    nullable_since: int
    tag: int | None

    def exists_in(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable_in(self, version: int) -> bool:
        return version >= self.nullable_since


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """What `@message` and `@record` leave on a class: `api_key` is None for what is not a request or a response."""

    api_key: ApiKey | None
    min_version: int
    max_version: int
    flexible_since: int

    @property
    def versions(self) -> range:
        return range(self.min_version, self.max_version + 1)

    def flexible_in(self, version: int) -> bool:
        return version >= self.flexible_since


_UNSET: Final = object()
_EMPTY: Final[dict[str, Any]] = {
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": None,
}
_MESSAGE_SPEC: Final = "__message_spec__"
_FIELD_SPEC: Final = "wire"

T = TypeVar("T")


def field(
    wire: WireType,
    *,
    since: int = 0,
    until: int = LATEST,
    nullable_since: int | None = None,
    tag: int | None = None,
    default: Any = _UNSET,
) -> Any:
    """A field of a message. With `tag` it travels in the tag section of every version that has it.

    Returns Any, because it stands where a type checker expects the default: each field has one.
    """
    spec = FieldSpec(
        wire=dataclasses.replace(wire, nullable=False) if wire.nullable else wire,
        since=since,
        until=until,
        nullable_since=nullable_since if nullable_since is not None else since if wire.nullable else NEVER,
        tag=tag,
    )
    metadata = {_FIELD_SPEC: spec}
    if default is not _UNSET:
        return dataclasses.field(default=default, metadata=metadata)
    if wire.name == "array":
        return dataclasses.field(default_factory=list, metadata=metadata)
    if wire.name == "struct":
        return dataclasses.field(default_factory=cast(type, wire.element), metadata=metadata)
    return dataclasses.field(default=_EMPTY.get(wire.name, 0), metadata=metadata)


@dataclass_transform()
def struct(cls: type[T]) -> type[T]:
    """A struct within messages. The versions of its fields are those of the message around it."""
    return _slotted(cls)


def _slotted(cls: type[T]) -> type[T]:
    """A slotted dataclass. All share what they are compared and shown by: written for each of the 180 classes, as
    dataclasses do it, these two would take a third of the time that importing the messages takes."""
    declared = dataclass(slots=True, repr=False, eq=False)(cls)
    for name, method in (("__eq__", _equal), ("__repr__", _shown), ("__hash__", None)):
        setattr(declared, name, method)
    return declared


def _equal(self: Any, other: Any) -> Any:
    if self.__class__ is not other.__class__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _shown(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__qualname__}({values})"


@dataclass_transform()
def message(
    api_key: ApiKey, *, versions: tuple[int, int], flexible_since: int | None = None
) -> Callable[[type[T]], type[T]]:
    """A request or a response: the first and last version, and the first with compact types and tag sections."""
    return _declare(api_key, versions, flexible_since)


@dataclass_transform()
def record(*, versions: tuple[int, int], flexible_since: int | None = None) -> Callable[[type[T]], type[T]]:
    """Something versioned that is not a request or a response: it starts with its version, an int16."""
    return _declare(None, versions, flexible_since)


def _declare(
    api_key: ApiKey | None, versions: tuple[int, int], flexible_since: int | None
) -> Callable[[type[T]], type[T]]:
    first, last = versions
    spec = MessageSpec(api_key, first, last, NEVER if flexible_since is None else flexible_since)

    def decorate(cls: type[T]) -> type[T]:
        declared = _slotted(cls)
        setattr(declared, _MESSAGE_SPEC, spec)
        return declared

    return decorate


def message_spec(cls: type) -> MessageSpec:
    """The versions of a message class."""
    spec: MessageSpec = getattr(cls, _MESSAGE_SPEC)
    return spec


def field_specs(cls: type) -> dict[str, FieldSpec]:
    """The fields of a message or struct, in wire order."""
    return {each.name: each.metadata[_FIELD_SPEC] for each in dataclasses.fields(cls)}

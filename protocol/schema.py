"""Declarations of messages: one class for all versions of a message.

A message is a slotted class whose fields declare their wire type and the versions in which they exist; it is created
and compared like a dataclass. `protocol.generate` writes the encoders and decoders of `protocol/generated` from these
classes. The names are Kafka's in snake_case; a field that a version lacks has its default.

An encoder drops the fields that its version lacks, also where Kafka would refuse a value other than the default: the
layer that fills a response knows its version.

`default` may be left out: 0, False, "", an empty list, a struct of defaults. A default of None needs a nullable type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast, dataclass_transform

from protocol.api_keys import ApiKey

Message: TypeAlias = Any
"""An instance of one of the declared classes; the class depends on an API key known only at run time."""

LATEST: Final = sys.maxsize
NEVER: Final = sys.maxsize


class WireType(NamedTuple):
    """Wire type of a field. `element` is the class of a struct, or the type of the elements of an array."""

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
    """Return the type of a list of a plain type or of a struct."""
    return WireType("array", element=element)


def nullable_array(element: WireType | type) -> WireType:
    """Return the type of a list that may be None."""
    return WireType("array", nullable=True, element=element)


def struct_of(element: type) -> WireType:
    """Return the type of a struct within another."""
    return WireType("struct", element=element)


def nullable_struct(element: type) -> WireType:
    """Return the type of a struct that may be None."""
    return WireType("struct", nullable=True, element=element)


class FieldSpec(NamedTuple):
    """Wire type, versions and default of a field. Versions are those of the message, both ends included."""

    wire: WireType
    since: int
    until: int
    nullable_since: int
    tag: int | None
    default: Any
    default_factory: Callable[[], Any] | None  # of a list or a struct, of which each message has its own
    writes_null: bool = False  # of a tagged field: None is written, although it is the default

    def exists_in(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable_in(self, version: int) -> bool:
        return version >= self.nullable_since


class MessageSpec(NamedTuple):
    """Set on a class by `@message` and `@record`. `api_key` is None unless it is a request or a response."""

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
_FIELD_SPECS: Final = "__field_specs__"

T = TypeVar("T")


def field(
    wire: WireType,
    *,
    since: int = 0,
    until: int = LATEST,
    nullable_since: int | None = None,
    tag: int | None = None,
    default: Any = _UNSET,
    writes_null: bool = False,
) -> Any:
    """Declare a field of a message. With `tag` it is written in the tag section of every version that has it.

    `writes_null` is for a field whose absence Kafka reads as an empty value, so that a null has to be written: its
    definition has `null` without quotes as the default, which Kafka's generator takes for no default.
    Returns Any, because a type checker takes it for the default of the field; every field has one.
    """
    factory: Callable[[], Any] | None = None
    if default is _UNSET:
        factory = {"array": list, "struct": wire.element}.get(wire.name)  # type: ignore[assignment]
        default = None if factory else _EMPTY.get(wire.name, 0)
    return FieldSpec(
        wire=wire._replace(nullable=False),
        since=since,
        until=until,
        nullable_since=nullable_since if nullable_since is not None else since if wire.nullable else NEVER,
        tag=tag,
        default=default,
        default_factory=factory,
        writes_null=writes_null,
    )


@dataclass_transform()
def struct(cls: type[T]) -> type[T]:
    """Declare a struct within messages. The versions of its fields are those of the message around it."""
    return _slotted(cls)


def _slotted(cls: type[T]) -> type[T]:
    """Return a new class with the fields as slots and methods that cost nothing until they are called.

    Dataclasses compile each method of each class when it is declared: for nearly 150 messages and structs that took a
    fifth of the time from the start of a daemon to its first answer. Here all share `__eq__` and `__repr__`, and
    `__init__` is compiled for the first instance.
    """
    specs = {name: cls.__dict__[name] for name in cls.__annotations__}
    body = {name: value for name, value in cls.__dict__.items() if name not in {*specs, "__dict__", "__weakref__"}}
    body |= {"__slots__": tuple(specs), _FIELD_SPECS: specs, "__qualname__": cls.__qualname__}
    body |= {"__init__": _first_init, "__eq__": _equal, "__repr__": _shown, "__hash__": None}
    return cast(type[T], type(cls.__name__, cls.__bases__, body))


def _first_init(self: Any, *args: Any, **values: Any) -> None:
    """Replace itself by the real `__init__`. The fields are parameters in their order, each with its default."""
    cls = type(self)
    names: dict[str, Any] = {"_unset": _UNSET}
    parameters = ["self"]
    body = ["pass"]
    for name, spec in field_specs(cls).items():
        value = name
        if spec.default_factory is None:
            names[f"_{name}"] = spec.default
            parameters.append(f"{name}=_{name}")
        else:
            names[f"_{name}"] = spec.default_factory
            parameters.append(f"{name}=_unset")
            value = f"_{name}() if {name} is _unset else {name}"
        body.append(f"self.{name} = {value}")
    exec(f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(body), names)
    cls.__init__ = names["__init__"]
    cls.__init__(self, *args, **values)


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
    """Declare a request or response: first and last version, and the first with compact types and tag sections."""
    return _declare(api_key, versions, flexible_since)


@dataclass_transform()
def record(*, versions: tuple[int, int], flexible_since: int | None = None) -> Callable[[type[T]], type[T]]:
    """Declare a versioned structure that is not a request or response. It starts with its version, an int16."""
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
    """Return the API key and the versions of a message class."""
    spec: MessageSpec = getattr(cls, _MESSAGE_SPEC)
    return spec


def changed(message: T, **values: Any) -> T:
    """Return a copy of a message in which these fields are replaced."""
    cls = type(message)
    return cls(**{name: getattr(message, name) for name in field_specs(cls)} | values)


def field_specs(cls: type) -> dict[str, FieldSpec]:
    """Return the fields of a message or struct, in wire order."""
    specs: dict[str, FieldSpec] = getattr(cls, _FIELD_SPECS)
    return specs

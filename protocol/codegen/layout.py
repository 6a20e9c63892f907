"""The layout of a message in one version: its declaration with all questions of version resolved.

A layout is a frozen tree. Two versions with equal layouts have the same bytes, so they share one decoder and one
encoder. The layout determines which fields exist, which may be null, which are in the tag section, and the defaults of
those that are absent.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from protocol.schema import FieldSpec, WireType, field_specs

FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
SIZES: Final = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A type of fixed width, by its letter in the struct module."""

    format: str


@dataclass(frozen=True, slots=True)
class Blob:
    """A length and as many bytes: a string if `text`, else bytes or records."""

    text: bool
    compact: bool


@dataclass(frozen=True, slots=True)
class Array:
    """A count and as many elements."""

    element: Kind
    compact: bool
    element_type: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct that exists in this version."""

    name: str
    kind: Kind
    nullable: bool
    tag: int | None
    default: str
    type: str  # as annotated in the class; empty where the variable has its type already
    writes_null: bool = False  # in the tag section

    def undeclared(self) -> Field:
        return dataclasses.replace(self, type="")


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a class in wire order, those of its tag section, and the arguments of its constructor."""

    class_name: str
    fields: tuple[Field, ...]
    tagged: tuple[Field, ...]
    arguments: tuple[tuple[str, str | None], ...]  # in the class's order: field name, default if the version lacks it
    flexible: bool


Kind: TypeAlias = Fixed | Blob | Array | Struct


def resolve(cls: type, version: int, *, flexible: bool) -> Struct:
    """Return the layout of a message or struct class in one version."""
    fields: list[Field] = []
    arguments: list[tuple[str, str | None]] = []
    for name, spec in field_specs(cls).items():
        default = _default(spec)
        if not spec.exists_in(version):
            arguments.append((name, default))
            continue
        arguments.append((name, None))
        fields.append(_field(name, spec, version, flexible, default, str(cls.__annotations__[name])))
    return Struct(
        class_name=cls.__name__,
        fields=tuple(each for each in fields if each.tag is None),
        tagged=tuple(sorted((each for each in fields if each.tag is not None), key=lambda each: each.tag or 0)),
        arguments=tuple(arguments),
        flexible=flexible,
    )


def _field(name: str, spec: FieldSpec, version: int, flexible: bool, default: str, annotation: str) -> Field:
    if spec.tag is not None and not flexible:
        raise ValueError(f"{name}: a tagged field needs a flexible version, {version} is not")
    kind = _kind(spec.wire, version, flexible)
    return Field(name, kind, spec.nullable_in(version), spec.tag, default, annotation, spec.writes_null)


def _kind(wire: WireType | type | None, version: int, flexible: bool) -> Kind:
    if isinstance(wire, type):
        return resolve(wire, version, flexible=flexible)
    if wire is None:
        raise ValueError("an array or struct without an element")
    if wire.name == "struct":
        return _kind(wire.element, version, flexible)
    if wire.name == "array":
        return Array(_kind(wire.element, version, flexible), flexible, _element_type(wire.element))
    if wire.name in FORMATS:
        return Fixed(FORMATS[wire.name])
    return Blob(text=wire.name == "string", compact=flexible)


def _element_type(element: WireType | type | None) -> str:
    if isinstance(element, type):
        return element.__name__
    name = element.name if element is not None else ""
    return {"string": "str", "bytes": "bytes", "uuid": "bytes", "bool": "bool", "float64": "float"}.get(name, "int")


def _default(spec: FieldSpec) -> str:
    """Return the source of a default, which the constructor is given where the version lacks the field."""
    if spec.default_factory is not None:
        factory: Any = spec.default_factory
        return "[]" if factory is list else f"{factory.__name__}()"
    if spec.default == bytes(16):
        return "ZERO_UUID"
    return '""' if spec.default == "" else repr(spec.default)


def minimum_size(kind: Kind, *, nullable: bool = False) -> int:
    """Return the smallest size of a value in bytes, against which a count of elements is checked."""
    if isinstance(kind, Fixed):
        return SIZES[kind.format]
    if isinstance(kind, Blob):
        return 1 if kind.compact else 2 if kind.text else 4
    if isinstance(kind, Array):
        return 1 if kind.compact else 4
    if nullable:
        return 1
    return sum(minimum_size(each.kind, nullable=each.nullable) for each in kind.fields) + kind.flexible

"""Random messages of any declared class and version, and valid messages with one field changed."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from protocol.schema import FieldSpec, WireType, field_specs

SIZES: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED: Final = {"uint16": 16, "uint32": 32}
WORDS: Final = ("", "g", "orders", "consumer", "range", "member-1", "é", "\x00", "a" * 127, "a" * 128, "<>:\n")
BLOBS: Final = (b"", b"\x00", b"\x00\x01\x00\x00\x00\x01\x00\x02t0\xff\xff\xff\xff", b"x" * 127, b"\xff" * 9)
MOST_ELEMENTS: Final = 3


def random_message(cls: Any, version: int, chance: Random) -> Any:
    """Return a message whose fields of this version have random values."""
    return cls(
        **{
            name: random_value(spec, version, chance)
            for name, spec in field_specs(cls).items()
            if spec.exists_in(version) and chance.random() < 0.9
        }
    )


def random_value(spec: FieldSpec, version: int, chance: Random) -> Any:
    """Return a value that this version can carry."""
    if spec.nullable_in(version) and chance.random() < 0.2:
        return None
    return _value(spec.wire, version, chance)


def _value(wire: WireType, version: int, chance: Random) -> Any:
    name = wire.name
    if name in SIZES:
        bits = SIZES[name] - 1
        return chance.choice((0, 1, -1, 2, 3, 7, 100 % 2**bits, 2**bits - 1, -(2**bits), chance.getrandbits(bits)))
    if name in UNSIGNED:
        return chance.choice((0, 1, 2 ** UNSIGNED[name] - 1, chance.getrandbits(UNSIGNED[name])))
    if name == "bool":
        return chance.random() < 0.5
    if name == "float64":
        return chance.choice((0.0, 1.5, -1.0))
    if name == "string":
        return chance.choice(WORDS)
    if name in ("bytes", "records"):
        return chance.choice(BLOBS)
    if name == "uuid":
        return chance.choice((bytes(16), b"\x01" * 16, chance.randbytes(16)))
    element = wire.element
    if name == "struct":
        return random_message(element, version, chance)
    assert name == "array" and element is not None
    count = chance.choice((0, 1, 1, 2, MOST_ELEMENTS))
    if isinstance(element, WireType):
        return [_value(element, version, chance) for _ in range(count)]
    return [random_message(element, version, chance) for _ in range(count)]


def change_field(message: Any, version: int, chance: Random) -> None:
    """Give one field of a message, or of a struct within it, another value."""
    while True:
        specs = {name: spec for name, spec in field_specs(type(message)).items() if spec.exists_in(version)}
        if not specs:
            return
        name, spec = chance.choice(list(specs.items()))
        value = getattr(message, name)
        inner = value if isinstance(value, list) else [value]
        structs = [each for each in inner if hasattr(type(each), "__field_specs__")]
        if structs and chance.random() < 0.7:
            message = chance.choice(structs)
            continue
        if isinstance(value, list) and value and chance.random() < 0.5:
            value.append(chance.choice(value)) if chance.random() < 0.5 else value.pop()
            return
        setattr(message, name, random_value(spec, version, chance))
        return

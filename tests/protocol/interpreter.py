"""The oracle of the tests: a simple encoder that interprets Kafka's definitions field by field.

Values are dicts by Kafka's names; absent names have their default. It uses neither `protocol.messages` nor the
generated code, so equal bytes mean that both have read the definition alike.
"""

from __future__ import annotations

import struct
from typing import Any

from tests.protocol.definitions import FIXED, Definition, Field

BELOW_NULL = -2
"""In the place of a string, bytes or an array: its length is -2, which nothing may have. Only old forms can say so."""


def uvarint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value % 0x80 + 0x80])
        value //= 0x80
    return out + bytes([value])


def encode(definition: Definition, values: dict[str, Any]) -> bytes:
    """Encode the body of a message."""
    return _struct(definition.fields, values, definition.flexible)


def _struct(fields: tuple[Field, ...], values: dict[str, Any], flexible: bool) -> bytes:
    out = b""
    tagged: dict[int, bytes] = {}
    for field in fields:
        value = values.get(field.name, field.default_value())
        if field.tag is None:
            out += _field(field, value, flexible)
        elif value != field.default_value():
            tagged[field.tag] = _field(field, value, flexible)
        elif field.writes_null:
            tagged[field.tag] = b"\0"
    if flexible:
        out += uvarint(len(tagged))
        for tag, data in sorted(tagged.items()):
            out += uvarint(tag) + uvarint(len(data)) + data
    return out


def _field(field: Field, value: Any, flexible: bool) -> bytes:
    if value == BELOW_NULL and (field.is_array or field.type in ("string", "bytes", "records")):
        return struct.pack(">h" if field.type == "string" and not field.is_array else ">i", BELOW_NULL)
    if field.is_array:
        if value is None:
            return b"\0" if field.compact else struct.pack(">i", -1)
        count = uvarint(len(value) + 1) if field.compact else struct.pack(">i", len(value))
        return count + b"".join(_value(field, each, flexible) for each in value)
    if field.is_struct and field.nullable and field.tag is None:
        return b"\xff" if value is None else b"\x01" + _value(field, value, flexible)
    return _value(field, value, flexible)


def _value(field: Field, value: Any, flexible: bool) -> bytes:
    if field.is_struct:
        return _struct(field.fields, value, flexible)
    if field.type in FIXED:
        return struct.pack(f">{FIXED[field.type]}", value)
    if field.type == "uuid":
        return bytes(value)
    data = value.encode() if isinstance(value, str) else value
    if field.compact:
        return b"\0" if data is None else uvarint(len(data) + 1) + data
    prefix = ">h" if field.type == "string" else ">i"
    return struct.pack(prefix, -1) if data is None else struct.pack(prefix, len(data)) + data

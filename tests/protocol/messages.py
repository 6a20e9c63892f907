"""Maps Kafka's names to the classes of `protocol.messages`, and dicts of values to their objects."""

from __future__ import annotations

from functools import cache
from typing import Any

from protocol.api_keys import ApiKey
from protocol.generate import class_name, declared_classes
from protocol.schema import WireType, field_specs
from tests.protocol.definitions import Field, defined_versions, snake_case

KINDS = ("Request", "Response")


@cache
def all_messages() -> dict[str, type]:
    """Return every declared request and response class of a Kafka API, by Kafka's name."""
    return {
        class_name(key, kind): cls
        for key in ApiKey
        if key.is_kafkas
        for kind, cls in zip(KINDS, declared_classes(key), strict=True)
    }


def all_message_versions() -> list[tuple[str, int]]:
    return [(name, version) for name in all_messages() for version in defined_versions(name)]


def is_request(name: str) -> bool:
    return name.endswith("Request")


def key_of(name: str) -> ApiKey:
    return ApiKey[snake_case(name.removesuffix("Request").removesuffix("Response")).upper()]


def build(cls: type, fields: tuple[Field, ...], values: dict[str, Any]) -> Any:
    """Make an object of a message class from values by Kafka's names; fields not named keep their default."""
    known = {each.name: each for each in fields}
    specs = field_specs(cls)
    return cls(
        **{
            snake_case(name): _convert(known[name], specs[snake_case(name)].wire, value)
            for name, value in values.items()
        }
    )


def _convert(field: Field, wire: WireType, value: Any) -> Any:
    if value is None or not field.is_struct:
        return value
    inner = struct_class(wire)
    if field.is_array:
        return [build(inner, field.fields, each) for each in value]
    return build(inner, field.fields, value)


def struct_class(wire: WireType) -> type:
    """Return the class within a struct or an array of structs."""
    element = wire.element
    assert isinstance(element, type)
    return element

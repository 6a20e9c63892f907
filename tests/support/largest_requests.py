"""Requests of as many elements as are asked for, made from the declarations of the messages.

A shape says which array of a request is long, as the names of the fields that lead to it. Arrays on the way have one
element, or with `spread` as many as the long ones together, each with one element. The values are as short as they can
be and differ from each other: that is the most elements of a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from protocol.api_keys import ApiKey
from protocol.generate import declared_classes
from protocol.schema import FieldSpec, field_specs

NUMBERS = frozenset({"bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64"})
NUMBERS_PER_ELEMENT = 8  # so many plain numbers count as one element

Fill = Mapping[str, Callable[[int], Any]]
"""By the name of a field: its value in the n-th struct that has it."""


class Shape(NamedTuple):
    """Which array of a request is the long one."""

    key: ApiKey
    version: int
    path: tuple[str, ...]
    is_spread: bool = False
    is_of_numbers: bool = False

    def __str__(self) -> str:
        return f"{self.key.name} v{self.version} {'.'.join(self.path)}{' spread' if self.is_spread else ''}"


def shapes(key: ApiKey, version: int) -> Iterator[Shape]:
    """Every array of a request, and every way to have it long."""
    request, _ = declared_classes(key)
    yield from _shapes(key, version, request, ())


def _shapes(key: ApiKey, version: int, cls: type, path: tuple[str, ...]) -> Iterator[Shape]:
    for name, spec in field_specs(cls).items():
        if spec.wire.name != "array" or not spec.exists_in(version):
            continue
        inner = (*path, name)
        element = spec.wire.element
        is_of_numbers = getattr(element, "name", "") in NUMBERS
        yield Shape(key, version, inner, is_of_numbers=is_of_numbers)
        if path:
            yield Shape(key, version, inner, is_spread=True, is_of_numbers=is_of_numbers)
        if isinstance(element, type):
            yield from _shapes(key, version, element, inner)


def largest(shape: Shape, elements: int, fill: Fill | None = None, *, is_answer: bool = False) -> Any:
    """A request of this shape with exactly so many elements, as a server counts them; or an answer."""
    message = declared_classes(shape.key)[is_answer]()
    _fill(message, 0, shape.version, fill or {}, shape.path[0])
    outer = len(shape.path) - 1
    if field_specs(type(message))[shape.path[0]].tag is not None:
        outer += 1  # a tag counts as an element
    last = elements - outer
    if shape.is_spread:
        surplus = elements - (outer - 1)
        _put(message, shape, 0, surplus // 2, fill or {})
        if surplus % 2:  # one element more, or with numbers one lot more, in the first of them
            for _ in range(NUMBERS_PER_ELEMENT if shape.is_of_numbers else 1):
                _lengthen(message, shape, fill or {})
        return message
    if shape.is_of_numbers:
        last *= NUMBERS_PER_ELEMENT
    _put(message, shape, 0, last, fill or {})
    return message


def _put(owner: Any, shape: Shape, depth: int, count: int, fill: Fill) -> None:
    """The array at `depth` of the path, and those within its elements."""
    name = shape.path[depth]
    spec = field_specs(type(owner))[name]
    is_last = depth == len(shape.path) - 1
    is_long = is_last if not shape.is_spread else depth == len(shape.path) - 2
    number = count if is_long else 1
    if shape.is_spread and depth < len(shape.path) - 2:
        number = 1
    elements = [_element(spec, place, shape.version, fill, name) for place in range(number)]
    setattr(owner, name, elements)
    if not is_last:
        for element in elements:
            _put(element, shape, depth + 1, 1 if is_long else count, fill)


def _lengthen(message: Any, shape: Shape, fill: Fill) -> None:
    owner = message
    for name in shape.path[:-1]:
        owner = getattr(owner, name)[0]
    array = getattr(owner, shape.path[-1])
    array.append(_element(field_specs(type(owner))[shape.path[-1]], len(array), shape.version, fill, shape.path[-1]))


def _element(spec: FieldSpec, place: int, version: int, fill: Fill, name: str) -> Any:
    element = spec.wire.element
    if isinstance(element, type):
        made = element()
        _fill(made, place, version, fill, "")
        return made
    kind = getattr(element, "name", "")
    if name in fill:
        return fill[name](place)
    if kind == "string":
        return str(place)
    if kind == "uuid":
        return (place + 1).to_bytes(16, "big")
    return place % 100


def _fill(made: Any, place: int, version: int, fill: Fill, skipped: str) -> None:
    for name, spec in field_specs(type(made)).items():
        if name == skipped or spec.wire.name == "array" or not spec.exists_in(version):
            continue
        if name in fill:
            setattr(made, name, fill[name](place))
        elif spec.wire.name == "string" and not spec.nullable_in(version):
            setattr(made, name, str(place))

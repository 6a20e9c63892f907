"""Long answers, encoded a piece at a time: a hundred thousand groups, all the offsets of a big group.

A message is cut at its array: the bytes in front of it with the number of elements, the elements some hundred at a
time, the bytes behind it. Each piece is cut from the generated encoder's output for the same message with a part of the
array, so no second encoder can disagree with the first. Arrays within elements (a group has topics, a topic has
partitions) are cut in the same way. The pieces joined are the bytes that the encoder returns for the whole message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from protocol.primitives import uvarint
from protocol.schema import changed

PER_PIECE: Final = 300  # elements
BYTES_PER_ELEMENT: Final = 1024  # of a long field; as many are copied in about the time that an element takes
Encode = Callable[[Any], bytes]
Shape = Callable[[Any, int], Any]  # (response, version) to the message to encode


class Array(NamedTuple):
    """The array of a message or element that may be long."""

    field: str
    tail_bytes: int = 0  # fixed bytes behind the array, without the tag section
    is_owned: bool = False  # made for this answer alone: elements are freed as soon as they are encoded
    of: Array | None = None  # the array within each element
    head_bytes: int = -1  # if known, bytes in front of the array; then the bytes behind it may vary
    long_field: str = ""  # of an element: its bytes count, since a client may send a megabyte
    within: str = ""  # the message has the array of the only element of this field, at its top after shaping

    def weigh(self, message: Any) -> int:
        """Return the number of elements, with those of the arrays within them."""
        elements = getattr(message, self.field)
        of, long_field = self.of, self.long_field
        weight = len(elements)
        if of is not None or long_field:
            for element in elements:  # as `weigh_within`, without a call: every answer to an OffsetFetch is weighed
                if of is not None:
                    weight += of.weigh(element)
                if long_field:
                    weight += len(getattr(element, long_field)) // BYTES_PER_ELEMENT
        return weight

    def is_long(self, message: Any) -> bool:
        """Return True if a message weighs more than a piece. Ten thousand elements are not weighed for that.

        An answer with an error may have null in place of its elements.
        """
        elements = getattr(message, self.field)
        return elements is not None and (len(elements) > PER_PIECE or self.weigh(message) > PER_PIECE)

    def weigh_within(self, element: Any) -> int:
        """Return how many elements one element counts beside itself."""
        inner = 0 if self.of is None else self.of.weigh(element)
        return inner + len(getattr(element, self.long_field)) // BYTES_PER_ELEMENT if self.long_field else inner


PARTITIONS: Final = Array("partitions", is_owned=True)
TOPICS: Final = ((0, Array("topics", of=Array("partitions"))),)  # the form of many APIs


def in_pieces(
    array: Array | None, version: int, response: Any, encode: Encode, shape: Shape | None, *, is_flexible: bool
) -> Iterator[bytes] | None:
    """Return the pieces of the encoded answer; None if it is short, and better encoded at once.

    The pieces joined are `encode` of the shaped response. Iterating raises the error of `encode` at its piece.
    """
    if array is None:
        return None
    if array.within:
        whole, within = response, array.within
        (element,) = getattr(response, within)
        if element.error_code or not array.is_long(element):
            return None  # an error is shaped differently, and no longer than the request

        def encode_element(element: Any) -> bytes:
            response = changed(whole, **{within: [element]})
            return encode(response if shape is None else shape(response, version))

        return _pieces(encode_element, element, array, is_flexible=is_flexible)
    if not array.is_long(response):
        return None
    if shape is not None:
        response = shape(response, version)
    return _pieces(encode, response, array, is_flexible=is_flexible)


def _pieces(encode: Encode, message: Any, array: Array, *, is_flexible: bool) -> Iterator[bytes]:
    elements = getattr(message, array.field)
    empty = encode(changed(message, **{array.field: []}))
    head_bytes, tail_bytes = array.head_bytes, array.tail_bytes + is_flexible
    if head_bytes < 0:
        head_bytes = len(empty) - tail_bytes - len(_count(0, is_flexible=is_flexible))
    else:
        tail_bytes = len(empty) - head_bytes - len(_count(0, is_flexible=is_flexible))

    def encode_elements(some: list[Any]) -> bytes:
        data = encode(changed(message, **{array.field: some}))
        return data[head_bytes + len(_count(len(some), is_flexible=is_flexible)) : len(data) - tail_bytes]

    yield empty[:head_bytes] + _count(len(elements), is_flexible=is_flexible)
    some: list[Any] = []
    weight = 0
    done = 0
    for element in elements:
        inner = array.weigh_within(element)
        if array.of is not None and inner > PER_PIECE:
            if some:
                yield encode_elements(some)
                done = _let_go(array, elements, done, len(some))
                some, weight = [], 0
            yield from _pieces(lambda one: encode_elements([one]), element, array.of, is_flexible=is_flexible)
            done = _let_go(array, elements, done, 1)
            continue
        some.append(element)
        weight += 1 + inner
        if weight >= PER_PIECE:
            yield encode_elements(some)
            done = _let_go(array, elements, done, len(some))
            some, weight = [], 0
    if some:
        yield encode_elements(some)
    yield empty[len(empty) - tail_bytes :]


def _let_go(array: Array, elements: list[Any], done: int, count: int) -> int:
    """Free encoded elements: a hundred thousand objects freed at once, at the end, would stall the loop."""
    if array.is_owned:
        elements[done : done + count] = [None] * count
    return done + count


def _count(elements: int, *, is_flexible: bool) -> bytes:
    return uvarint(elements + 1) if is_flexible else elements.to_bytes(4, "big")

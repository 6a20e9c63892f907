"""The promise of a decoder of messages for any bytes, and changes of messages by their grammar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from protocol.errors import DecodeError
from tests.fuzz.edits import edited
from tests.fuzz.messages import change_field, random_message

ROW_BYTES: Final = 2  # at the start of an input: which row of the table it is for
GROWTH: Final = 3  # an unreadable byte of a string becomes a character of three bytes


class Codec(NamedTuple):
    """A message class in one version."""

    cls: Any
    version: int
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def check(rows: Sequence[Codec], data: bytes) -> None:
    """Raise unless the data is decoded to a value that is the same once encoded, or refused with a DecodeError."""
    row, body = _split(rows, data)
    try:
        message = row.decode(body)
    except DecodeError:
        return
    encoded = row.encode(message)
    assert len(encoded) <= GROWTH * len(body), (
        f"{len(body)} bytes of {row.cls.__name__} v{row.version} became {len(encoded)}"
    )
    again = row.decode(encoded)
    assert again == message, f"{row.cls.__name__} v{row.version}: {message} became {again}"


def seeds(rows: Sequence[Codec], each: int) -> list[bytes]:
    """Return an input for every row, with a message that is the same each time."""
    chance = Random(1)
    return [
        number.to_bytes(ROW_BYTES, "big") + row.encode(random_message(row.cls, row.version, chance))
        for number, row in enumerate(rows)
        for _ in range(each)
    ]


def mutate(rows: Sequence[Codec], data: bytes, chance: Random) -> bytes:
    """Return a message of the same row with a field changed, a new message, or the bytes of one edited."""
    row, body = _split(rows, data)
    head = data[:ROW_BYTES]
    kind = chance.random()
    if kind < 0.2 or len(data) < ROW_BYTES:
        number = chance.randrange(len(rows))
        row, head = rows[number], number.to_bytes(ROW_BYTES, "big")
        body = row.encode(random_message(row.cls, row.version, chance))
    elif kind < 0.6:
        try:
            message = row.decode(body)
        except DecodeError:
            message = random_message(row.cls, row.version, chance)
        change_field(message, row.version, chance)
        body = row.encode(message)
    return head + (body if chance.random() < 0.4 else edited(body, chance))


def _split(rows: Sequence[Codec], data: bytes) -> tuple[Codec, bytes]:
    return rows[int.from_bytes(data[:ROW_BYTES], "big") % len(rows)], data[ROW_BYTES:]

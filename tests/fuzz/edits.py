"""Edits of bytes that know nothing of their meaning: flip, cut, repeat, zero, swap, insert, and numbers at the edge."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

Edit = Callable[[bytearray, Random], None]

EDGES: Final = (0, 1, 2, 3, 6, 7, 8, 9, 60, 61, 62, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 65536)
EDGES_64: Final = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def span(data: bytearray, chance: Random) -> tuple[int, int]:
    """Return the ends of a stretch of the data, mostly a short one."""
    start = chance.randrange(len(data))
    longest = len(data) - start
    return start, start + (chance.randint(1, min(16, longest)) if chance.random() < 0.8 else longest)


def flip(data: bytearray, chance: Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def replace(data: bytearray, chance: Random) -> None:
    data[chance.randrange(len(data))] = chance.randrange(256)


def cut(data: bytearray, chance: Random) -> None:
    start, end = span(data, chance)
    del data[start:end]


def repeat(data: bytearray, chance: Random) -> None:
    start, end = span(data, chance)
    data[end:end] = data[start:end] * chance.choice((1, 1, 1, 2, 5))


def zero(data: bytearray, chance: Random) -> None:
    start, end = span(data, chance)
    data[start:end] = bytes(end - start)


def swap(data: bytearray, chance: Random) -> None:
    """Exchange two blocks."""
    size = chance.randint(1, max(len(data) // 2, 1))
    one, other = sorted(chance.randrange(max(len(data) - size, 0) + 1) for _ in range(2))
    size = min(size, max(other - one, 1))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]


def insert(data: bytearray, chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.randint(1, 8))


def number(data: bytearray, chance: Random) -> None:
    """Write a number at the edge of its range, in 1, 2, 4 or 8 bytes."""
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice(EDGES + EDGES_64) % 2 ** (8 * size)
    at = chance.randrange(len(data))
    data[at : at + size] = value.to_bytes(size, chance.choice(("big", "big", "little")))


EDITS: Final[tuple[Edit, ...]] = (flip, replace, cut, repeat, zero, swap, insert, number)


def edited(data: bytes, chance: Random, edits: tuple[Edit, ...] = EDITS) -> bytes:
    """Return the data after a few random edits."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
        if not changed:
            break
        chance.choice(edits)(changed, chance)
    return bytes(changed)

"""FrameReader: a stream fed in pieces gives the frames that it gives when fed whole, and ends with the same error."""

from __future__ import annotations

import struct
from random import Random
from typing import Final

from protocol.frames import FrameError, FrameReader
from tests.fuzz.edits import edited

MAX_FRAME: Final = 200
CUTS: Final = 8  # bytes at the start of an input: the sizes of the pieces, used in turn


def check(data: bytes) -> None:
    sizes, stream = data[:CUTS], data[CUTS:]
    whole, error, _ = _fed([stream])
    pieces, position, turn = [], 0, 0
    while position < len(stream):
        size = 1 + (sizes[turn % CUTS] if sizes else 0) % 32
        pieces.append(stream[position : position + size])
        position += size
        turn += 1
    in_pieces, error_in_pieces, reader = _fed(pieces)
    assert in_pieces == whole, (in_pieces, whole)
    assert error_in_pieces == error, (error_in_pieces, error)
    if error is None:
        held = reader.buffered
        assert held == len(stream) - sum(4 + len(frame) for frame in whole) < 4 + MAX_FRAME
        assert reader.has_partial_frame == (held > 0)


def _fed(pieces: list[bytes]) -> tuple[list[bytes], bytes | None, FrameReader]:
    reader = FrameReader(MAX_FRAME)
    frames: list[bytes] = []
    for piece in pieces:
        try:
            frames += reader.feed(piece)
        except FrameError as error:
            return frames + error.frames, error.start, reader
    return frames, None, reader


def seeds() -> list[bytes]:
    return [
        bytes(CUTS),
        bytes(range(CUTS)) + _framed(b"a", b"", b"bcd" * 20),
        b"\x03" * CUTS + _framed(b"xy") + b"\0\0",
    ]


def _framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def mutate(data: bytes, chance: Random) -> bytes:
    bodies = [
        chance.randbytes(chance.choice((0, 1, 3, 30, MAX_FRAME, MAX_FRAME + 1))) for _ in range(chance.randint(1, 4))
    ]
    return edited(chance.randbytes(CUTS) + _framed(*bodies), chance)

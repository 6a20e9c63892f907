"""The codecs: what is decompressed stays below the limit, and all else is a CorruptBatchError."""

from __future__ import annotations

from random import Random
from typing import Final

from protocol.compression import Codec, compress, decompress
from protocol.errors import CorruptBatchError
from tests.fuzz.edits import edited

LIMIT: Final = 20_000
TEXTS: Final = (b"", b"a", b"abc" * 50, bytes(3_000), bytes(60_000))


def check(data: bytes) -> None:
    """Decompress the data behind its first byte, which names the codec."""
    codec = data[0] % 8 if data else 0
    try:
        found = decompress(codec, data[1:], LIMIT)
    except CorruptBatchError:
        return
    assert codec in list(Codec)
    assert codec == Codec.NONE or len(found) <= LIMIT
    assert decompress(codec, compress(Codec(codec), found), LIMIT + len(data)) == found


def seeds() -> list[bytes]:
    return [bytes((codec,)) + compress(codec, text) for codec in Codec for text in TEXTS[:-1]]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.5 or not data:
        codec = chance.choice(list(Codec)[1:])
        data = bytes((codec,)) + compress(codec, chance.choice(TEXTS) + chance.randbytes(chance.randrange(40)))
    return edited(data, chance) if chance.random() < 0.9 else data

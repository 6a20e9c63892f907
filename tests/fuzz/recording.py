"""Sessions of real clients as they went over the wire, kept in `recordings/`: one file for each client and scenario.

A recording is a list of frames in the order in which a proxy saw them. A frame has the number of its connection and no
length. Of the answers only those are kept that tell a client an id which its later requests repeat.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from protocol.api_keys import ApiKey

DIRECTORY: Final = Path(__file__).parent / "recordings"
TOPIC: Final = "orders"  # of every recording
PARTITIONS: Final = 6
GROUP: Final = "shop"
TELL_IDS: Final = frozenset({ApiKey.JOIN_GROUP, ApiKey.METADATA, ApiKey.INIT_PRODUCER_ID})
MOST_FRAMES: Final = 400
MOST_REPEATS: Final = 2  # of a heartbeat or a Fetch that differs in its correlation id alone
_HEAD: Final = struct.Struct(">?HI")  # an answer, number of the connection, size


class Frame(NamedTuple):
    """A request or an answer of a recording."""

    is_answer: bool
    connection: int
    data: bytes

    @property
    def correlation(self) -> bytes:
        return self.data[:4] if self.is_answer else self.data[4:8]


def without_repeats(frames: Iterable[Frame]) -> list[Frame]:
    """Return the first frames, without requests that say again what one of the last requests of a connection said."""
    said: dict[tuple[int, bytes], int] = {}
    kept: list[Frame] = []
    keys: dict[tuple[int, bytes], int] = {}
    for each in frames:
        if each.is_answer:
            if keys.get((each.connection, each.correlation)) in TELL_IDS:
                kept.append(each)
            continue
        words = (each.connection, each.data[:4] + each.data[8:])
        said[words] = said.get(words, 0) + 1
        if said[words] <= MOST_REPEATS:
            keys[each.connection, each.correlation] = int.from_bytes(each.data[:2], "big")
            kept.append(each)
    return kept[:MOST_FRAMES]


def pack(frames: Iterable[Frame]) -> bytes:
    parts = [_HEAD.pack(each.is_answer, each.connection, len(each.data)) + each.data for each in frames]
    return zlib.compress(b"".join(parts), 9)


def unpack(packed: bytes) -> list[Frame]:
    data, found, position = zlib.decompress(packed), [], 0
    while position < len(data):
        is_answer, connection, size = _HEAD.unpack_from(data, position)
        start, position = position + _HEAD.size, position + _HEAD.size + size
        found.append(Frame(is_answer, connection, data[start:position]))
    return found


def recordings() -> dict[str, list[Frame]]:
    """Return the kept recordings by name, in a fixed order."""
    return {path.stem: unpack(path.read_bytes()) for path in sorted(DIRECTORY.glob("*.bin"))}

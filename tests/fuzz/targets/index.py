"""The indexes of a segment: loaded with all lookups inside of the log, or refused with an IndexDamagedError."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Final

from coordinator.storage.log.index import IndexDamagedError, OffsetIndex, TimeIndex
from tests.fuzz.edits import EDGES_64, edited
from tests.fuzz.files import directory_with

HERE: Final = Path("/p")
END: Final = 10_000


def check(data: bytes) -> None:
    """Load the data behind the first byte, which says which of the two kinds it is."""
    kind = OffsetIndex if data[:1] < b"\x80" else TimeIndex
    fs = directory_with(HERE, {"x": data[1:]})
    try:
        index = kind.load(fs, HERE / "x", end=END)
    except IndexDamagedError as error:
        assert str(error)
        return
    entries = [index.entry(number) for number in range(len(index))]
    assert entries == sorted(entries)
    for key in (-1, 0, 1, 77, END, 2**31, 2**62, *(first for first, _ in entries)):
        if isinstance(index, OffsetIndex):
            relative_offset, position = index.floor(key)
            assert 0 <= position < END and 0 <= relative_offset <= max(key, 0)
            assert 0 <= index.floor_position(key) < END
        else:
            entry = index.floor(key)
            assert entry is None or (entry[0] <= key and 0 <= entry[1] < END)
    if isinstance(index, OffsetIndex):
        index.cut(77, 500)
        assert all(first < 77 and second < 500 for first, second in (index.last(),)) if index.last() else True


def seeds() -> list[bytes]:
    return [
        b"\0" + b"".join(struct.pack(">ii", number * 10, number * 900) for number in range(8)),
        b"\xff" + b"".join(struct.pack(">qi", 1_000 + number, number * 10) for number in range(8)),
        b"\0",
    ]


def mutate(data: bytes, chance: Random) -> bytes:
    first, second = 0, chance.choice((0, 0, -1))
    rows = []
    layout = chance.choice((">ii", ">qi"))
    for _ in range(chance.randrange(9)):
        rows.append(struct.pack(layout, first % 2**31, second))
        first += chance.choice((1, 5, 0, chance.choice(EDGES_64) % 2**30))
        second += chance.choice((1, 500, 0, 3_000))
    made = (b"\0" if layout == ">ii" else b"\xff") + b"".join(rows)
    return made if chance.random() < 0.5 else edited(made, chance)

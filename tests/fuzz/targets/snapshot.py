"""The snapshot file of a partition: read to what its header says, or refused with a SnapshotError.

The first byte of an input says which checksums are put right, so that mutations get behind them. A snapshot whose own
checksums are right may still hold blocks that this program would not write: reading must refuse those that it looks at.
"""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Final

import google_crc32c

from coordinator.core.offsets.committed import CommittedOffset
from coordinator.core.offsets.packed_groups import encode_block
from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.memory_fs import MemoryFileSystem
from coordinator.storage.snapshot.file import (
    Binding,
    Contents,
    LastBatch,
    SnapshotError,
    draft,
    evidence,
    promote,
    read,
    read_binding,
)
from protocol.group_records import RecordKind, encode_key
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with

HERE: Final = Path("/p")
FIX_BODY, FIX_HEADER = 1, 2
OPEN_AT: Final = 72  # where the header has the end of the blocks
HEADER_BYTES: Final = 8 + 4 + 4 + 8 * 3 + 4 + 4 + 8 * 5 + 4


def check(data: bytes) -> None:
    file = mended(data[0], data[1:]) if data else data
    fs = directory_with(HERE, {SNAPSHOT_NAME: file})
    try:
        bound: Binding | None = read_binding(fs, HERE)
    except SnapshotError:
        bound = None
    assert evidence(fs, HERE, 0).offset == (bound.next_offset if bound is not None and bound.partition == 0 else 0)
    try:
        binding, base = read(fs, HERE)
    except SnapshotError as error:
        assert str(error)
        return
    assert binding == bound
    assert all(0 <= block.position <= block.position + block.size <= len(file) for block in base.blocks.values())


def mended(what: int, data: bytes) -> bytes:
    """Return a file with size and checksums in its header put right, as far as the bits of `what` ask for it."""
    if len(data) < HEADER_BYTES + 4:
        return data
    changed = bytearray(data)
    if what & FIX_BODY:
        body = google_crc32c.value(bytes(changed[HEADER_BYTES + 4 :]))
        struct.pack_into("<QI", changed, HEADER_BYTES - 12, len(changed), body)
    if what & FIX_HEADER:
        struct.pack_into("<I", changed, HEADER_BYTES, google_crc32c.value(bytes(changed[:HEADER_BYTES])))
    return bytes(changed)


def snapshot(groups: int, partitions: int, *, with_open: bool = False) -> bytes:
    """Return the bytes of a snapshot."""
    fs = MemoryFileSystem()
    fs.mkdir(HERE)
    offsets = {
        f"t{topic}": {
            number: CommittedOffset(number * 1000, -1, "m" * (number % 3), 1_000 + number, -1, number)
            for number in range(partitions)
        }
        for topic in range(1 + (partitions > 2))
    }
    blocks = [encode_block(f"g{number}", b"value" if number else None, number, offsets) for number in range(groups)]
    count = groups * sum(map(len, offsets.values()))
    transactions = {9: {b"key": (b"value", 4)}} if with_open else {}
    consumer = {encode_key(RecordKind.CONSUMER_GROUP, "k"): (b"value", 5)} if with_open else {}
    binding = Binding(0, 0, 100, LastBatch(90, 1234, 0))
    draft(fs, HERE, binding, Contents(blocks, transactions, {}, consumer, 0, groups, count))  # type: ignore[arg-type]
    promote(fs, HERE)
    file = fs.open(HERE / SNAPSHOT_NAME)
    return file.pread(file.size(), 0)


def seeds() -> list[bytes]:
    whole = snapshot(1, 2, with_open=True)
    blocks_beyond_the_end = whole[:OPEN_AT] + struct.pack("<Q", len(whole) + 9) + whole[OPEN_AT + 8 :]
    open_beyond_the_end = whole[:-3]
    return [bytes((3,)) + snapshot(*each) for each in ((0, 1), (1, 1), (2, 3))] + [
        b"\0" + whole,
        b"\3" + blocks_beyond_the_end,
        b"\3" + open_beyond_the_end,
    ]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.1 or len(data) < 2:
        data = b"\3" + snapshot(chance.randrange(4), chance.randint(1, 4), with_open=chance.random() < 0.5)
    return bytes((chance.choice((3, 3, 3, 2, 1, 0)),)) + edited(data[1:], chance)

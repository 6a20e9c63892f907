"""Bit rot: durable bytes of the offsets log of a node change, while it is up or down.

Nothing is chosen that nothing on a disk shows (docs/guarantees.md):
* bytes of the log beyond its recovery point and its snapshot, which look like a write that had not ended;
* the base offset of a batch, which no checksum covers.
One file of a node is rotten at a time, so that the others show what is wrong with it.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

from coordinator.simulation.node import DATA
from coordinator.storage.file_names import (
    CLEANER_CHECKPOINT_NAME,
    COMPACTION_DIR,
    SNAPSHOT_NAME,
    offsets_partition,
)
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from coordinator.storage.log.fs import read_whole
from coordinator.storage.log.segment import BATCH_HEADER_BYTES, SIZE_PREFIX_BYTES
from coordinator.storage.log.swap import INTENT_NAME
from coordinator.storage.snapshot.file import evidence

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from coordinator.simulation.disk import LossyFileSystem
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.world import World

LOG: Final = ".log"
FILES: Final = (  # part of a path
    LOG,
    LOG,
    LOG,
    ".index",
    ".timeindex",
    SNAPSHOT_NAME,
    SNAPSHOT_NAME,
    RECOVERY_CHECKPOINT_NAME,
    CLEANER_CHECKPOINT_NAME,
    INTENT_NAME,
    COMPACTION_DIR,
)
HINTS: Final = (".index", ".timeindex", SNAPSHOT_NAME, CLEANER_CHECKPOINT_NAME, COMPACTION_DIR)  # only save time
HEAD_BYTES: Final = 64
NUMBER: Final = re.compile(rb"\d+")
_EXTENT: Final = struct.Struct(">qi11xi")  # base offset, length, last offset delta
_BASE_OFFSET_BYTES: Final = 8


def begin(world: World, node: SimulatedNode, chance: random.Random, kind: str, bits: int) -> None:
    """Change bits of one file whose path contains `kind`, or of another if there is none."""
    disk = node.disk.durable()
    paths = sorted(path for path in node.disk.durable_files() if _belongs_to_the_log(path))
    found = [path for path in paths if kind in str(path)] or paths
    chance.shuffle(found)
    for path in found:
        spans = list(_spans(disk, path, chance))
        if not spans:
            continue
        flips = {chance.choice(chance.choice(spans)): 1 << chance.randrange(8) for _ in range(bits)}
        for position, mask in flips.items():
            node.disk.rot(path, position, mask)
        world.note(f"{node.name}: bytes of {path.relative_to(DATA)} rot: {sorted(flips)}")
        node.rotten = str(path)
        node.must_serve = any(each in path.name or each in path.parts for each in HINTS)
        return


def _belongs_to_the_log(path: Path) -> bool:
    parts = path.relative_to(DATA).parts
    if parts[0] == COMPACTION_DIR:
        return "in" not in parts  # other names of segments
    return parts == (CLEANER_CHECKPOINT_NAME,) or (offsets_partition(parts[0]) is not None and path.suffix != ".cut")


def _spans(disk: LossyFileSystem, path: Path, chance: random.Random) -> Iterator[range]:
    """Yield ranges of bytes whose change must be noticed, or must not matter."""
    data = read_whole(disk, path)
    partition = offsets_partition(path.parent.name)
    if LOG not in path.name or partition is None:
        if data:
            yield range(len(data))
            yield range(min(len(data), HEAD_BYTES))  # which says how the rest is read
        if path.name == RECOVERY_CHECKPOINT_NAME:
            yield from (range(*number.span()) for number in NUMBER.finditer(data))
        return
    checkpoint = Checkpoint.read(disk, path.parent)
    bound = max(checkpoint.recovery_point if checkpoint else 0, evidence(disk, path.parent, partition).offset)
    position = 0
    while len(data) - position >= BATCH_HEADER_BYTES:
        base_offset, length, last_delta = _EXTENT.unpack_from(data, position)
        if base_offset + last_delta >= bound:
            return
        header = range(position + _BASE_OFFSET_BYTES, position + BATCH_HEADER_BYTES)
        position += SIZE_PREFIX_BYTES + length
        yield chance.choice((header, range(header.start, position)))  # headers are read without their checksum

"""`recovery-checkpoint` and `cleaner-offset-checkpoint`: read, or refused with a sentence, or taken as unknown."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from coordinator.storage.cleaner_checkpoint import read_checkpoint, write_checkpoint
from coordinator.storage.file_names import CLEANER_CHECKPOINT_NAME
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint, ListedSegment
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import read_whole
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with

HERE: Final = Path("/p")
WORDS: Final = (
    "0",
    "1",
    "-1",
    "",
    "=",
    "segment.7=7",
    "version=1",
    "\n",
    " ",
    "9" * 30,
    "\u0661",
    "1_0",
    "+5",
    "0x1",
    "\x85",
)


def check(data: bytes) -> None:
    fs = directory_with(HERE, {RECOVERY_CHECKPOINT_NAME: data, CLEANER_CHECKPOINT_NAME: data})
    try:
        found = Checkpoint.read(fs, HERE)
    except CorruptLogError as error:
        assert "checkpoint" in str(error)
    else:
        assert found is not None
        found.write(fs, HERE)
        assert Checkpoint.read(fs, HERE) == found
    clean = read_checkpoint(fs, HERE)
    write_checkpoint(fs, HERE, {3: 17})
    assert read_checkpoint(fs, HERE) == clean | {3: 17}


def seeds() -> list[bytes]:
    fs = directory_with(HERE, {})
    Checkpoint(5, 70, 40, 812, -1, (ListedSegment(5, 300), ListedSegment(40, 812))).write(fs, HERE)
    write_checkpoint(fs, HERE, {0: 5, 1: 7_000})
    return [read_whole(fs, HERE / name) for name in (RECOVERY_CHECKPOINT_NAME, CLEANER_CHECKPOINT_NAME)]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.4:
        return edited(data or b"0", chance)
    lines = data.decode(errors="replace").split("\n")
    at = chance.randrange(len(lines))
    separator = "=" if "=" in lines[at] else " "
    words = lines[at].split(separator)
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    lines[at] = separator.join(words)
    if chance.random() < 0.3:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return "\n".join(lines).encode(errors="surrogateescape")

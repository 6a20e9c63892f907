"""`marks.json` of a history: read and written as it was, or refused with a MarksError."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from coordinator.storage.file_names import MARKS_NAME
from coordinator.storage.history_marks import Mark, Marks, MarksError, read_marks, write_marks
from coordinator.storage.log.fs import read_whole
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with
from tests.fuzz.texts import other_json

HERE: Final = Path("/p")


def check(data: bytes) -> None:
    fs = directory_with(HERE, {MARKS_NAME: data})
    try:
        marks = read_marks(HERE, fs)
    except MarksError as error:
        assert "restore it from a copy" in str(error)
        return
    assert marks is not None
    write_marks(HERE, marks, fs)
    assert read_marks(HERE, fs) == marks


def seeds() -> list[bytes]:
    fs = directory_with(HERE, {})
    write_marks(HERE, Marks("cluster", 8, {0: Mark(7, 5, 3, 1_000, 2_000, 4), 3: Mark(0, -1, 0, -1, -1)}), fs)
    return [read_whole(fs, HERE / MARKS_NAME), b"[" * 400]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.2 or not data:
        data = seeds()[0]
    return other_json(data, chance) if kind < 0.7 else edited(data, chance)

"""Replacing segments in one step: an intent that is either not there, or carried out to its end, however often.

New files stand ready beside the old ones, under names that mean nothing to a log (`*.cleaned`), durable and with their
indexes. Then `swap.json` appears: which files take which names, with size and SHA-256, and which files go. That one
rename is the commit point. A crash before it leaves the old log and some strays; after it the next start does the rest
again, from wherever it stopped: a file that already has its name and its hash is left alone, one that still waits is
checked and renamed, what is to go is removed if it is there. Any number of files may replace any number.

Three acts in order: `commit`, `apply`, `finish` (the intent goes). Between the last two others may note what was done
(the cleaner's checkpoint); a crash there repeats the note. Every act calls `at_step` before it, so that tests can end
the process at each of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, read_whole

INTENT_NAME: Final = "swap.json"
DRAFT_NAME: Final = INTENT_NAME + ".tmp"
CLEANED: Final = ".cleaned"
_VERSION: Final = 1
_CHUNK: Final = 1 << 20
_FILE: Final = re.compile(r"\d{20}\.(log|index|timeindex|txnindex)")
_STRAY: Final = re.compile(r"\d{20}\.(log|index|timeindex|txnindex)\.cleaned|swap\.json\.tmp")


class SwapStep(StrEnum):
    """Every act of a replacement that changes the disk, in order; the first five belong to `staging.py`."""

    STAGE_COPY = "copy a chunk of an output to its place beside the log"
    STAGE_SYNC = "sync the copy"
    STAGE_INDEX = "write the indexes of the copy"
    STAGE_DRAFT = "write the draft of the intent"
    STAGE_SYNC_NAMES = "sync the names of copies and draft"
    COMMIT_RENAME = "give the draft the name of the intent"
    COMMIT_SYNC = "sync the name of the intent: the commit point"
    APPLY_RENAME = "give a copy its name in the log"
    APPLY_REMOVE = "remove a file that was replaced"
    APPLY_SYNC = "sync the names of the log"
    FINISH_REMOVE = "remove the intent"
    FINISH_SYNC = "sync its removal"
    REMOVE_STRAY = "remove a file of a replacement that never was"


AtStep = Callable[[str], None]


def no_step(_: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Add:
    """A file that takes its place in the log."""

    name: str
    staged: str  # its name until then, in the same directory
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to become of a directory."""

    plan_id: str  # whose work it is; for those who read the report
    clean_up_to: int  # offsets below it are clean afterwards; -1: nothing is said about that
    adds: tuple[Add, ...]
    removes: tuple[str, ...]  # some of them may never have existed

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return (json.dumps({"version": _VERSION, **asdict(self)}, indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> Intent:
        """CorruptLogError: these are not an intent's bytes, and only somebody else can have written them."""
        try:
            facts = json.loads(data)
            if facts["version"] != _VERSION:
                raise CorruptLogError(path, 0, f"format version {facts['version']} is not known to this program")
            intent = cls(
                str(facts["plan_id"]),
                int(facts["clean_up_to"]),
                tuple(Add(add["name"], add["staged"], int(add["size_bytes"]), add["sha256"]) for add in facts["adds"]),
                tuple(facts["removes"]),
            )
            intent._check()
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise CorruptLogError(
                path,
                0,
                f"not an intent to replace segments ({error}); restore the file, or copy the segments that it replaced "
                "back from compaction/jobs/*/in and remove it",
            ) from None
        return intent

    def _check(self) -> None:
        names: list[Any] = [*self.removes, *(add.name for add in self.adds)]
        for name in names:
            if not _FILE.fullmatch(name):
                raise ValueError(f"{name!r} is no file of a log")
        for add in self.adds:
            if Path(add.staged).name != add.staged or not add.staged.startswith(add.name + "."):
                raise ValueError(f"{add.staged!r} cannot become {add.name}")
        if len(set(names)) != len(names):
            raise ValueError("a file is named twice")


def files_of(base_offset: int) -> tuple[str, ...]:
    """The names of everything that belongs to the segment that begins here."""
    return tuple([f"{base_offset:020d}.{kind}" for kind in ("log", "index", "timeindex", "txnindex")])


def fingerprint(fs: FileSystem, path: Path) -> tuple[int, str]:
    """(size in bytes, SHA-256) of a file as it is now."""
    digest = hashlib.sha256()
    position = 0
    file = fs.open(path)
    try:
        while chunk := file.pread(_CHUNK, position):
            digest.update(chunk)
            position += len(chunk)
    finally:
        file.close()
    return position, digest.hexdigest()


def read_intent(fs: FileSystem, directory: Path, name: str = INTENT_NAME) -> Intent | None:
    """The intent of a directory, or its draft; None if there is none."""
    path = directory / name
    if not fs.exists(path):
        return None
    return Intent.from_bytes(read_whole(fs, path), path)


def write_draft(fs: FileSystem, directory: Path, intent: Intent, at_step: AtStep = no_step) -> None:
    """What `commit` will rename. Its content is durable on return, its name not yet."""
    at_step(SwapStep.STAGE_DRAFT)
    file = fs.open(directory / DRAFT_NAME, create=True)
    try:
        file.truncate(0)  # a leftover of an earlier crash
        file.pwrite(intent.to_bytes(), 0)
        file.fsync()
    finally:
        file.close()


def commit(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> None:
    """Turn the draft into the intent. Durable on return; after an OSError it may or may not be, see `withdraw`."""
    at_step(SwapStep.COMMIT_RENAME)
    fs.rename(directory / DRAFT_NAME, directory / INTENT_NAME)
    at_step(SwapStep.COMMIT_SYNC)
    fs.fsync_dir(directory)


def withdraw(fs: FileSystem, directory: Path) -> None:
    """Take an intent back that nothing was done for. OSError: it may still be carried out after a crash.

    Until this succeeded what it would rename must stay, and the log must not be cut below it.
    """
    with suppress(FileNotFoundError):
        fs.unlink(directory / INTENT_NAME)
    fs.fsync_dir(directory)


def apply(fs: FileSystem, directory: Path, intent: Intent, at_step: AtStep = no_step, *, verify: bool = True) -> None:
    """Do what is left of an intent; durable on return, and harmless to repeat.

    `verify` compares every file with its hash: at start anything may have happened. CorruptLogError: neither the live
    file nor the waiting one is what the intent names.
    """
    for add in intent.adds:
        if verify and _is(fs, directory / add.name, add):
            continue
        if verify and not _is(fs, directory / add.staged, add):
            raise CorruptLogError(
                directory / add.name,
                0,
                f"neither this file nor {add.staged} is what {INTENT_NAME} names; restore one of them, or copy the "
                f"segments that were replaced back from compaction/jobs/{intent.plan_id}/in and remove {INTENT_NAME}",
            )
        if verify or fs.exists(directory / add.staged):
            at_step(SwapStep.APPLY_RENAME)
            fs.rename(directory / add.staged, directory / add.name)
    for name in intent.removes:
        if fs.exists(directory / name):
            at_step(SwapStep.APPLY_REMOVE)
            fs.unlink(directory / name)
    at_step(SwapStep.APPLY_SYNC)
    fs.fsync_dir(directory)


def finish(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> None:
    """Forget an intent that was carried out; durable on return."""
    at_step(SwapStep.FINISH_REMOVE)
    with suppress(FileNotFoundError):
        fs.unlink(directory / INTENT_NAME)
    at_step(SwapStep.FINISH_SYNC)
    fs.fsync_dir(directory)


def remove_strays(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> list[str]:
    """Remove what was staged for a swap that is not wanted; not while an intent may name it. Returns the names."""
    strays = [name for name in fs.listdir(directory) if _STRAY.fullmatch(name)]
    for name in strays:
        at_step(SwapStep.REMOVE_STRAY)
        fs.unlink(directory / name)
    return strays


def leftovers(names: Iterable[str]) -> bool:
    """Whether any of a directory's names comes from a replacement."""
    return any(name == INTENT_NAME or _STRAY.fullmatch(name) for name in names)


def _is(fs: FileSystem, path: Path, add: Add) -> bool:
    if not fs.exists(path):
        return False
    file = fs.open(path)
    try:
        if file.size() != add.size_bytes:
            return False
    finally:
        file.close()
    return fingerprint(fs, path) == (add.size_bytes, add.sha256)

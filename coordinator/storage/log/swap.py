"""Atomic swap of segments: an intent file that is either absent, or carried out to its end, however often.

New files are prepared beside the old ones under names that a log ignores (`*.cleaned`), durable and with indexes. Then
`swap.json` appears: the new files with their final names, sizes and SHA-256, and the files to remove. That rename is
the commit point. A crash before it leaves the old log and some stray files. After it the next start carries the intent
out: a file with its final name and hash is left alone, a waiting file is checked and renamed, a file to remove is
removed if present. Any number of files may replace any number.

The order is `commit`, `apply`, `finish`. Between the last two the caller may note the result (the cleaner's
checkpoint); a crash there repeats the note. Every step calls `at_step` first, so that tests can end the process there.
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

import google_crc32c

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, file_size, read_whole

INTENT_NAME: Final = "swap.json"
DRAFT_NAME: Final = INTENT_NAME + ".tmp"
CLEANED: Final = ".cleaned"
_VERSION: Final = 1
_CHUNK: Final = 1 << 20
_INDEXES: Final = (".index", ".timeindex")
_FILE: Final = re.compile(r"\d{20}\.(log|index|timeindex|txnindex)")
_STRAY: Final = re.compile(r"\d{20}\.(log|index|timeindex|txnindex)\.cleaned|swap\.json\.tmp")


class SwapStep(StrEnum):
    """Every step of a swap that changes the disk, in order; the first five belong to `staging.py`."""

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
    REMOVE_STRAY = "remove a file of a swap that was not committed"


AtStep = Callable[[str], None]


def no_step(_: str) -> None:
    """Do nothing at a step."""


@dataclass(frozen=True, slots=True)
class Add:
    """A file that the swap adds to the log."""

    name: str
    staged: str  # its name before the swap, in the same directory
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Intent:
    """Content of `swap.json`: the files that a swap adds and removes."""

    plan_id: str  # id of the compaction plan, for the recovery report
    clean_up_to: int  # offsets below it are clean afterwards; -1: unknown
    adds: tuple[Add, ...]
    removes: tuple[str, ...]  # some of them may not exist

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        facts = {"version": _VERSION, **asdict(self)}
        return (json.dumps({"checksum": _checksum(facts), **facts}, indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> Intent:
        """Parse the bytes of the file. CorruptLogError: they are not an intent, so another program wrote them."""
        import msgspec  # late: 30 ms, and a start without an intent does not need it

        try:
            facts = msgspec.json.decode(data, type=dict[str, Any])
            if facts.get("version") != _VERSION:
                raise CorruptLogError(path, 0, f"format version {facts.get('version')} is not known to this program")
            if strange := facts.keys() - _KEYS:
                raise ValueError(f"{min(strange)!r} is no key of it")
            if "checksum" in facts and facts.pop("checksum") != _checksum(facts):  # an earlier version writes none
                raise ValueError("its checksum does not match")
            intent = msgspec.convert(facts, cls)
            intent._check()
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise CorruptLogError(
                path,
                0,
                f"not an intent to swap segments ({error}); restore the file, or copy the segments that it replaced "
                "back from compaction/jobs/*/in and remove it",
            ) from None
        return intent

    def _check(self) -> None:
        names = [*self.removes, *(add.name for add in self.adds)]
        for name in names:
            if not _FILE.fullmatch(name):
                raise ValueError(f"{name!r} is no file of a log")
        for add in self.adds:
            if Path(add.staged).name != add.staged or not add.staged.startswith(add.name + "."):
                raise ValueError(f"{add.staged!r} cannot become {add.name}")
        if len(set(names)) != len(names):
            raise ValueError("a file is named twice")


_KEYS: Final = {"version", "checksum", *Intent.__dataclass_fields__}


def _checksum(facts: dict[str, Any]) -> int:
    value: int = google_crc32c.value(json.dumps(facts, sort_keys=True).encode())
    return value


def files_of(base_offset: int) -> tuple[str, ...]:
    """Return the names of all files of the segment that begins at this offset."""
    return tuple([f"{base_offset:020d}.{kind}" for kind in ("log", "index", "timeindex", "txnindex")])


def fingerprint(fs: FileSystem, path: Path) -> tuple[int, str]:
    """Return (size in bytes, SHA-256) of a file."""
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
    """Return the intent of a directory, or its draft; None if there is none."""
    path = directory / name
    if not fs.exists(path):
        return None
    return Intent.from_bytes(read_whole(fs, path), path)


def write_draft(fs: FileSystem, directory: Path, intent: Intent, at_step: AtStep = no_step) -> None:
    """Write the file that `commit` renames. Its content is durable on return, its name is not."""
    at_step(SwapStep.STAGE_DRAFT)
    file = fs.open(directory / DRAFT_NAME, create=True)
    try:
        file.truncate(0)  # a leftover of an earlier crash
        file.pwrite(intent.to_bytes(), 0)
        file.fsync()
    finally:
        file.close()


def commit(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> None:
    """Rename the draft to the intent; durable on return. After an OSError it may still be durable: call `withdraw`."""
    at_step(SwapStep.COMMIT_RENAME)
    fs.rename(directory / DRAFT_NAME, directory / INTENT_NAME)
    at_step(SwapStep.COMMIT_SYNC)
    fs.fsync_dir(directory)


def withdraw(fs: FileSystem, directory: Path) -> None:
    """Remove an intent that was not applied. OSError: a crash may still cause it to be carried out.

    Until this succeeds, the staged files must stay, and the log must not be cut below the swapped segments.
    """
    with suppress(FileNotFoundError):
        fs.unlink(directory / INTENT_NAME)
    fs.fsync_dir(directory)


def apply(fs: FileSystem, directory: Path, intent: Intent, at_step: AtStep = no_step, *, verify: bool = True) -> None:
    """Carry out the rest of an intent; durable on return, and harmless to repeat.

    `verify` compares every file with its hash, as a start must. A damaged index is removed: the start builds it again.
    CorruptLogError: neither the live segment nor the staged one is what the intent names.
    """
    for add in intent.adds:
        if verify and _is(fs, directory / add.name, add):
            continue
        if verify and not _is(fs, directory / add.staged, add):
            if add.name.endswith(_INDEXES):
                _remove_both(fs, directory, add, at_step)
                continue
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


def _remove_both(fs: FileSystem, directory: Path, add: Add, at_step: AtStep) -> None:
    for name in (add.name, add.staged):  # the live one may belong to the segment that is replaced
        if fs.exists(directory / name):
            at_step(SwapStep.APPLY_REMOVE)
            fs.unlink(directory / name)


def finish(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> None:
    """Remove an intent that was carried out; durable on return."""
    at_step(SwapStep.FINISH_REMOVE)
    with suppress(FileNotFoundError):
        fs.unlink(directory / INTENT_NAME)
    at_step(SwapStep.FINISH_SYNC)
    fs.fsync_dir(directory)


def remove_strays(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> list[str]:
    """Remove the files staged for a cancelled swap and return their names; not while an intent may name them."""
    strays = [name for name in fs.listdir(directory) if _STRAY.fullmatch(name)]
    for name in strays:
        at_step(SwapStep.REMOVE_STRAY)
        fs.unlink(directory / name)
    return strays


def leftovers(names: Iterable[str]) -> bool:
    """Return True if any of a directory's names belongs to a swap."""
    return any(name == INTENT_NAME or _STRAY.fullmatch(name) for name in names)


def _is(fs: FileSystem, path: Path, add: Add) -> bool:
    if not fs.exists(path) or file_size(fs, path) != add.size_bytes:
        return False
    return fingerprint(fs, path) == (add.size_bytes, add.sha256)

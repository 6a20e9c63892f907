"""Preparation of a swap of segments: copies beside the log, their indexes, and the draft of the intent.

The slow work is done here, outside the writer thread: `stage` copies, checks, indexes and syncs (in a child process),
and `prepare` opens the result. The writer then only renames files and replaces a tuple (`Log.replace_segments`).

Outputs are copied, not linked, because the job may still hold them open. The copied bytes are the ones hashed.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.index import IndexDamagedError
from coordinator.storage.log.segment import Segment
from coordinator.storage.log.swap import (
    CLEANED,
    DRAFT_NAME,
    INTENT_NAME,
    Add,
    AtStep,
    Intent,
    SwapStep,
    files_of,
    fingerprint,
    leftovers,
    no_step,
    read_intent,
    remove_strays,
    withdraw,
    write_draft,
)

_CHUNK: Final = 1 << 20
_RESERVE: Final = 64 << 20  # bytes that stay free for appends to the log


class SwapRefusedError(LogError):
    """The swap does not match the log, or the copies are not as expected. Nothing has changed."""


class StagedFile(NamedTuple):
    """A finished file that will become the segment `name`."""

    path: Path
    name: str
    size_bytes: int
    sha256: str


class Replaced(NamedTuple):
    """A segment that the swap removes, as the plan found it."""

    base_offset: int
    next_offset: int
    size_bytes: int


class PreparedSwap(NamedTuple):
    """Input of `Log.replace_segments`."""

    intent: Intent
    replaces: tuple[Replaced, ...]  # the first segments of the log, without a gap
    segments: tuple[Segment, ...]  # loaded; their files still have the staged names

    def close(self) -> None:
        """Close the files; only if the swap was not committed."""
        for segment in self.segments:
            segment.file.close()


def stage(
    fs: FileSystem,
    directory: Path,
    sources: Sequence[StagedFile],
    replaces: Sequence[int],
    *,
    plan_id: str,
    clean_up_to: int,
    index_interval_bytes: int,
    at_step: AtStep = no_step,
) -> Intent:
    """Copy the sources beside the log, index them, and write the draft; durable on return.

    `replaces` are the first offsets of the segments to remove. Empty sources are left out: only the newest segment of
    a log may be empty. SwapRefusedError: a source is not as expected. OSError from the disk, ENOSPC before its reserve
    is used. After an error no staged file is left for `unstage` to remove.
    """
    _clear(fs, directory, at_step)
    needed = sum(source.size_bytes for source in sources)
    free = fs.free_bytes(directory)
    if free < needed + min(needed, _RESERVE):
        raise OSError(
            errno.ENOSPC, f"{needed} bytes of cleaned segments, and only {free} bytes are free", str(directory)
        )
    try:
        adds: list[Add] = []
        for source in sources:
            if source.size_bytes:
                adds += _stage_one(fs, directory, source, index_interval_bytes, at_step)
        taken = {add.name for add in adds}
        removes = tuple(name for base in replaces for name in files_of(base) if name not in taken)
        intent = Intent(plan_id, clean_up_to, tuple(adds), removes)
        write_draft(fs, directory, intent, at_step)
        at_step(SwapStep.STAGE_SYNC_NAMES)
        fs.fsync_dir(directory)
    except (OSError, SwapRefusedError):
        with suppress(OSError):
            remove_strays(fs, directory)
        raise
    return intent


def unstage(fs: FileSystem, directory: Path, at_step: AtStep = no_step) -> None:
    """Remove the files that `stage` made for a cancelled swap. OSError: an intent may still need them; try again."""
    _clear(fs, directory, at_step)


def prepare(
    fs: FileSystem, directory: Path, replaces: Sequence[Replaced], plan_id: str, index_interval_bytes: int
) -> PreparedSwap:
    """Open the files staged for a plan. SwapRefusedError: they are missing or incomplete."""
    intent = read_intent(fs, directory, DRAFT_NAME)
    if intent is None or intent.plan_id != plan_id:
        raise SwapRefusedError(f"{directory.name}: nothing is staged for the plan {plan_id}")
    segments: list[Segment] = []
    try:
        for add in intent.adds:
            if add.name.endswith(".log"):
                segment = _open(fs, directory, add, index_interval_bytes)
                segments.append(segment)
    except BaseException:
        for segment in segments:
            segment.file.close()
        raise
    return PreparedSwap(intent, tuple(replaces), tuple(segments))


def _open(fs: FileSystem, directory: Path, add: Add, index_interval_bytes: int) -> Segment:
    try:
        segment = Segment.open_staged(fs, directory / add.name, add.staged.removeprefix(add.name), index_interval_bytes)
    except (IndexDamagedError, FileNotFoundError) as error:
        raise SwapRefusedError(f"{add.staged} is not as it was staged: {error}") from None
    if segment.size_bytes != add.size_bytes:
        segment.file.close()
        raise SwapRefusedError(f"{add.staged} has {segment.size_bytes} bytes, {add.size_bytes} were staged")
    return segment


def _clear(fs: FileSystem, directory: Path, at_step: AtStep) -> None:
    """Remove stray files, after making sure that no intent, even a withdrawn one, still needs them."""
    names = fs.listdir(directory)
    if INTENT_NAME in names:
        raise SwapRefusedError(f"{directory.name}: a swap is under way")
    if leftovers(names):
        withdraw(fs, directory)
        remove_strays(fs, directory, at_step)


def _stage_one(
    fs: FileSystem, directory: Path, source: StagedFile, index_interval_bytes: int, at_step: AtStep
) -> list[Add]:
    path = directory / (source.name + CLEANED)
    _copy(fs, source, path, at_step)
    segment = Segment(fs, directory / source.name, fs.open(path), index_interval_bytes)
    try:
        damage = segment.scan()
        if damage:
            raise SwapRefusedError(f"{source.path.name}: at byte {damage.position}: {damage.reason}")
        at_step(SwapStep.STAGE_INDEX)
        segment.save_indexes(durable=True, final=True, suffix=CLEANED)
    finally:
        segment.file.close()
    adds = [Add(source.name, path.name, source.size_bytes, source.sha256)]
    for suffix in segment.index_suffixes:
        name = f"{source.name[:20]}{suffix}"
        adds.append(Add(name, name + CLEANED, *fingerprint(fs, directory / (name + CLEANED))))
    return adds


def _copy(fs: FileSystem, source: StagedFile, path: Path, at_step: AtStep) -> None:
    digest = hashlib.sha256()
    position = 0
    old = fs.open(source.path)
    try:
        new = fs.open(path, create=True)
        try:
            new.truncate(0)
            while chunk := old.pread(_CHUNK, position):
                at_step(SwapStep.STAGE_COPY)
                new.pwrite(chunk, position)
                digest.update(chunk)
                position += len(chunk)
            if (position, digest.hexdigest()) != (source.size_bytes, source.sha256):
                raise SwapRefusedError(f"{source.path.name} has changed since it was checked")
            at_step(SwapStep.STAGE_SYNC)
            new.fsync()
        finally:
            new.close()
    finally:
        old.close()

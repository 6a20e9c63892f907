"""Completes or removes at start a swap of segments that a crash interrupted, of this package or of Kafka.

An intent in `swap.json` (see `swap.py`) is carried out, and other staged files are removed.

Kafka marks a swap by suffixes. Its cleaner writes `.cleaned` files, renames them to `.swap` from the last to the first,
renames the replaced files to `.deleted`, and removes `.swap` from the names. At start, `.deleted` and `.cleaned` files
are removed, and so are `.swap` files at or beyond the first `.cleaned` one, because that set was not complete. The
other `.swap` files replace the segments in their range of offsets (Kafka's `LogLoader.load`). The same result is
reached here by writing an intent first, so that a second crash does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.inventory import note_replaced
from coordinator.storage.log.segment import Segment
from coordinator.storage.log.swap import (
    CLEANED,
    INTENT_NAME,
    Add,
    AtStep,
    Intent,
    SwapStep,
    apply,
    commit,
    fingerprint,
    finish,
    no_step,
    read_intent,
    remove_strays,
    write_draft,
)

KAFKA: Final = "kafka"  # instead of a plan's id
_SWAP: Final = ".swap"
_DELETED: Final = ".deleted"
_FILE: Final = re.compile(r"(\d{20})\.(?:log|index|timeindex|txnindex)(\.cleaned|\.swap|\.deleted)?")
_WALK_INDEX_BYTES: Final = 1 << 30  # no lookups, so no index is needed


def _nothing(_: Intent) -> None:
    pass


def recover(
    fs: FileSystem, directory: Path, at_step: AtStep = no_step, note: Callable[[Intent], None] = _nothing
) -> tuple[Intent | None, list[str]]:
    """Return (the intent that was carried out, the stray files that were removed). Run it before any other access.

    `note` is called with an intent that was carried out, before the intent is removed: a crash in between repeats both.
    CorruptLogError: the files differ from what the intent names; nothing was lost, and the log must not be opened.
    """
    removed: list[str] = []
    intent = read_intent(fs, directory)
    if intent is None:
        intent = _intent_of_kafka(fs, directory, removed, at_step)
        if intent is not None:
            write_draft(fs, directory, intent, at_step)
            commit(fs, directory, at_step)
    if intent is not None:
        apply(fs, directory, intent, at_step)
        note_replaced(fs, directory, intent)
        note(intent)
    removed += remove_strays(fs, directory, at_step)
    if intent is not None:
        finish(fs, directory, at_step)
    return intent, removed


def is_needed(names: list[str]) -> bool:
    """Return True if `recover` has work in a directory with these names."""
    return any(name.startswith(INTENT_NAME) or ((found := _FILE.fullmatch(name)) and found[2]) for name in names)


def _intent_of_kafka(fs: FileSystem, directory: Path, removed: list[str], at_step: AtStep) -> Intent | None:
    """Return the intent that Kafka's suffixes express; removes files of an incomplete or finished swap."""
    found = [match for name in fs.listdir(directory) if (match := _FILE.fullmatch(name))]
    by_suffix = {suffix: [one for one in found if one[2] == suffix] for suffix in (None, CLEANED, _SWAP, _DELETED)}
    first_cleaned = min((int(one[1]) for one in by_suffix[CLEANED]), default=1 << 63)
    incomplete = [one for one in by_suffix[_SWAP] if int(one[1]) >= first_cleaned]
    useless = [one[0] for one in (*by_suffix[_DELETED], *incomplete)]
    for name in useless:
        at_step(SwapStep.REMOVE_STRAY)
        fs.unlink(directory / name)
    if useless:
        fs.fsync_dir(directory)  # before `.cleaned` files are removed, which show that a set is incomplete
        removed += useless
    swaps = [one[0] for one in by_suffix[_SWAP] if one not in incomplete]
    if not swaps:
        return None
    adds = tuple(_add(fs, directory, name) for name in swaps)
    taken = {add.name for add in adds}
    ranges = [_extent(fs, directory, add) for add in adds if add.name.endswith(".log")]
    first = min((start for start, _ in ranges), default=0)
    end = max((end for _, end in ranges), default=0)
    replaced = [one[0] for one in by_suffix[None] if first <= int(one[1]) < end and one[0] not in taken]
    return Intent(KAFKA, -1, adds, tuple(replaced))


def _add(fs: FileSystem, directory: Path, name: str) -> Add:
    file = fs.open(directory / name)
    try:
        file.fsync()  # it may be a copy that was never synced
    finally:
        file.close()
    return Add(name.removesuffix(_SWAP), name, *fingerprint(fs, directory / name))


def _extent(fs: FileSystem, directory: Path, add: Add) -> tuple[int, int]:
    """Return the range of offsets that a `.swap` segment covers."""
    segment = Segment(fs, directory / add.name, fs.open(directory / add.staged), _WALK_INDEX_BYTES)
    try:
        damage = segment.scan()
    finally:
        segment.file.close()
    if damage:
        raise CorruptLogError(
            directory / add.staged,
            damage.position,
            f"{damage.reason}, in a segment that a cleaner was about to swap in; restore the file from a copy",
        )
    return segment.base_offset, segment.next_offset

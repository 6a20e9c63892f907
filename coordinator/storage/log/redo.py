"""At start: what a crash left of a replacement of segments is finished or swept away, ours and Kafka's alike.

Ours says what it wants in `swap.json` (see `swap.py`): it is carried out, and whatever else was staged goes.

Kafka says it with suffixes. Its cleaner writes `.cleaned` files, renames them to `.swap` from the last to the first,
renames what they replace to `.deleted`, and takes `.swap` away. On start `.deleted` and `.cleaned` files go; so do
`.swap` files at or beyond the first `.cleaned` one, since that set was not complete; what lies in the range of offsets
that the other `.swap` files cover goes, and they take its place (org.apache.kafka `LogLoader.load`). We come to the
same end by writing it down as an intent of our own first: then a second crash does no harm either.
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

KAFKA: Final = "kafka"  # in place of a plan's id
_SWAP: Final = ".swap"
_DELETED: Final = ".deleted"
_FILE: Final = re.compile(r"(\d{20})\.(?:log|index|timeindex|txnindex)(\.cleaned|\.swap|\.deleted)?")
_WALK_INDEX_BYTES: Final = 1 << 30  # nothing is looked up: no index is needed


def _nothing(_: Intent) -> None:
    pass


def recover(
    fs: FileSystem, directory: Path, at_step: AtStep = no_step, note: Callable[[Intent], None] = _nothing
) -> tuple[Intent | None, list[str]]:
    """Before anything else looks at a directory: (what was carried out, the strays that were removed).

    `note` is called for an intent that was carried out, before it is forgotten: a crash in between repeats both.
    CorruptLogError: the files are not what the intent names; nothing was lost, and nothing may go on.
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
    """Whether a directory with these names has anything for `recover` to do."""
    return any(name.startswith(INTENT_NAME) or ((found := _FILE.fullmatch(name)) and found[2]) for name in names)


def _intent_of_kafka(fs: FileSystem, directory: Path, removed: list[str], at_step: AtStep) -> Intent | None:
    """What Kafka's suffixes mean, as an intent; removes the files that mean nothing."""
    found = [match for name in fs.listdir(directory) if (match := _FILE.fullmatch(name))]
    by_suffix = {suffix: [one for one in found if one[2] == suffix] for suffix in (None, CLEANED, _SWAP, _DELETED)}
    first_cleaned = min((int(one[1]) for one in by_suffix[CLEANED]), default=1 << 63)
    incomplete = [one for one in by_suffix[_SWAP] if int(one[1]) >= first_cleaned]
    useless = [one[0] for one in (*by_suffix[_DELETED], *incomplete)]
    for name in useless:
        at_step(SwapStep.REMOVE_STRAY)
        fs.unlink(directory / name)
    if useless:
        fs.fsync_dir(directory)  # before the `.cleaned` files that made some of them useless
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
        file.fsync()  # it may have come here by a copy
    finally:
        file.close()
    return Add(name.removesuffix(_SWAP), name, *fingerprint(fs, directory / name))


def _extent(fs: FileSystem, directory: Path, add: Add) -> tuple[int, int]:
    """The offsets that a `.swap` segment covers."""
    segment = Segment(fs, directory / add.name, fs.open(directory / add.staged), _WALK_INDEX_BYTES)
    try:
        damage = segment.scan()
    finally:
        segment.file.close()
    if damage:
        raise CorruptLogError(
            directory / add.staged,
            damage.position,
            f"{damage.reason}, in a segment that a cleaner was about to put in place; restore the file from a copy",
        )
    return segment.base_offset, segment.next_offset

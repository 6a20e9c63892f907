"""The list of a log's segments in `recovery-checkpoint`: a start fails if one is missing or has lost bytes.

Offsets alone do not reveal a missing segment, since compaction leaves gaps and retention moves the start. The list
holds the first offset of each segment and the acknowledged, synced bytes of its file. No crash causes a false refusal:
* A segment is listed after its name is durable and everything below it is acknowledged.
* Retention writes the list before it removes a file. A swap writes it before its intent is removed.

The list is ignored after a Kafka broker has served the log: it may have rolled, merged and deleted segments. Kafka adds
its epoch to `leader-epoch-checkpoint` when it becomes the leader (`LeaderEpochFileCache.assign`); this package never
writes that file, so the list is valid only while the file's checksum is unchanged. Without a list (an earlier version,
or Kafka) nothing is checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from coordinator.storage.log.checkpoint import NO_EPOCHS, RECOVERY_CHECKPOINT_NAME, Checkpoint, ListedSegment
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, file_size, read_whole
from coordinator.storage.log.segment import Segment, segment_path
from coordinator.storage.log.swap import Intent

EPOCHS_NAME: Final = "leader-epoch-checkpoint"


def leader_epochs(fs: FileSystem, directory: Path) -> int:
    """Return a checksum of Kafka's file of leader epochs; `NO_EPOCHS` if there is none."""
    path = directory / EPOCHS_NAME
    return zlib.crc32(read_whole(fs, path)) if fs.exists(path) else NO_EPOCHS


def inventory(segments: Sequence[Segment], log_start_offset: int, recovery_point: int) -> tuple[ListedSegment, ...]:
    """Return the list of these segments: those that must not vanish, with the bytes that must not be cut from them."""
    finished = [
        ListedSegment(segment.base_offset, segment.size_bytes if segment.next_offset <= recovery_point else 0)
        for segment, successor in pairwise(segments)
        if segment.base_offset <= recovery_point and successor.base_offset > log_start_offset
    ]
    newest = segments[-1]
    return (
        (*finished, ListedSegment(newest.base_offset, 0)) if newest.base_offset <= recovery_point else tuple(finished)
    )


def refuse_loss(fs: FileSystem, directory: Path, bases: Sequence[int], checkpoint: Checkpoint) -> None:
    """Raise CorruptLogError if a listed segment is not among `bases`, or shorter than listed. Changes nothing."""
    start = checkpoint.log_start_offset
    listed = dict(checkpoint.segments)
    known = sorted({*listed, *bases})
    missing = [base for base, successor in pairwise(known) if base not in bases and successor > start]
    if known[-1] not in bases:
        missing.append(known[-1])
    if missing:
        raise CorruptLogError(segment_path(directory, missing[0]), -1, _missing(missing, known))
    for base in bases:
        size = file_size(fs, segment_path(directory, base)) if listed.get(base) else 0
        if size < listed.get(base, 0):
            raise CorruptLogError(
                segment_path(directory, base),
                size,
                f"the file ends, but it had {listed[base]} bytes, all of them on disk; restore it from a copy, or "
                f"remove {RECOVERY_CHECKPOINT_NAME} beside it to start without them",
            )


def _missing(missing: Sequence[int], known: Sequence[int]) -> str:
    base = missing[0]
    successor = next((other for other in known if other > base), None)
    others = len(missing) - 1
    return (
        f"the file is missing, and with it the records from offset {base} "
        + ("on" if successor is None else f"up to {successor}")
        + (f"; {others} other segment{'s are' if others > 1 else ' is'} missing, too" if others else "")
        + f"; restore from a copy, or remove {RECOVERY_CHECKPOINT_NAME} beside it to start without these records"
    )


def note_replaced(fs: FileSystem, directory: Path, intent: Intent) -> None:
    """Update the list after a start has completed a swap; durable on return."""
    checkpoint = Checkpoint.read(fs, directory)
    if checkpoint is None or not checkpoint.segments:
        return
    listed = dict(checkpoint.segments)
    for name in intent.removes:
        if name.endswith(".log"):
            listed.pop(int(name[:20]), None)
    listed.update((int(add.name[:20]), add.size_bytes) for add in intent.adds if add.name.endswith(".log"))
    checkpoint._replace(segments=tuple(ListedSegment(*one) for one in sorted(listed.items()))).write(fs, directory)

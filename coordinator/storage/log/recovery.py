"""Opening a log's directory: what is accepted, what is cut, and what is refused.

First a swap that a crash interrupted is completed (`redo.py`). Closed segments were synced before their successors were
made, so only their ends and indexes are checked; damage there is loss of durable records: `CorruptLogError`. The newest
segment is read batch by batch unless the log was closed cleanly, and cut at the first invalid byte as Kafka does. After
a power loss valid batches may follow a damaged one; they are saved to `<segment>.log.<position>.cut` before the cut.
Also refused are damage below the recovery point or below the offset of other `Evidence`, such as a snapshot, and a
segment that is missing or shorter than listed (`inventory.py`).
Bytes beyond the recovery point may be in the kernel's memory only, in pages that a failed sync left marked clean: they
are written once more and synced. Unknown files and those of Kafka (`*.snapshot`, `partition.metadata`) are left alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import NO_ROOM, FileSystem
from coordinator.storage.log.index import IndexDamagedError
from coordinator.storage.log.inventory import leader_epochs, refuse_loss
from coordinator.storage.log.redo import is_needed
from coordinator.storage.log.redo import recover as redo_swap
from coordinator.storage.log.segment import (
    BATCH_HEADER_BYTES,
    SIZE_PREFIX_BYTES,
    Damage,
    Segment,
    fault_in_batch,
    segment_path,
)

_SEGMENT_NAME = re.compile(r"\d{20}\.log")
_INDEX_NAME = re.compile(r"(\d{20})\.(index|timeindex|txnindex)")
# Possible start of a batch: an offset below 2**48, a length below 2**24, format 2. The checksum decides.
BATCH_BEGINS = re.compile(rb"(?s)(?=\x00\x00.{6}\x00.{3}.{4}\x02)")


class Evidence(NamedTuple):
    """A file that was made from the synced records of a log: all records below `offset` were on disk then."""

    offset: int
    file: str


NO_EVIDENCE: Final = Evidence(0, "")
FindEvidence = Callable[[FileSystem, Path, int], Evidence]  # for a partition and its directory


def no_evidence(fs: FileSystem, directory: Path, partition: int) -> Evidence:
    """Return `NO_EVIDENCE`: there is no such file."""
    return NO_EVIDENCE


class RemovedTail(NamedTuple):
    """Tail of a segment file that recovery removed."""

    file: str
    position: int
    bytes: int
    reason: str
    sound_batches_behind: int = 0  # batches that were cut although their own bytes are valid
    kept_as: str | None = None

    def __str__(self) -> str:
        text = f"{self.file}: cut {self.bytes} bytes at {self.position} ({self.reason})"
        if self.kept_as:
            text += (
                f"; {self.sound_batches_behind} sound batches behind it, kept in {self.kept_as}: "
                "acknowledged records may be among what was cut"
            )
        return text


@dataclass(slots=True)
class RecoveryReport:
    """Report of opening a log. `messages` returns one sentence per item, for the daemon's log file."""

    directory: Path
    clean: bool = False  # closed cleanly last time: only sizes and indexes were checked
    segments: int = 0
    checked_bytes: int = 0
    rewritten_bytes: int = 0  # beyond the recovery point, made durable by this start
    cuts: list[RemovedTail] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unsaved: list[str] = field(default_factory=list)  # files for which the disk had no room; a later start writes them
    swapped: str = ""  # id of the plan whose swap was completed; empty: none

    def messages(self) -> list[str]:
        lines = [str(cut) for cut in self.cuts]
        if self.swapped:
            lines.append(f"finished the swap of segments that {self.swapped} had begun")
        if self.rebuilt:
            lines.append(f"rebuilt the indexes of {', '.join(self.rebuilt)}")
        if self.removed:
            lines.append(f"removed {', '.join(self.removed)}")
        if self.unsaved:
            lines.append(f"the disk has no room for {', '.join(self.unsaved)}; the next start checks this log again")
        return [f"{self.directory.name}: {line}" for line in lines]


@dataclass(slots=True)
class Recovered:
    """Recovered state of a log, for `Log.open`. The last segment is the one to append to."""

    segments: list[Segment]
    checkpoint: Checkpoint
    leader_epochs: int  # checksum, from `inventory.leader_epochs`
    report: RecoveryReport


def recover(directory: Path, index_interval_bytes: int, fs: FileSystem, evidence: Evidence = NO_EVIDENCE) -> Recovered:
    """Open every segment of a directory, which is made if absent. CorruptLogError: durable records are damaged."""
    report = RecoveryReport(directory)
    if not fs.is_dir(directory):
        fs.mkdir(directory)
    names = fs.listdir(directory)
    if is_needed(names):
        intent, strays = redo_swap(fs, directory)
        report.swapped = intent.plan_id if intent else ""
        report.removed += strays
        names = fs.listdir(directory)
    checkpoint = Checkpoint.read(fs, directory)
    start = checkpoint.log_start_offset if checkpoint else 0
    epochs = leader_epochs(fs, directory)
    bases = segment_bases(names)
    if checkpoint and not bases:
        raise CorruptLogError(
            directory,
            0,
            f"no segment is left; restore them, or remove {RECOVERY_CHECKPOINT_NAME} to start an empty log",
        )
    if checkpoint and checkpoint.segments and checkpoint.leader_epochs == epochs:
        refuse_loss(fs, directory, bases, checkpoint)
    _tidy(directory, names, bases, fs, report)
    segments: list[Segment] = []
    try:
        segments.extend(Segment.open(fs, segment_path(directory, base), index_interval_bytes) for base in bases)
        if segments:
            _check_segments(segments, checkpoint, evidence, fs, report)
        else:
            segments.append(Segment.create(fs, directory, start, index_interval_bytes))
        if segments[-1].next_offset < start:
            # Records up to `start` were deleted before they were on disk. Continue at the old end of the log.
            segments.append(Segment.create(fs, directory, start, index_interval_bytes))
            report.clean = False
        while len(segments) > 1 and segments[0].next_offset <= start and segments[1].base_offset <= start:
            _drop(segments[0], segments, fs, report)  # a crash interrupted its deletion
        if not report.clean:
            fs.fsync_dir(directory)
            fs.fsync_dir(directory.parent)
    except BaseException:
        for segment in segments:
            segment.file.close()
        raise
    report.segments = len(segments)
    return Recovered(segments, checkpoint or Checkpoint(), epochs, report)


def segment_bases(names: list[str]) -> list[int]:
    """Return the first offsets of the segments among these file names, in order."""
    return sorted(int(name[:20]) for name in names if _SEGMENT_NAME.fullmatch(name))


def _tidy(directory: Path, names: list[str], bases: list[int], fs: FileSystem, report: RecoveryReport) -> None:
    """Remove indexes without a log file, and an unfinished checkpoint."""
    for name in names:
        orphan = _INDEX_NAME.fullmatch(name)
        if (orphan and int(orphan[1]) not in bases) or name == RECOVERY_CHECKPOINT_NAME + ".tmp":
            fs.unlink(directory / name)
            report.removed.append(name)


def _check_segments(
    segments: list[Segment],
    checkpoint: Checkpoint | None,
    evidence: Evidence,
    fs: FileSystem,
    report: RecoveryReport,
) -> None:
    """Check each segment as far as necessary; drop the empty ones that failed rolls left."""
    newest = segments[-1]
    filled = [segment for segment in segments if segment.file.size()]
    empty = [segment for segment in segments if segment not in filled]
    last = filled[-1] if filled else None
    for segment, successor in pairwise(filled):
        _check_finished(segment, successor, fs, report)
    if checkpoint and (checkpoint.clean_segment, checkpoint.clean_size) == (newest.base_offset, newest.file.size()):
        report.clean = _load(newest)
    if report.clean:
        in_use = newest
        if last and last is not newest:
            _check_finished(last, newest, fs, report)
        _refuse_loss(newest, None, checkpoint, evidence)
    else:
        end = 0
        if last:
            _check_newest(last, checkpoint, evidence, fs, report, gap_may_follow=last is not newest)
            end = last.next_offset
        # An empty segment that begins inside another comes from a failed roll, and so do all that follow it.
        in_use = next((segment for segment in empty if segment.base_offset >= end), newest if last is None else last)
        if in_use is not last:
            _check_newest(in_use, checkpoint, evidence, fs, report)
    for segment in empty:
        if segment is not in_use:
            _drop(segment, segments, fs, report)


def _load(segment: Segment) -> bool:
    try:
        segment.load()
    except IndexDamagedError:
        return False
    return True


def _check_finished(segment: Segment, successor: Segment, fs: FileSystem, report: RecoveryReport) -> None:
    try:
        segment.load()
    except IndexDamagedError:
        damage = segment.scan()
        report.checked_bytes += segment.size_bytes
        if damage:
            raise CorruptLogError(
                segment.path,
                damage.position,
                f"{damage.reason}, in a segment that was complete; restore the file from a copy",
            ) from None
        _save_indexes(segment, report, is_finished=True)
        report.rebuilt.append(segment.path.name)
    if segment.next_offset > successor.base_offset:
        # The successor was made after a failed write and a cut of this file, and the cut was not durable.
        position = segment.locate(successor.base_offset)
        _cut(segment, position, successor.base_offset, "records that the next segment replaces", fs, report)


def _drop(segment: Segment, segments: list[Segment], fs: FileSystem, report: RecoveryReport) -> None:
    segments.remove(segment)
    segment.delete()
    segment.file.close()
    report.removed.append(segment.path.name)


def _check_newest(
    segment: Segment,
    checkpoint: Checkpoint | None,
    evidence: Evidence,
    fs: FileSystem,
    report: RecoveryReport,
    *,
    gap_may_follow: bool = False,  # compaction may have removed the last records before the next segment
) -> None:
    damage = segment.scan()
    report.checked_bytes += segment.size_bytes
    if damage or not gap_may_follow:
        _refuse_loss(segment, damage, checkpoint, evidence)
    if damage:
        _refuse_old_format(segment, damage)
        _cut(segment, damage.position, segment.next_offset, damage.reason, fs, report)
    position = segment.locate(checkpoint.recovery_point) if checkpoint else 0
    segment.rewrite(position)
    segment.file.fsync()
    report.rewritten_bytes += segment.size_bytes - position
    _save_indexes(segment, report)


def _save_indexes(segment: Segment, report: RecoveryReport, *, is_finished: bool = False) -> None:
    """Save the indexes unless the disk is full: the next start then builds them again."""
    try:
        segment.save_indexes(durable=is_finished, final=is_finished)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        report.unsaved.append(f"the indexes of {segment.path.name}")


def _refuse_loss(newest: Segment, damage: Damage | None, checkpoint: Checkpoint | None, evidence: Evidence) -> None:
    """Raise CorruptLogError if the valid part of the newest segment ends below an offset that was on disk."""
    known = [evidence]
    if checkpoint:
        known.append(Evidence(checkpoint.recovery_point, RECOVERY_CHECKPOINT_NAME))
    lost = [one for one in known if newest.next_offset < one.offset]
    if lost:
        files = " and ".join(sorted((one.file for one in lost), reverse=True))
        raise CorruptLogError(
            newest.path,
            newest.size_bytes,
            f"{damage.reason if damage else 'the file ends'}, but the records up to offset {max(lost).offset} were on "
            f"disk; restore the file from a copy, or remove {files} beside it to start without them",
        )


def _refuse_old_format(segment: Segment, damage: Damage) -> None:
    """Raise CorruptLogError for a valid message of the format before Kafka 0.11, since a cut would drop a whole log."""
    head = segment.file.pread(SIZE_PREFIX_BYTES, damage.position)
    size = int.from_bytes(head[8:12], "big", signed=True)
    if not 5 <= size <= segment.file.size() - damage.position - SIZE_PREFIX_BYTES:
        return
    body = segment.file.pread(size, damage.position + SIZE_PREFIX_BYTES)
    if body[4] in (0, 1) and zlib.crc32(body[4:]) == int.from_bytes(body[:4], "big"):
        raise CorruptLogError(segment.path, damage.position, f"message format {body[4]}; only format 2 can be read")


def _cut(
    segment: Segment, position: int, next_offset: int, reason: str, fs: FileSystem, report: RecoveryReport
) -> None:
    """Cut a segment's file at `position`, saving the tail if it holds valid batches; durable on return."""
    size = segment.file.size()
    tail = segment.file.pread(size - position, position)
    sound = _sound_batches(tail, next_offset)
    kept_as = None
    if sound:
        kept_as = f"{segment.path.name}.{position}.cut"
        copy = fs.open(segment.path.with_name(kept_as), create=True)
        try:
            copy.truncate(0)
            copy.pwrite(tail, 0)
            copy.fsync()
        finally:
            copy.close()
        fs.fsync_dir(segment.path.parent)
    segment.cut(position, next_offset)
    segment.file.fsync()
    _save_indexes(segment, report)
    report.cuts.append(RemovedTail(segment.path.name, position, size - position, reason, sound, kept_as))


def _sound_batches(tail: bytes, least_offset: int) -> int:
    """Count the whole batches in these bytes that have a valid checksum and an offset of at least `least_offset`."""
    found = 0
    position = 0
    while match := BATCH_BEGINS.search(tail, position):
        position = match.start()
        size = SIZE_PREFIX_BYTES + int.from_bytes(tail[position + 8 : position + 12], "big")
        if (
            BATCH_HEADER_BYTES <= size <= len(tail) - position
            and fault_in_batch(tail, position, size, least_offset) is None
        ):
            found += 1
            position += size
        else:
            position += 1
    return found

"""Repair of a partition: a plan made from the findings of a check, told before it is carried out.

Damaged bytes and records are taken out of their segments, and saved in files `<segment>.<position>.cut` beside them.
The new segments and indexes are staged and swapped in by a redo intent (`coordinator.storage.log.swap`): a crash leaves
the old log or the new one. Files that are wrong as a whole are renamed to `….set-aside`. The log keeps its end: where
lost records had higher offsets, an empty batch holds their place, so that no offset is given twice.

The caller holds the lock of the data directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.compaction.rules import empty_batch, encode_record, new_times, rewritten_batch
from coordinator.core.offsets.raw_records import raw_name, readable
from coordinator.selfcheck.findings import (
    CutBytes,
    DropRecord,
    ForgetSegments,
    HoldEnd,
    PartitionReport,
    Reindex,
    SetAside,
)
from coordinator.selfcheck.walk import NO_LIMIT, Gap, SoundBatch, walk
from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from coordinator.storage.log.fs import FileSystem, read_whole
from coordinator.storage.log.index import MAX_RELATIVE_OFFSET
from coordinator.storage.log.recovery import segment_bases
from coordinator.storage.log.redo import is_needed
from coordinator.storage.log.redo import recover as redo_swap
from coordinator.storage.log.segment import Segment, segment_path
from coordinator.storage.log.swap import CLEANED, Add, Intent, commit, fingerprint, remove_strays, write_draft
from protocol.errors import ProtocolError
from protocol.record_batch import MAGIC, NO_PRODUCER, BatchHeader, build_batch, read_header, read_records

if TYPE_CHECKING:
    from pathlib import Path

PLAN_ID: Final = "repair"
CUT: Final = ".cut"
ASIDE: Final = ".set-aside"
NAMES_SHOWN: Final = 5


class Removed(NamedTuple):
    """Bytes or records that are taken out of a segment."""

    file: str
    position: int
    data: bytes  # whole batches, as they were
    sentence: str


@dataclass(slots=True)
class RepairPlan:
    """The changes to one partition, in terms of its segments."""

    directory: Path
    cuts: dict[int, set[int]] = field(default_factory=dict)  # segment -> positions
    drops: dict[int, dict[int, set[int]]] = field(default_factory=dict)  # segment -> batch -> offsets of records
    reindexed: list[int] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    forgets_segments: bool = False
    hold_end: int = 0
    rescued: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    finishes_swap: bool = False

    @property
    def is_empty(self) -> bool:
        changes = (self.cuts, self.drops, self.reindexed, self.asides, self.hold_end, self.rescued)
        return not (any(changes) or self.forgets_segments or self.finishes_swap)


def plan_of(fs: FileSystem, report: PartitionReport) -> RepairPlan:
    """Return the plan that removes the findings of a report."""
    plan = RepairPlan(report.directory, finishes_swap=is_needed(fs.listdir(report.directory)))
    if plan.finishes_swap:
        return plan  # the rest is known when it is finished
    for finding in report.findings:
        match finding.mend:
            case CutBytes(base, position, _):
                plan.cuts.setdefault(base, set()).add(position)
            case DropRecord(base, position, _, log_offset):
                plan.drops.setdefault(base, {}).setdefault(position, set()).add(log_offset)
            case Reindex(base):
                plan.reindexed.append(base)
            case SetAside(name):
                plan.asides.append(name)
            case ForgetSegments():
                plan.forgets_segments = True
            case HoldEnd(offset):
                plan.hold_end = max(plan.hold_end, offset)
            case None:
                pass
    plan.rescued = report.rescued
    bases = segment_bases(fs.listdir(report.directory))
    if plan.hold_end and (not bases or plan.hold_end - bases[-1] > MAX_RELATIVE_OFFSET):
        plan.hold_end = 0  # no log has such an end: the files that name it are wrong
        plan.asides += [
            name for name in (RECOVERY_CHECKPOINT_NAME, SNAPSHOT_NAME) if fs.exists(report.directory / name)
        ]
    plan.asides = list(dict.fromkeys(plan.asides))
    return plan


def sentences(fs: FileSystem, plan: RepairPlan) -> Iterator[str]:
    """Say what the plan takes out, and what it writes. Reads the damaged segments; changes nothing."""
    if plan.finishes_swap:
        yield "finish the swap of segments that has begun, then look again"
    for base, limit in _segments(fs, plan):
        for piece in _rewritten(fs, plan, base, limit):
            if isinstance(piece, Removed):
                yield f"take out of {piece.file}, at byte {piece.position}: {piece.sentence}"
    if plan.rescued:
        groups = dict.fromkeys(readable(raw_name(key)) for key, _ in plan.rescued)
        yield (
            f"write {len(plan.rescued)} records of {len(groups)} groups ({_names(groups)}) to the end of the log, from "
            f"{SNAPSHOT_NAME}, which has what the damaged batches held"
        )
    if plan.hold_end:
        yield f"add an empty batch, so that the log ends at offset {plan.hold_end} and no offset is given twice"
    for base in plan.reindexed:
        yield f"build the indexes of {segment_path(plan.directory, base).name} again"
    if plan.forgets_segments:
        yield (
            f"empty the list of segments in {RECOVERY_CHECKPOINT_NAME}: the records of the missing or shortened "
            "segment are lost, and so are the newest commits of the groups in it"
        )
    for name in plan.asides:
        yield f"rename {name} to {name}{ASIDE}"


def carry_out(fs: FileSystem, plan: RepairPlan, index_interval_bytes: int) -> list[str]:
    """Change the partition as planned; durable on return. Returns the names of files that keep what was taken out.

    OSError: it may be run again, and finds the log in its old or its new form.
    """
    directory = plan.directory
    if plan.finishes_swap:
        redo_swap(fs, directory)
        return []
    remove_strays(fs, directory)
    kept = _save_removed(fs, plan)
    if RECOVERY_CHECKPOINT_NAME in plan.asides:  # first, because the swap reads it
        kept.append(_set_aside(fs, directory, RECOVERY_CHECKPOINT_NAME))
    elif plan.forgets_segments and (checkpoint := Checkpoint.read(fs, directory)) is not None:
        kept.append(
            _save(fs, directory / RECOVERY_CHECKPOINT_NAME, ASIDE, read_whole(fs, directory / RECOVERY_CHECKPOINT_NAME))
        )
        checkpoint._replace(segments=(), clean_segment=-1, clean_size=-1).write(fs, directory)
    adds: list[Add] = []
    for base, limit in _segments(fs, plan):
        adds += _stage(fs, plan, base, limit, index_interval_bytes)
    staged = {add.name for add in adds}
    for base in plan.reindexed:
        if segment_path(directory, base).name not in staged:
            adds += _stage_indexes(fs, directory, base, index_interval_bytes, suffix="")
    if adds:
        write_draft(fs, directory, Intent(PLAN_ID, -1, tuple(adds), ()))
        fs.fsync_dir(directory)
        commit(fs, directory)
        redo_swap(fs, directory)
    kept += [_set_aside(fs, directory, name) for name in plan.asides if name != RECOVERY_CHECKPOINT_NAME]
    return kept


def set_aside(fs: FileSystem, directory: Path, names: Sequence[str]) -> list[str]:
    """Rename files of a data directory that are wrong as a whole; durable on return."""
    return [_set_aside(fs, directory, name) for name in names]


# -- segments ------------------------------------------------------------------------------------------------------


def _segments(fs: FileSystem, plan: RepairPlan) -> list[tuple[int, int]]:
    """Return the segments that are written again: their first offsets, and those of their successors."""
    bases = segment_bases(fs.listdir(plan.directory))
    changed = {*plan.cuts, *plan.drops} | ({bases[-1]} if bases and (plan.hold_end or plan.rescued) else set())
    return [(base, limit) for base, limit in pairwise([*bases, NO_LIMIT]) if base in changed]


def _rewritten(fs: FileSystem, plan: RepairPlan, base: int, limit: int) -> Iterator[bytes | Removed]:
    """Yield the bytes of a new segment, and between them what is taken out."""
    path = segment_path(plan.directory, base)
    cuts, drops = plan.cuts.get(base, set()), plan.drops.get(base, {})
    file = fs.open(path)
    end = base
    last: BatchHeader | None = None
    gap: Gap | None = None
    try:
        for piece in walk(file, file.size(), base, limit):
            if isinstance(piece, Gap):
                if gap is not None:
                    yield _of_gap(path, file.pread(gap.size, gap.position), gap, -1)
                gap = piece
                continue
            if gap is not None:
                yield _of_gap(path, file.pread(gap.size, gap.position), gap, piece.header.base_offset)
                gap = None
            header, data, position = piece.header, piece.data, piece.position
            last, end = header, header.last_offset + 1
            if position in cuts:
                yield Removed(path.name, position, data, f"the batch of the offsets {header.base_offset} to {end - 1}")
                yield empty_batch(header)
            elif position in drops:
                yield Removed(path.name, position, data, _of_records(piece, drops[position]))
                yield _without(piece, drops[position])
            else:
                yield data
        if gap is not None:
            next_offset = -1 if limit == NO_LIMIT else limit
            yield _of_gap(path, file.pread(gap.size, gap.position), gap, next_offset)
    finally:
        file.close()
    if limit == NO_LIMIT:
        yield from _closing(plan, last, end)


def _closing(plan: RepairPlan, last: BatchHeader | None, end: int) -> Iterator[bytes]:
    """Yield the batches at the end of the log that hold its end, and records from the snapshot."""
    timestamp_ms = -1 if last is None else last.max_timestamp
    epoch = 0 if last is None else last.partition_leader_epoch
    if plan.hold_end > end:
        delta = plan.hold_end - end - 1
        fields = (end, 0, epoch, MAGIC, 0, 0, delta, -1, timestamp_ms, NO_PRODUCER, NO_PRODUCER, NO_PRODUCER, 0)
        yield empty_batch(BatchHeader._make(fields))
        end = plan.hold_end
    for start in range(0, len(plan.rescued), _RECORDS_AT_ONCE):
        some = plan.rescued[start : start + _RECORDS_AT_ONCE]
        yield bytes(build_batch(some, base_offset=end, timestamp_ms=timestamp_ms, leader_epoch=epoch))
        end += len(some)


_RECORDS_AT_ONCE: Final = 1000


def _without(batch: SoundBatch, offsets: set[int]) -> bytes:
    """Return a batch without some of its records. One that loses all keeps its place."""
    header = batch.header
    records = [record for record in read_records(batch.data, 0, header) if record.offset not in offsets]
    if not records:
        return empty_batch(header)
    times = new_times(header, [record.timestamp_ms for record in records], None)
    encoded = [
        encode_record(record, record.timestamp_ms - times.base_ms, record.offset - header.base_offset)
        for record in records
    ]
    return rewritten_batch(header, b"".join(encoded), len(records), times)


def _of_records(batch: SoundBatch, offsets: set[int]) -> str:
    records = [record for record in read_records(batch.data, 0, batch.header) if record.offset in offsets]
    groups = dict.fromkeys(readable(raw_name(record.key or b"")) for record in records)
    where = ", ".join(str(record.offset) for record in records)
    return f"{len(records)} records of a sound batch, offsets {where}, groups {_names(groups)}"


def _of_gap(path: Path, data: bytes, gap: Gap, next_offset: int) -> Removed:
    if gap.is_zero:
        return Removed(path.name, gap.position, data, f"{gap.size} zero bytes behind the last batch")
    lost = f"offsets from {gap.due_offset} on" if next_offset < 0 else f"offsets {gap.due_offset} to {next_offset - 1}"
    if next_offset == gap.due_offset:
        lost = "no offset is missing without it"
    sentence = f"{gap.size} bytes ({gap.reason}), {lost}"
    try:
        header = read_header(data)
        records = read_records(data[: header.size_bytes], 0, header)
        groups = dict.fromkeys(readable(raw_name(record.key or b"")) for record in records)
        sentence += f"; {len(records)} records can be told apart in it, which name the groups {_names(groups)}"
    except ProtocolError:
        sentence += "; which groups they were of cannot be told"
    return Removed(path.name, gap.position, data, sentence)


def _names(groups: dict[str | None, None]) -> str:
    names = [name for name in groups if name is not None]
    shown = ", ".join(map(repr, names[:NAMES_SHOWN]))
    more = len(groups) - min(len(names), NAMES_SHOWN)
    return f"{shown}{' and ' if shown and more else ''}{f'{more} more' if more else ''}" or "none"


# -- files ---------------------------------------------------------------------------------------------------------


def _save_removed(fs: FileSystem, plan: RepairPlan) -> list[str]:
    """Write what will be taken out beside its segment; durable on return."""
    kept = [
        _save(fs, plan.directory / f"{piece.file}.{piece.position}", CUT, piece.data)
        for base, limit in _segments(fs, plan)
        for piece in _rewritten(fs, plan, base, limit)
        if isinstance(piece, Removed)
    ]
    if kept:
        fs.fsync_dir(plan.directory)
    return kept


def _save(fs: FileSystem, path: Path, suffix: str, data: bytes) -> str:
    """Write a file with a name that is free, or that a former attempt has used for the same bytes; return the name."""
    target = _free(fs, path, suffix, data)
    file = fs.open(target, create=True)
    try:
        file.truncate(0)
        file.pwrite(data, 0)
        file.fsync()
    finally:
        file.close()
    return target.name


def _free(fs: FileSystem, path: Path, suffix: str, data: bytes | None = None) -> Path:
    number = 0
    while True:
        target = path.with_name(f"{path.name}{f'.{number}' if number else ''}{suffix}")
        if not fs.exists(target) or (data is not None and data.startswith(read_whole(fs, target))):
            return target
        number += 1


def _set_aside(fs: FileSystem, directory: Path, name: str) -> str:
    target = _free(fs, directory / name, ASIDE)
    fs.rename(directory / name, target)
    fs.fsync_dir(directory)
    return target.name


def _stage(fs: FileSystem, plan: RepairPlan, base: int, limit: int, index_interval_bytes: int) -> list[Add]:
    """Write a new segment beside the old one, with its indexes; durable on return."""
    name = segment_path(plan.directory, base).name
    file = fs.open(plan.directory / (name + CLEANED), create=True)
    position = 0
    try:
        file.truncate(0)
        for piece in _rewritten(fs, plan, base, limit):
            if not isinstance(piece, Removed):
                file.pwrite(piece, position)
                position += len(piece)
        file.fsync()
    finally:
        file.close()
    adds = [Add(name, name + CLEANED, *fingerprint(fs, plan.directory / (name + CLEANED)))]
    return adds + _stage_indexes(fs, plan.directory, base, index_interval_bytes, suffix=CLEANED)


def _stage_indexes(fs: FileSystem, directory: Path, base: int, index_interval_bytes: int, *, suffix: str) -> list[Add]:
    """Write the indexes of a segment, whose file has a suffix if it is staged itself."""
    path = segment_path(directory, base)
    segment = Segment(fs, path, fs.open(path.with_name(path.name + suffix)), index_interval_bytes)
    try:
        segment.scan()
        segment.save_indexes(durable=True, final=True, suffix=CLEANED)
    finally:
        segment.file.close()
    adds = []
    for index in segment.index_suffixes:
        name = path.with_suffix(index).name
        adds.append(Add(name, name + CLEANED, *fingerprint(fs, directory / (name + CLEANED))))
    return adds

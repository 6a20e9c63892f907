"""Compaction of one log partition in columns, in one process and without Spark; a task of the Spark job runs it.

It has three steps, which the distributed mode runs as separate tasks. `scan_segment` reads one segment and returns its
newest record of each key. `resolved` takes the digests of all segments of the partition and decides the transactions
that cross their edges. `write_group` reads some segments again, with the offsets that survive, and writes one output.
Between the steps only keys, offsets and a few batch headers pass, never values.

A test compares the files with those of an oracle, byte for byte. Names of outputs end in a random token, so a task that
is retried, or run twice at a time, never writes into another task's file.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from coordinator.columnar.batches import Int64s
from coordinator.compaction.boundaries import SurveyedBatch, divided, is_exact, judged, surveyed
from coordinator.compaction.plan import (
    CompactionStats,
    InputError,
    InputSegment,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
)
from coordinator.compaction.rules import Fate, Round, group_segments
from coordinator.compaction.segment_rewrite import Rewritten, rewrite_segment
from coordinator.compaction.segment_scan import (
    Newest,
    OpenTransaction,
    Scan,
    batches_of,
    events_of,
    merged,
    read_planned,
    scan_segment,
)

_GATHERED_KEYS: Final = 1 << 20  # keys that are collected before they are merged with those already known


@dataclass(frozen=True, slots=True)
class GroupWritten:
    """The output of a group of segments, None if nothing survived, and the counts of `CompactionStats`."""

    output: OutputSegment | None
    counts: dict[str, int]


def compact_partition(plan: Plan, part: PartitionPlan, in_dir: Path, out_dir: Path) -> PartitionResult:
    """Compact one partition's inputs, `in_dir/<name>`, into files `out_dir/<name>.<attempt>`, synced to the device.

    `out_dir` is named after the partition. Bad inputs and a full disk do not raise: the result carries the error.
    """
    try:
        survivors, rounds = _survivors(plan, part, in_dir)
        groups = []
        done = 0
        for group in group_segments(part.inputs, plan.segment_bytes, part.clean_up_to):
            groups.append(write_group(group, rounds[done : done + len(group)], survivors, in_dir, out_dir))
            done += len(group)
        sync_directory(out_dir)
    except (InputError, OSError) as error:
        return failed(part, error)
    return result_of(part, groups, keys=len(survivors))


def _survivors(plan: Plan, part: PartitionPlan, in_dir: Path) -> tuple[Int64s, list[Round]]:
    """Return the offset of the newest record of every key, ascending, and the Round of each segment."""
    newest = Newest.none()
    gathered: list[Newest] = []
    scans: list[Scan] = []
    for segment in part.inputs:
        scan = scan_segment(segment, in_dir / segment.name)
        gathered.append(scan.newest)
        scans.append(scan.without_newest())
        if sum(map(len, gathered)) > max(_GATHERED_KEYS, len(newest)):
            newest = merged([newest, *gathered])
            gathered.clear()
    events: list[list[SurveyedBatch]] = [scan.events for scan in scans]
    if not is_exact(chain.from_iterable(events)):
        events = [all_events(segment, in_dir / segment.name) for segment in part.inputs]
    rounds = resolved(plan, part, events)
    open_keys: dict[bytes, int] = {}
    for scan, round_ in zip(scans, rounds, strict=True):
        for pending in scan.pending.values():
            fate = round_.fates.get(pending.first_batch, Fate(0))
            if Fate.UNDECIDED in fate:
                add_open_keys(open_keys, pending)
            elif Fate.ABORTED not in fate:
                gathered.append(pending.newest)
    newest = merged([newest, *gathered])
    return np.sort(newest.offsets), [round_.with_open_keys(open_keys) for round_ in rounds]


def add_open_keys(open_keys: dict[bytes, int], pending: OpenTransaction) -> None:
    """Add the keys of a transaction that stays undecided, each with its first offset."""
    for key, offset in zip(pending.newest.keys.to_pylist(), pending.first_offsets.tolist(), strict=True):
        open_keys[key] = min(offset, open_keys.get(key, offset))


def all_events(segment: InputSegment, path: Path) -> list[SurveyedBatch]:
    """Return every batch of a segment that a Survey needs, not only the digest."""
    data = read_planned(segment, path, verify=False)
    return events_of(data, batches_of(data, path, verify_crc=False), path)


def resolved(plan: Plan, part: PartitionPlan, events: Sequence[Iterable[SurveyedBatch]]) -> list[Round]:
    """Return the Round of each segment, from the digests of all of them."""
    shared = surveyed(chain.from_iterable(events)).round(
        now_ms=plan.now_ms, delete_retention_ms=plan.delete_retention_ms, clean_up_to=part.clean_up_to
    )
    return divided(shared, [segment.base_offset for segment in part.inputs])


def write_group(
    group: Sequence[InputSegment], rounds: Sequence[Round], survivors: Int64s, in_dir: Path, out_dir: Path
) -> GroupWritten:
    """Write what survives of some segments into one file, named after the first; no file if nothing survives.

    `survivors` ascend; those of other segments are ignored. Raises InputError, OSError.
    """
    counts: Counter[str] = Counter()
    with _Output(out_dir, group[0].name) as output:
        for segment, shared in zip(group, rounds, strict=True):
            path = in_dir / segment.name
            data = read_planned(segment, path, verify=False)
            batches = batches_of(data, path, verify_crc=False)
            events = events_of(data, batches, path)
            round_ = judged(events, shared) if events else shared
            low, high = np.searchsorted(survivors, (segment.base_offset, segment.next_offset)).tolist()
            for rewritten in rewrite_segment(data, batches, round_, survivors[low:high], counts, path):
                output.write(rewritten)
        return GroupWritten(output.finished(), dict(counts))


class _Output:
    """A file that is created with the first batch, and removed if it is not finished."""

    def __init__(self, directory: Path, name: str) -> None:
        self._name = name
        self._path = directory / f"{name}.{secrets.token_hex(8)}"
        self._fd = -1
        self._hash = hashlib.sha256()
        self._size = 0
        self._last: Rewritten | None = None
        self._first_offset = self._batches = self._records = 0
        self._max_timestamp_ms = -1
        self._is_finished = False

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            if not self._is_finished:
                self._path.unlink(missing_ok=True)

    def write(self, rewritten: Rewritten) -> None:
        if self._last is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self._first_offset = rewritten.first_offset
        data = b"".join(rewritten.parts)
        self._hash.update(data)
        self._size += len(data)
        self._batches += rewritten.batches
        self._records += rewritten.records
        self._max_timestamp_ms = max(self._max_timestamp_ms, rewritten.max_timestamp_ms)
        self._last = rewritten
        left = memoryview(data)
        while left:
            left = left[os.write(self._fd, left) :]

    def finished(self) -> OutputSegment | None:
        if self._last is None:
            return None
        os.fsync(self._fd)
        self._is_finished = True
        return OutputSegment(
            name=self._name,
            file=f"{self._path.parent.name}/{self._path.name}",
            size_bytes=self._size,
            sha256=self._hash.hexdigest(),
            records=self._records,
            batches=self._batches,
            first_offset=self._first_offset,
            next_offset=self._last.last_offset + 1,
            max_timestamp_ms=self._max_timestamp_ms,
        )


def sync_directory(directory: Path) -> None:
    """Sync the names of the files in a directory to the device. Does nothing if there is no such directory."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def failed(part: PartitionPlan, error: Exception) -> PartitionResult:
    """Return the result of a partition that cannot be compacted."""
    return PartitionResult(part.partition, part.inputs, (), error=f"partition {part.partition}: {error}")


def result_of(part: PartitionPlan, groups: Iterable[GroupWritten], *, keys: int) -> PartitionResult:
    """Return the result of a partition from the results of its groups, in their order."""
    counts: Counter[str] = Counter(keys=keys)
    outputs = []
    for group in groups:
        counts.update(group.counts)
        if group.output is not None:
            outputs.append(group.output)
    counts["bytes_before"] = sum(segment.size_bytes for segment in part.inputs)
    counts["bytes_after"] = sum(output.size_bytes for output in outputs)
    return PartitionResult(part.partition, part.inputs, tuple(outputs), CompactionStats(**counts))

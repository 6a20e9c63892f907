"""Making a plan: which log partitions are due, their closed segments pinned by hard links, hashed, and written down.

A pin keeps the very file: whatever becomes of the live name, the job reads what was planned, and removing the live name
later costs the writer thread next to nothing, because the file itself goes with its last link. The plan is written
last; pins without a plan are what a crash left, and go at the next start (`jobs.tidy`).

`view_of` takes the facts of an open log, in any thread, without touching the disk; the rest reads files and belongs
into a child process. When a partition is due, and how far it may be cleaned, says `eligibility.py`.
"""

from __future__ import annotations

import errno
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.compaction.eligibility import Cleanable, ClosedSegment, Lags, bounded, cleanable, dirtiest_first
from coordinator.compaction.jobs import open_jobs
from coordinator.compaction.plan import InputSegment, JobDir, Json, PartitionPlan, Plan, PlanError, jobs_dir
from coordinator.storage.cleaner_checkpoint import read_checkpoint
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.fs import FileSystem, remove_directory, write_atomically
from coordinator.storage.log.swap import AtStep, fingerprint, no_step

if TYPE_CHECKING:
    from coordinator.storage.log.log import Log

NO_LINKS: Final = frozenset({errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})


class PlanningStep(StrEnum):
    """What planning does to the disk, in order."""

    DIRECTORY = "make a directory of the job"
    PIN = "pin an input"
    SYNC_PINS = "sync the names of the pins"
    HASH = "hash an input"
    WRITE = "write the plan"


class PlanningError(Exception):
    """No plan can be made here. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class PlannedSegment(Json):
    """A segment that nobody writes to any more, all of it settled."""

    base_offset: int
    next_offset: int
    size_bytes: int
    max_timestamp_ms: int  # -1: none
    first_timestamp_ms: int  # the latest of its first batch; -1: none


@dataclass(frozen=True, slots=True)
class PlannedLog(Json):
    """The facts of an open log that a plan is made from."""

    partition: int
    closed: tuple[PlannedSegment, ...]  # from the log's first on
    active_base_offset: int  # where the first segment begins that is not closed, or not settled


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan is made by, beside the facts of the logs."""

    lags: Lags = field(default_factory=Lags)
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 100 << 20
    expiration_ms: int = 3_600_000
    max_dirty_bytes: int = 4 << 30  # of one plan
    not_beyond: Mapping[int, int] = field(default_factory=dict)  # partition -> first offset that must stay (history)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and why partitions are not in it."""

    plan: Plan | None
    reasons: dict[int, str]  # by partition, a clause each

    def sentence(self) -> str:
        """For whoever asked."""
        if self.plan is not None:
            count = len(self.plan.partitions)
            size = sum(segment.size_bytes for part in self.plan.partitions for segment in part.inputs)
            left = f"; {self.plan.left_bytes} more are due, for the next plan" if self.plan.left_bytes else ""
            return f"planned {count} partition{'s' * (count != 1)}, {size} bytes{left}"
        if not self.reasons:
            return "there is no log partition to compact"
        by_reason: dict[str, list[int]] = {}
        for partition, reason in sorted(self.reasons.items()):
            by_reason.setdefault(reason, []).append(partition)
        said = [f"{reason} (partition {', '.join(map(str, numbers))})" for reason, numbers in by_reason.items()]
        return f"nothing to compact: {'; '.join(said)}"


def view_of(partition: int, log: Log) -> PlannedLog:
    """What is closed and settled of a log at this moment. Any thread; no system calls."""
    segments = log.segments
    high_watermark = log.high_watermark
    closed = []
    active_base_offset = segments[0].base_offset
    for segment, successor in pairwise(segments):
        if successor.base_offset > high_watermark:
            break
        active_base_offset = successor.base_offset
        closed.append(
            PlannedSegment(
                segment.base_offset,
                segment.next_offset,
                segment.size_bytes,
                segment.max_timestamp,
                segment.first_timestamp,
            )
        )
    return PlannedLog(partition, tuple(closed), active_base_offset)


def survey(
    fs: FileSystem, data_dir: Path, views: Sequence[PlannedLog], *, now_ms: int, options: PlanOptions
) -> dict[int, Cleanable]:
    """By partition, what there would be to clean; for those who show it, or wait until it is worth it."""
    checkpoints = read_checkpoint(fs, data_dir)
    return {
        view.partition: cleanable(
            _facts(view),
            active_base_offset=view.active_base_offset,
            checkpoint=checkpoints.get(view.partition),
            lags=options.lags,
            now_ms=now_ms,
            not_beyond=options.not_beyond.get(view.partition),
        )
        for view in views
    }


def _facts(view: PlannedLog) -> list[ClosedSegment]:
    return [
        ClosedSegment(one.base_offset, one.size_bytes, one.max_timestamp_ms, one.first_timestamp_ms)
        for one in view.closed
    ]


def make_plan(
    fs: FileSystem,
    data_dir: Path,
    views: Sequence[PlannedLog],
    *,
    epoch: str,
    now_ms: int,
    options: PlanOptions,
    plan_id: str | None = None,
    at_step: AtStep = no_step,
) -> Planned:
    """A plan for the partitions that are due and have no open plan, as far as `max_dirty_bytes` go; durable on return.

    PlanningError: pins are impossible here, or a segment is not what the view says. OSError as the disk gives it.
    """
    found = survey(fs, data_dir, views, now_ms=now_ms, options=options)
    busy = {
        part.partition: job
        for job in open_jobs(fs, data_dir, epoch=epoch, now_ms=now_ms)
        for part in job.plan.partitions
    }
    reasons = {
        partition: reason
        for partition, one in found.items()
        if (reason := _reason(one, options, partition, busy.get(partition) is not None))
    }
    due = dirtiest_first([(number, one) for number, one in found.items() if number not in reasons], options.lags)
    if not due:
        return Planned(None, reasons)
    due, left_bytes = bounded(due, {view.partition: _facts(view) for view in views}, options.max_dirty_bytes)
    job = JobDir.of(data_dir, plan_id or new_plan_id(now_ms))
    by_partition = {view.partition: view for view in views}
    try:
        _make(fs, jobs_dir(data_dir).parent)
        _make(fs, jobs_dir(data_dir))
        at_step(PlanningStep.DIRECTORY)
        fs.mkdir(job.path)
        fs.fsync_dir(job.path.parent)
        _make(fs, job.pins)
        parts = [_pin(fs, data_dir, job, by_partition[number], one.clean_up_to, at_step) for number, one in due]
        plan = Plan(
            id=job.path.name,
            epoch=epoch,
            created_ms=now_ms,
            expires_ms=now_ms + options.expiration_ms,
            now_ms=now_ms,
            delete_retention_ms=options.delete_retention_ms,
            segment_bytes=options.segment_bytes,
            partitions=tuple(parts),
            left_bytes=left_bytes,
        )
        at_step(PlanningStep.WRITE)
        write_atomically(fs, job.plan, plan.to_bytes())
    except (OSError, PlanningError):
        remove_directory(fs, job.path)
        raise
    return Planned(plan, reasons)


def new_plan_id(now_ms: int) -> str:
    """Sorts by time, and is never given twice."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now_ms / 1000))}-{secrets.token_hex(4)}"


def _reason(found: Cleanable, options: PlanOptions, partition: int, is_busy: bool) -> str:
    """Why a partition is not due, as a clause; empty if it is."""
    if is_busy:
        return "an open plan has it already"
    if found.is_due(options.lags):
        return ""
    limit = options.not_beyond.get(partition)
    if found.clean_up_to <= found.first_dirty_offset and limit is not None and limit <= found.first_dirty_offset:
        return "the history has not been extracted yet"
    if not found.dirty_bytes:
        return "no closed segment is dirty; --roll closes the newest one"
    return f"the dirty part is not above {options.lags.min_cleanable_dirty_ratio:g} of it"


def _pin(
    fs: FileSystem, data_dir: Path, job: JobDir, view: PlannedLog, clean_up_to: int, at_step: AtStep
) -> PartitionPlan:
    live, pins = offsets_log_dir(data_dir, view.partition), job.in_dir(view.partition)
    _make(fs, pins, at_step)
    segments = [one for one in view.closed if one.base_offset < clean_up_to]
    names = [f"{one.base_offset:020d}.log" for one in segments]
    for name in names:
        at_step(PlanningStep.PIN)
        try:
            fs.link(live / name, pins / name)
        except OSError as error:
            if error.errno in NO_LINKS:
                raise PlanningError(
                    f"{live / name} cannot be pinned by a hard link ({error.strerror}); compaction needs a data "
                    "directory on a file system with hard links, such as ext4, xfs or apfs"
                ) from None
            if error.errno == errno.ENOENT:
                raise PlanningError(f"{live / name} is gone; ask for a new plan") from None
            raise
    at_step(PlanningStep.SYNC_PINS)
    fs.fsync_dir(pins)
    inputs = []
    for segment, name in zip(segments, names, strict=True):
        at_step(PlanningStep.HASH)
        size_bytes, sha256 = fingerprint(fs, pins / name)
        if size_bytes != segment.size_bytes:
            raise PlanningError(f"{live / name} has {size_bytes} bytes, not {segment.size_bytes}; ask for a new plan")
        inputs.append(InputSegment(name, size_bytes, sha256, segment.base_offset, segment.next_offset))
    part = PartitionPlan(view.partition, clean_up_to, tuple(inputs))
    try:
        return PartitionPlan.from_json(part.to_json())
    except PlanError as error:
        raise PlanningError(f"the segments of {live} do not fit together: {error}") from None


def _make(fs: FileSystem, path: Path, at_step: AtStep = no_step) -> None:
    if not fs.is_dir(path):
        at_step(PlanningStep.DIRECTORY)
        fs.mkdir(path)
        fs.fsync_dir(path.parent)

"""Makes a plan: selects the log partitions that are due, pins their closed segments by hard links, and hashes them.

A pin keeps the file: the job reads what was planned even after the live name is removed, and removing the live name
costs the writer thread little, because the file is freed with its last link. The plan is written last; pins without a
plan are left by a crash, and removed at the next start (`jobs.tidy`).

Planning reads files and runs in a child process. `eligibility.py` decides which partitions are due and how far they may
be compacted, from facts of the open logs.
"""

from __future__ import annotations

import errno
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from coordinator.compaction.eligibility import Cleanable, Lags, LogFacts, bounded, cleanable, dirtiest_first
from coordinator.compaction.jobs import open_jobs
from coordinator.compaction.plan import InputSegment, JobDir, PartitionPlan, Plan, PlanError, jobs_dir
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.cleaner_checkpoint import read_checkpoint
from coordinator.storage.file_names import log_dir
from coordinator.storage.log.fs import FileSystem, remove_directory, write_atomically
from coordinator.storage.log.swap import AtStep, fingerprint, no_step

NO_LINKS: Final = frozenset({errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})


class PlanningStep(StrEnum):
    """Changes of the disk while planning, in order. Tests stop at each of them."""

    DIRECTORY = "make a directory of the job"
    PIN = "pin an input"
    SYNC_PINS = "sync the names of the pins"
    HASH = "hash an input"
    WRITE = "write the plan"


class PlanningError(Exception):
    """No plan can be made. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The settings of a plan."""

    lags: Lags = field(default_factory=Lags)
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 100 << 20
    expiration_ms: int = 3_600_000
    max_dirty_bytes: int = 4 << 30  # of one plan
    not_beyond: Mapping[int, int] = field(default_factory=dict)  # partition -> first offset that must stay (history)
    topic: str = OFFSETS_TOPIC


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the reasons why partitions are not in it."""

    plan: Plan | None
    reasons: dict[int, str]  # by partition, a clause each

    def sentence(self) -> str:
        """Return the answer for the command and the log line."""
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


def survey(
    fs: FileSystem, data_dir: Path, views: Sequence[LogFacts], *, now_ms: int, options: PlanOptions
) -> dict[int, Cleanable]:
    """Return, by partition, what there is to compact."""
    checkpoints = read_checkpoint(fs, data_dir, options.topic)
    return {
        view.partition: cleanable(
            view.closed,
            active_base_offset=view.active_base_offset,
            checkpoint=checkpoints.get(view.partition),
            lags=options.lags,
            now_ms=now_ms,
            not_beyond=options.not_beyond.get(view.partition),
        )
        for view in views
    }


def make_plan(
    fs: FileSystem,
    data_dir: Path,
    views: Sequence[LogFacts],
    *,
    epoch: str,
    now_ms: int,
    options: PlanOptions,
    plan_id: str | None = None,
    at_step: AtStep = no_step,
) -> Planned:
    """Make a plan for the partitions that are due and have no open plan, up to `max_dirty_bytes`; durable on return.

    PlanningError: hard links are impossible here, or a segment is not what the facts say. OSError is passed on.
    """
    found = survey(fs, data_dir, views, now_ms=now_ms, options=options)
    busy = {
        part.partition: job
        for job in open_jobs(fs, data_dir, epoch=epoch, now_ms=now_ms)
        for part in job.plan.partitions
        if job.plan.topic == options.topic
    }
    reasons = {
        partition: reason
        for partition, one in found.items()
        if (reason := _reason(one, options, partition, busy.get(partition) is not None))
    }
    due = dirtiest_first([(number, one) for number, one in found.items() if number not in reasons], options.lags)
    if not due:
        return Planned(None, reasons)
    due, left_bytes = bounded(due, {view.partition: view.closed for view in views}, options.max_dirty_bytes)
    job = JobDir.of(data_dir, plan_id or new_plan_id(now_ms))
    by_partition = {view.partition: view for view in views}
    try:
        _make(fs, jobs_dir(data_dir).parent)
        _make(fs, jobs_dir(data_dir))
        at_step(PlanningStep.DIRECTORY)
        fs.mkdir(job.path)
        fs.fsync_dir(job.path.parent)
        _make(fs, job.pins)
        parts = [
            _pin(fs, log_dir(data_dir, options.topic, number), job, by_partition[number], one.clean_up_to, at_step)
            for number, one in due
        ]
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
            topic=options.topic,
        )
        at_step(PlanningStep.WRITE)
        write_atomically(fs, job.plan, plan.to_bytes())
    except (OSError, PlanningError):
        remove_directory(fs, job.path)
        raise
    return Planned(plan, reasons)


def new_plan_id(now_ms: int) -> str:
    """Return a unique id; ids sort by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now_ms / 1000))}-{secrets.token_hex(4)}"


def _reason(found: Cleanable, options: PlanOptions, partition: int, is_busy: bool) -> str:
    """Return why a partition is not planned, as a clause; empty if it is due."""
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


def _pin(fs: FileSystem, live: Path, job: JobDir, view: LogFacts, clean_up_to: int, at_step: AtStep) -> PartitionPlan:
    pins = job.in_dir(view.partition)
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
    try:
        for segment, name in zip(segments, names, strict=True):
            at_step(PlanningStep.HASH)
            size_bytes, sha256 = fingerprint(fs, pins / name)
            if size_bytes != segment.size_bytes:
                raise PlanningError(
                    f"{live / name} has {size_bytes} bytes, not {segment.size_bytes}; ask for a new plan"
                )
            inputs.append(InputSegment(name, size_bytes, sha256, segment.base_offset, segment.next_offset))
        return PartitionPlan(view.partition, clean_up_to, tuple(inputs))
    except PlanError as error:
        raise PlanningError(f"the segments of {live} do not fit together: {error}") from None


def _make(fs: FileSystem, path: Path, at_step: AtStep = no_step) -> None:
    if not fs.is_dir(path):
        at_step(PlanningStep.DIRECTORY)
        fs.mkdir(path)
        fs.fsync_dir(path.parent)

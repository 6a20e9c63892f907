"""The jobs of a data directory: which are open, how the others ended, and how long each is kept.

A job is open while it has a plan and neither DONE nor REFUSED. Both hold a sentence for the waiting command. A job that
was refused because its result was wrong stays complete, as evidence, for a week; the newest few are kept. A job that
was late, or belongs to an earlier run of the coordinator, is removed an hour after its plan expired, when no process
writes to it any more. DONE jobs keep their plan and manifest for a day.

Directories without a readable plan are left by a crash while planning; they are removed at start, under the lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from coordinator.compaction.plan import MAX_FILE_BYTES, JobDir, Json, Manifest, Plan, PlanError, jobs_dir
from coordinator.storage.log.fs import FileSystem, remove_directory, write_atomically
from coordinator.storage.log.swap import AtStep, no_step

GRACE_MS: Final = 3_600_000  # after the expiry of a plan: a job that still writes finds its directory
DONE_KEPT_MS: Final = 86_400_000
EVIDENCE_KEPT_MS: Final = 7 * 86_400_000
EVIDENCE_JOBS: Final = 3
EVIDENCE: Final = "EVIDENCE"  # an empty file that marks a refused job as evidence

JsonT = TypeVar("JsonT", bound=Json)


class JobStep(StrEnum):
    """Changes of the disk when a job ends. Tests stop at each of them."""

    EVIDENCE = "mark what was refused as evidence"
    SETTLE = "say DONE or REFUSED"
    DROP_FILES = "remove inputs and outputs"
    REMOVE_JOB = "remove a job"


_EXPIRED: Final = "the plan expired before a result came; ask for a new one"
_EARLIER_RUN: Final = (
    "the plan is of an earlier run of the coordinator; ask for a new one (partitions already swapped stay so)"
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that has a plan."""

    dir: JobDir
    plan: Plan


def read_plan(fs: FileSystem, job: JobDir) -> Plan:
    """Read the plan of a job. PlanError: there is none, or its id is not that of the directory."""
    plan = _read(fs, job.plan, Plan)
    if plan.id != job.path.name:
        raise PlanError(f"{job.plan} is the plan {plan.id}")
    return plan


def read_manifest(fs: FileSystem, job: JobDir) -> Manifest:
    """Read the manifest of a job. PlanError: there is none yet, or it cannot be used."""
    return _read(fs, job.manifest, Manifest)


def _read(fs: FileSystem, path: Path, kind: type[JsonT]) -> JsonT:
    if not fs.exists(path):
        raise PlanError(f"{path.parent} has no {path.name}")
    file = fs.open(path)
    try:
        data = file.pread(min(file.size(), MAX_FILE_BYTES + 1), 0)
    finally:
        file.close()
    try:
        return kind.from_bytes(data)
    except PlanError as error:
        raise PlanError(f"{path} cannot be used, {error}; ask for a new plan") from None


def all_jobs(fs: FileSystem, data_dir: Path) -> Iterator[Job]:
    """Yield the jobs with a readable plan, the oldest first."""
    jobs = []
    for path in _job_paths(fs, data_dir):
        with suppress(PlanError):
            jobs.append(Job(JobDir(path), read_plan(fs, JobDir(path))))
    yield from sorted(jobs, key=lambda job: (job.plan.created_ms, job.plan.id))


def is_settled(fs: FileSystem, job: JobDir) -> bool:
    """Return whether a job is DONE or REFUSED."""
    return fs.exists(job.done) or fs.exists(job.refused)


def expires_ms(job: JobDir, plan: Plan) -> int:
    """Return when a plan expires, in ms since the epoch: its life counts from its creation or last `JobDir.touch`."""
    try:
        touched_ms = job.plan.stat().st_mtime_ns // 1_000_000
    except OSError:
        touched_ms = plan.created_ms
    return plan.expires_ms + max(0, touched_ms - plan.created_ms)


def open_jobs(fs: FileSystem, data_dir: Path, *, epoch: str, now_ms: int) -> list[Job]:
    """Return the jobs of this run that are neither settled nor expired."""
    return [
        job
        for job in all_jobs(fs, data_dir)
        if job.plan.epoch == epoch and now_ms < expires_ms(job.dir, job.plan) and not is_settled(fs, job.dir)
    ]


def set_done(fs: FileSystem, job: JobDir, sentence: str, at_step: AtStep = no_step) -> None:
    """Write DONE with a sentence, and remove inputs and outputs. Idempotent."""
    if not is_settled(fs, job):
        at_step(JobStep.SETTLE)
        write_atomically(fs, job.done, f"{sentence}\n".encode())
    drop_files(fs, job, at_step)


def set_refused(fs: FileSystem, job: JobDir, sentence: str, *, evidence: bool, at_step: AtStep = no_step) -> None:
    """Write REFUSED with the reason. As evidence all files are kept, otherwise inputs and outputs are removed."""
    if not is_settled(fs, job):
        if evidence:
            at_step(JobStep.EVIDENCE)
            write_atomically(fs, job.path / EVIDENCE, b"")
        at_step(JobStep.SETTLE)
        write_atomically(fs, job.refused, f"{sentence}\n".encode())
    if not fs.exists(job.path / EVIDENCE):
        drop_files(fs, job, at_step)


def drop_files(fs: FileSystem, job: JobDir, at_step: AtStep = no_step) -> None:
    """Remove the pins and the outputs of a job. This frees the space of swapped inputs."""
    for directory in (job.pins, job.out):
        if fs.is_dir(directory):
            at_step(JobStep.DROP_FILES)
            remove_directory(fs, directory)


def sweep(fs: FileSystem, data_dir: Path, *, epoch: str, now_ms: int, at_step: AtStep = no_step) -> list[str]:
    """Give up expired plans and remove jobs that were kept long enough. Return the ids of the plans given up."""
    given_up = []
    evidence = 0
    for job in reversed(list(all_jobs(fs, data_dir))):
        created_ms, path = job.plan.created_ms, job.dir.path
        if not is_settled(fs, job.dir):
            reason = (
                _EARLIER_RUN if job.plan.epoch != epoch else _EXPIRED if now_ms >= expires_ms(job.dir, job.plan) else ""
            )
            if reason:
                set_refused(fs, job.dir, reason, evidence=False, at_step=at_step)
                given_up.append(job.plan.id)
        elif fs.exists(path / EVIDENCE):
            evidence += 1
            if evidence > EVIDENCE_JOBS or now_ms > created_ms + EVIDENCE_KEPT_MS:
                at_step(JobStep.REMOVE_JOB)
                remove_directory(fs, path)
        elif now_ms > max(expires_ms(job.dir, job.plan) + GRACE_MS, created_ms + DONE_KEPT_MS):
            at_step(JobStep.REMOVE_JOB)
            remove_directory(fs, path)
    return given_up


def tidy(fs: FileSystem, data_dir: Path, *, epoch: str, now_ms: int, at_step: AtStep = no_step) -> list[str]:
    """Remove at start what a crash left incomplete, then `sweep`, which gives up open plans of an earlier run."""
    for path in _job_paths(fs, data_dir):
        try:
            read_plan(fs, JobDir(path))
        except PlanError:
            at_step(JobStep.REMOVE_JOB)
            remove_directory(fs, path)
    for job in all_jobs(fs, data_dir):
        if is_settled(fs, job.dir) and not fs.exists(job.dir.path / EVIDENCE):
            drop_files(fs, job.dir, at_step)
    return sweep(fs, data_dir, epoch=epoch, now_ms=now_ms, at_step=at_step)


def _job_paths(fs: FileSystem, data_dir: Path) -> list[Path]:
    parent = jobs_dir(data_dir)
    if not fs.is_dir(parent):
        return []
    return [parent / name for name in fs.listdir(parent) if fs.is_dir(parent / name)]

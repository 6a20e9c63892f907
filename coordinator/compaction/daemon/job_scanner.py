"""Scans DATA_DIR/compaction about once a second, from a thread, and removes old files there.

A scan finds a waiting request, and the jobs that are not settled, with or without a manifest. Jobs without a plan of
this daemon are refused and kept as evidence; what an ended child left is removed. Every method does file work and
belongs into a thread.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.compaction import jobs
from coordinator.compaction.plan import JobDir, PlanError, jobs_dir
from coordinator.compaction.request import Request, RequestError, compaction_dir, read_request, sweep, touched_ms
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.file_names import REQUEST_NAME
from coordinator.storage.log.fs import remove_directory

if TYPE_CHECKING:
    from coordinator.storage.log.fs import FileSystem

MAX_JOBS: Final = 1000  # of one scan; further jobs wait until some are settled


class JobSeen(NamedTuple):
    """A job that is neither DONE nor REFUSED."""

    id: str
    has_plan: bool
    has_manifest: bool
    touched_ms: int  # when its plan was last worked on, or made; 0: there is none


class Seen(NamedTuple):
    """The result of one scan."""

    request: Request | None
    is_stale: bool  # the command that made the request has ended
    complaint: str  # why a file was no request, and was removed; mostly empty
    jobs: tuple[JobSeen, ...]


class JobScanner:
    """The scanner of one data directory."""

    def __init__(self, fs: FileSystem, data_dir: Path) -> None:
        self._fs = fs
        self._data_dir = data_dir
        self._settled: set[str] = set()  # jobs that need no further look

    def scan(self) -> Seen:
        """Scan once. OSError if the directory cannot be read."""
        complaint = ""
        is_stale = False
        try:
            request = read_request(self._data_dir)
            if request is not None:
                is_stale = request.is_stale(touched_ms(self._data_dir), wall_ms())
        except RequestError as error:
            request, complaint = None, str(error)
            (compaction_dir(self._data_dir) / REQUEST_NAME).unlink(missing_ok=True)
        return Seen(request, is_stale, complaint, tuple(self._unsettled()))

    def _unsettled(self) -> list[JobSeen]:
        found: list[JobSeen] = []
        try:
            with os.scandir(jobs_dir(self._data_dir)) as entries:
                names = [entry.name for entry in entries if entry.is_dir()]
        except FileNotFoundError:
            names = []
        self._settled.intersection_update(names)
        for name in sorted(names):
            if name in self._settled:
                continue
            job = self._job(name)
            if job is None or jobs.is_settled(self._fs, job):
                self._settled.add(name)
            elif len(found) < MAX_JOBS:
                found.append(_seen(name, job))
        return found

    def _job(self, name: str) -> JobDir | None:
        try:
            return JobDir.of(self._data_dir, name)
        except PlanError:
            return None  # not the id of a plan

    def dismiss(self, strays: list[JobSeen]) -> list[str]:
        """Settle jobs without a plan of this daemon. Return a sentence for each that was refused."""
        said = []
        for stray in strays:
            job = self._job(stray.id)
            if job is None:
                continue
            if not stray.has_plan and not stray.has_manifest:
                remove_directory(self._fs, job.path)  # left by a planner that was killed
                continue
            why = "this daemon did not make its plan" if stray.has_plan else "there is no plan for its manifest"
            sentence = f"refused: {why}; the files are kept in {job.path}"
            jobs.set_refused(self._fs, job, sentence, evidence=True)
            said.append(sentence)
        return said

    def begin(self, epoch: str, now_ms: int) -> list[str]:
        """Settle the jobs of earlier runs at start. Return the ids of those that were given up."""
        return jobs.tidy(self._fs, self._data_dir, epoch=epoch, now_ms=now_ms)

    def sweep(self, epoch: str, now_ms: int) -> list[str]:
        """Give up expired plans, remove old files. Return the ids of the plans that were given up."""
        with contextlib.suppress(FileNotFoundError):
            sweep(self._data_dir, now_ms)
        return jobs.sweep(self._fs, self._data_dir, epoch=epoch, now_ms=now_ms)


def _seen(name: str, job: JobDir) -> JobSeen:
    try:
        touched_ms = job.plan.stat().st_mtime_ns // 1_000_000
    except OSError:
        touched_ms = 0
    return JobSeen(name, touched_ms > 0, job.manifest.exists(), touched_ms)

"""The scanner finds requests and jobs, and refuses jobs without a plan of this daemon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.compaction.daemon.job_scanner import JobScanner, JobSeen
from coordinator.compaction.plan import JobDir
from coordinator.compaction.request import Request, ask, compaction_dir
from coordinator.storage.log.fs import RealFileSystem


@pytest.fixture
def scanner(tmp_path: Path) -> JobScanner:
    return JobScanner(RealFileSystem(), tmp_path)


def test_scan_of_an_empty_directory_finds_nothing(scanner: JobScanner) -> None:
    assert scanner.scan() == (None, False, "", ())


def test_scan_finds_a_request_and_removes_a_file_that_is_none(scanner: JobScanner, tmp_path: Path) -> None:
    request = Request.new()
    ask(tmp_path, request)
    assert scanner.scan().request == request
    (compaction_dir(tmp_path) / "request.json").write_text("{}")
    seen = scanner.scan()
    assert seen.request is None
    assert "holds no request" in seen.complaint
    assert scanner.scan() == (None, False, "", ())


def test_request_not_touched_for_a_minute_is_stale(scanner: JobScanner, tmp_path: Path) -> None:
    ask(tmp_path, replace(Request.new(), created_ms=1))
    assert not scanner.scan().is_stale, "it was written just now"
    os.utime(compaction_dir(tmp_path) / "request.json", (1, 1))
    assert scanner.scan().is_stale


def test_jobs_are_seen_until_they_are_settled(scanner: JobScanner, tmp_path: Path) -> None:
    for name, files in {"a": ("plan.json",), "b": ("plan.json", "manifest.json"), "c": ("plan.json", "DONE")}.items():
        job = JobDir.of(tmp_path, name)
        job.path.mkdir(parents=True)
        for file in files:
            (job.path / file).write_text("x")
            os.utime(job.path / file, (7, 7))
    (tmp_path / "compaction" / "jobs" / "no job; at all").mkdir()
    assert scanner.scan().jobs == (JobSeen("a", True, False, 7000), JobSeen("b", True, True, 7000))
    JobDir.of(tmp_path, "a").refused.write_text("no")
    assert scanner.scan().jobs == (JobSeen("b", True, True, 7000),)


def test_jobs_without_a_plan_of_this_daemon_are_refused_and_kept(scanner: JobScanner, tmp_path: Path) -> None:
    strays = {"planned": ("plan.json",), "forged": ("manifest.json",), "empty": ()}
    for name, files in strays.items():
        job = JobDir.of(tmp_path, name)
        job.out.mkdir(parents=True)
        for file in (*files, "out/x"):
            (job.path / file).write_text("x")
    said = scanner.dismiss(list(scanner.scan().jobs))
    assert scanner.scan().jobs == ()
    assert [sentence.partition(";")[0] for sentence in said] == [
        "refused: there is no plan for its manifest",
        "refused: this daemon did not make its plan",
    ]
    for name in ("planned", "forged"):
        assert (JobDir.of(tmp_path, name).out / "x").exists(), "evidence"
        assert "refused" in JobDir.of(tmp_path, name).refused.read_text()
    assert not JobDir.of(tmp_path, "empty").path.exists(), "of a planner that was killed"

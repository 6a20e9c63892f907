"""Real Spark beside a real daemon with real clients: rounds of a watch, and SIGKILL of driver and workers."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.compaction.plan import JobDir, Manifest
from coordinator.compaction.request import outcome_of
from coordinator.spark.spark_session import java_version
from tests.clients.conftest import ABOUT_THE_LIBRARIES, Crew, collect_what_a_library_dropped
from tests.clients.members import LIBRARIES
from tests.clients.promises import Committer, Promises
from tests.compaction.live import SMALL_SEGMENTS, SimpleCommitter, SteppingDaemon, report_stalls, stalls
from tests.support.daemon import REPOSITORY
from tests.support.eventually import eventually
from tests.support.machine_tools import not_run
from tests.support.questions import committed_offsets
from tests.support.spark import SMALL

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    *(pytest.mark.filterwarnings(each) for each in ABOUT_THE_LIBRARIES),
]
__all__ = ["collect_what_a_library_dropped"]

ROUNDS = 4
OVERRIDES = (
    SMALL_SEGMENTS,
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "offsets.topic.num.partitions=4",
)
FAST = [word for key, value in SMALL.items() for word in ("--conf", f"{key}={value}")]


@pytest.fixture(autouse=True)
def java() -> None:
    if (java_version() or 0) < 17:
        not_run("install Java 17 or later (Debian: openjdk-17-jre-headless)")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SteppingDaemon]:
    with SteppingDaemon(tmp_path / "daemon", overrides=OVERRIDES, topics=("t:6",)) as running:
        yield running


@pytest.fixture
def simple(daemon: SteppingDaemon) -> Iterator[SimpleCommitter]:
    """Commits to ten groups throughout the test; every commit is there at the end, and after a restart."""
    committer = SimpleCommitter(daemon, [f"group-{number}" for number in range(10)], "t", 6)
    with committer:
        yield committer
    for _ in range(2):
        for group, promises in committer.promises.items():
            assert committed_offsets(daemon.port, group) == promises.acknowledged
        daemon.restart()


def start_compact(daemon: SteppingDaemon, *words: str, module: str = "coordinator compact") -> subprocess.Popen[bytes]:
    """Start the command, with its output beside the daemon's log."""
    command = [sys.executable, "-m", *module.split(), "--data-dir", str(daemon.data_dir)]
    command += ["--roll", "--min-cleanable-dirty-ratio", "0"]
    if "single" not in words:
        command += ["--master", "local[2]", "--driver-memory", "1g", *FAST]
    with (daemon.directory / "compact.out").open("ab") as output:
        return subprocess.Popen([*command, *words], stdout=output, stderr=subprocess.STDOUT, cwd=REPOSITORY)


def said(daemon: SteppingDaemon) -> str:
    return (daemon.directory / "compact.out").read_text(errors="replace")[-3000:]


def open_job(daemon: SteppingDaemon) -> JobDir | None:
    """Return the job that has no result yet."""
    found = [
        JobDir(path) for path in (daemon.data_dir / "compaction" / "jobs").glob("*") if (path / "plan.json").exists()
    ]
    return next((job for job in found if outcome_of(job) is None), None)


@pytest.mark.parametrize("mode", ["partition", "distributed"])
def test_a_watch_with_spark_compacts_again_and_again_while_clients_commit(
    daemon: SteppingDaemon, simple: SimpleCommitter, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    crew, promises = Crew(daemon), Promises()
    crew.topic(6)
    members = [crew.join(library, library, session_timeout_ms=15_000) for library in sorted(LIBRARIES)]
    with contextlib.ExitStack() as stack:
        stack.callback(crew.close)
        crew.settles(*members)
        committers = [stack.enter_context(Committer(member, promises)) for member in members]
        watch = start_compact(daemon, "--mode", mode, "--watch", "1")
        stack.callback(watch.kill)
        eventually(lambda: len(stalls(daemon)) >= ROUNDS or watch.poll() is not None, "swap after swap", within_s=300)
        assert watch.poll() is None, said(daemon)
        counts = [committer.count for committer in committers]
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(60) == 0, said(daemon)
        acknowledged = dict(promises.acknowledged)  # before it is asked what is there
        promises.check(committed_offsets(daemon.port, crew.group), acknowledged)
        assert min(counts) > 10, "all of them committed meanwhile"
    report_stalls(daemon, f"Spark, mode {mode}", ROUNDS)
    assert committed_offsets(daemon.port, crew.group) == promises.acknowledged


def test_a_driver_that_is_killed_before_its_manifest_is_followed_by_another(
    daemon: SteppingDaemon, simple: SimpleCommitter
) -> None:
    eventually(lambda: simple.count > 300, "commits come in", within_s=60)
    first = start_compact(daemon, "--mode", "partition", module="tests.compaction.dying_compact driver")
    assert first.wait(300) == -signal.SIGKILL, said(daemon)
    job = open_job(daemon)
    assert job is not None
    assert any(job.out.rglob("*.log.*")), "it had done its work"
    assert not job.manifest.exists()
    second = start_compact(daemon, "--mode", "partition")
    assert second.wait(300) == 0, said(daemon)
    found = outcome_of(job)
    assert found is not None and found.is_done, "the plan was still good, and was taken up"


@pytest.mark.parametrize("mode", ["partition", "distributed"])
def test_tasks_of_killed_spark_workers_are_repeated(daemon: SteppingDaemon, simple: SimpleCommitter, mode: str) -> None:
    eventually(lambda: simple.count > 300, "commits come in", within_s=60)
    process = start_compact(daemon, "--mode", mode, module="tests.compaction.dying_compact worker")
    assert process.wait(300) == 0, said(daemon)
    (path,) = (daemon.data_dir / "compaction" / "jobs").glob("*")
    found = outcome_of(JobDir(path))
    assert found is not None and found.is_done
    manifest = Manifest.from_bytes((path / "manifest.json").read_bytes())
    assert manifest.mode == mode
    assert not [result.error for result in manifest.partitions if result.error]


def test_of_two_commands_at_once_the_second_is_refused(daemon: SteppingDaemon, simple: SimpleCommitter) -> None:
    eventually(lambda: simple.count > 100, "commits come in", within_s=60)
    first = start_compact(daemon, "--mode", "partition")
    eventually(lambda: open_job(daemon), "the first has its plan", within_s=60)
    second = start_compact(daemon, "--mode", "single")
    assert second.wait(60) == 2
    assert "is at work; wait until it has finished, or stop it" in said(daemon)
    assert first.wait(300) == 0, said(daemon)

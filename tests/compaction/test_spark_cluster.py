"""The job on a cluster: a standalone master and two workers, all on this machine, and the command by spark-submit."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.compaction.plan import JobDir, Manifest
from coordinator.spark.spark_session import java_version, write_packages
from tests.cli.compact.test_command import a_data_dir, size_of, states
from tests.compaction.cluster import SPARK_HOME, WORKERS, Cluster, environment
from tests.compaction.logs import OFFSETS, PLAIN
from tests.compaction.test_spark_compact import job_of, same_as_plain, some_logs
from tests.support.daemon import REPOSITORY
from tests.support.machine_tools import not_run
from tests.support.spark import FAST_JVMS

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SPARK_MAIN = REPOSITORY / "coordinator" / "cli" / "compact" / "spark_main.py"
HOST = "127.0.0.1"
SMALL = ("--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1", "--conf", "spark.cores.max=2")
LOOPBACK = ("--conf", f"spark.driver.bindAddress={HOST}", "--conf", f"spark.driver.host={HOST}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if (java_version() or 0) < 17:
        not_run("install Java 17 or later (Debian: openjdk-17-jre-headless)")
    made = Cluster(tmp_path_factory.mktemp("cluster"), HOST)
    try:
        yield made.start()
    finally:
        made.stop()


def submit(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run spark-submit in a directory from which these packages cannot be imported."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return subprocess.run(
        [str(SPARK_HOME / "bin" / "spark-submit"), *words],
        env=environment(HOST),
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_by_spark_submit_the_command_runs_on_two_workers_of_a_standalone_cluster(
    cluster: Cluster, tmp_path: Path
) -> None:
    data_dir = a_data_dir(tmp_path / "data", OFFSETS, partitions=3, ops=60)
    before, size = states(data_dir), size_of(data_dir)
    packages = tmp_path / "packages.zip"
    write_packages(packages)
    words = ["--master", cluster.url, "--py-files", str(packages), *LOOPBACK, *SMALL, *FAST_JVMS, str(SPARK_MAIN)]
    done = submit(tmp_path, *words, "--data-dir", str(data_dir), "--mode", "distributed", "--json")
    assert done.returncode == 0, done.stderr[-3000:]
    facts = json.loads(done.stdout.splitlines()[-1])
    assert (facts["done"], facts["mode"]) == (True, "distributed")
    assert states(data_dir) == before
    assert size_of(data_dir) < size
    for worker in WORKERS:
        assert cluster.executor_logs(worker), f"worker {worker} ran no executor"


def test_an_executor_that_is_killed_in_the_middle_of_its_work_is_replaced(cluster: Cluster, tmp_path: Path) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 2, 60), now_ms=int(time.time() * 1000))
    command = [sys.executable, "-m", "tests.compaction.killing_job", cluster.url, str(job.path), "distributed"]
    done = subprocess.run(
        command, env=environment(HOST), cwd=REPOSITORY, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (job.path / "killed").exists()
    manifest = Manifest.from_bytes(job.manifest.read_bytes())
    assert done.stdout == manifest.to_bytes().decode()
    same_as_plain(JobDir(job.path), manifest, tmp_path)

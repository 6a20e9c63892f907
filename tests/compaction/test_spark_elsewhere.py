"""Commands with `--master` on a cluster that is not at 127.0.0.1, whose executors have not installed these packages.

The cluster is at another loopback address of this machine, which this code and Spark treat as another machine's:
executors fetch the packages from the driver. Their Python has the dependencies only, and cannot use the driver's paths.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.spark.spark_session import java_version
from tests.cli.compact.test_command import a_data_dir, size_of, states
from tests.compaction.cluster import WORKERS, Cluster, environment
from tests.compaction.logs import OFFSETS
from tests.support.daemon import REPOSITORY
from tests.support.machine_tools import not_run

pytestmark = [pytest.mark.integration, pytest.mark.spark]

HOST = "127.0.0.2"
IMPORTS_OURS = (
    "import importlib.util as u, pyspark, pyarrow; print(u.find_spec('coordinator') or u.find_spec('protocol'))"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if (java_version() or 0) < 17:
        not_run("install Java 17 or later (Debian: openjdk-17-jre-headless)")
    try:
        socket.create_server((HOST, 0)).close()
    except OSError:
        not_run(f"needs the loopback address {HOST} (Linux has it; elsewhere: ifconfig lo0 alias {HOST})")
    made = Cluster(tmp_path_factory.mktemp("cluster"), HOST, memory="1200m")
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with everything that is installed here, except these packages."""
    directory = tmp_path_factory.mktemp("bare")
    venv.EnvBuilder(symlinks=True).create(directory)
    (packages,) = directory.glob("lib/python*/site-packages")
    # A .pth names directories only: .pth files inside those, by which these packages are installed, are not read.
    others = [each for each in sys.path if each.endswith("site-packages")]
    (packages / "theirs.pth").write_text("".join(f"{each}\n" for each in others))
    python = str(directory / "bin" / "python")
    found = subprocess.run([python, "-c", IMPORTS_OURS], cwd=directory, capture_output=True, text=True, check=True)
    assert found.stdout == "None\n"
    return python


def run(cluster: Cluster, python: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose executors run `python`."""
    return subprocess.run(
        [sys.executable, "-m", "coordinator", *words, "--master", cluster.url],
        env=environment(HOST, python),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("mode", ["partition", "distributed"])
def test_compact_sends_its_packages_to_the_executors(
    cluster: Cluster, bare_python: str, tmp_path: Path, mode: str
) -> None:
    data_dir = a_data_dir(tmp_path / "data", OFFSETS, partitions=3, ops=60)
    before, size = states(data_dir), size_of(data_dir)
    memory = ("--conf", "spark.executor.memory=512m")
    done = run(cluster, bare_python, "compact", "--data-dir", str(data_dir), "--mode", mode, "--json", *memory)
    assert done.returncode == 0, done.stderr[-3000:]
    facts = json.loads(done.stdout.splitlines()[-1])
    assert (facts["done"], facts["mode"]) == (True, mode)
    assert states(data_dir) == before
    assert size_of(data_dir) < size
    assert any(cluster.executor_logs(worker) for worker in WORKERS)


def test_extraction_and_questions_about_all_groups_send_them_too(
    cluster: Cluster, bare_python: str, tmp_path: Path
) -> None:
    data_dir = a_data_dir(tmp_path / "data", OFFSETS, partitions=2, ops=60)
    place = ("--data-dir", str(data_dir), "--json")
    done = run(cluster, bare_python, "history", "extract", *place)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["segments"] > 0
    done = run(cluster, bare_python, "history", "commits", "--all-groups", *place)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)

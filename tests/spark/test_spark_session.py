"""The settings of the Spark session, and the errors when Spark cannot start."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.spark import spark_session
from coordinator.spark.spark_session import (
    SessionSettings,
    SparkUnavailableError,
    check_available,
    is_local,
    java_version,
    reason_of,
    session_conf,
    with_retries,
    write_packages,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://head:7077", "spark://head:7077"),
    ],
)
def test_a_local_master_tries_a_task_as_often_as_a_cluster_does(master: str, expected: str) -> None:
    assert with_retries(master) == expected


def test_without_a_master_all_cores_of_this_machine_are_used_on_its_loopback_interface() -> None:
    conf = session_conf(SessionSettings())
    assert conf["spark.master"] == "local[*,4]"
    assert conf["spark.driver.bindAddress"] == conf["spark.driver.host"] == "127.0.0.1"


def test_the_drivers_address_is_not_set_if_executors_run_on_other_machines() -> None:
    conf = session_conf(SessionSettings(master="spark://head.example:7077"))
    assert conf["spark.master"] == "spark://head.example:7077"
    assert not {"spark.driver.bindAddress", "spark.driver.host", "spark.executorEnv.PYTHONPATH"} & conf.keys()


def test_the_master_of_spark_submit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    conf = session_conf(SessionSettings())
    assert not {"spark.master", "spark.driver.memory", "spark.driver.extraJavaOptions"} & conf.keys()
    assert session_conf(SessionSettings(master="local[2]"))["spark.master"] == "local[2,4]"


def test_settings_given_by_the_caller_override_the_defaults() -> None:
    assert session_conf(SessionSettings(conf={"spark.driver.memory": "5g"}))["spark.driver.memory"] == "5g"


def test_a_malformed_memory_size_is_refused_before_java_starts() -> None:
    with pytest.raises(SparkUnavailableError, match="the driver memory 'much' is no size; set for example 2g"):
        session_conf(SessionSettings(driver_memory="much"))


@pytest.mark.parametrize("master", [None, "local[3]", "spark://127.0.0.1:7077", "spark://localhost"])
def test_a_master_is_local_if_its_workers_see_the_files_of_this_machine(master: str | None) -> None:
    assert is_local(master)
    assert not is_local("spark://head.example:7077")
    assert not is_local("yarn")


def test_a_missing_extra_raises_a_sentence_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyspark" else found(name, *rest)
    )
    with pytest.raises(SparkUnavailableError, match=r"\(pyspark\); install them with: pip install '.*\[spark\]'"):
        check_available(SessionSettings())


def test_a_missing_java_raises_a_sentence_with_the_install_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailableError, match="Java 17 or later and none was found; install it"):
        check_available(SessionSettings())


@pytest.mark.parametrize(("said", "major"), [('openjdk version "11.0.2"', 11), ('java version "1.8.0_292"', 8)])
def test_an_old_java_is_refused_by_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, major: int
) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == major
    with pytest.raises(SparkUnavailableError, match=f"the one found is version {major}; install it"):
        check_available(SessionSettings())


def test_the_zip_for_workers_holds_both_packages_and_can_be_imported_from(tmp_path: Path) -> None:
    packed = tmp_path / "packages.zip"
    write_packages(packed)
    with zipfile.ZipFile(packed) as archive:
        assert {"coordinator/compaction/plan.py", "protocol/record_batch.py"} <= set(archive.namelist())
    done = subprocess.run(
        [sys.executable, "-c", "import coordinator.compaction.plan as p; print(p.__file__)"],
        env={**os.environ, "PYTHONPATH": str(packed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith(str(packed))


def test_messages_of_a_child_go_to_the_file_and_stderr_comes_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with spark_session._stderr_to(tmp_path / "spark.log"):
        subprocess.run(["/bin/sh", "-c", "echo noise >&2"], check=True, timeout=60)
    subprocess.run(["/bin/sh", "-c", "echo heard >&2"], check=True, timeout=60)
    assert (tmp_path / "spark.log").read_text() == "noise\n"
    assert capfd.readouterr().err == "heard\n"


THROWN = """An error occurred while calling o56.collectToPython.
: org.apache.spark.SparkException: Job aborted: Lost task 0.3: java.lang.RuntimeException: Stream was not found.
\tat org.apache.spark.network.client.TransportResponseHandler.handle(TransportResponseHandler.java:267)
"""
SAID_BY_A_TASK = f"""{THROWN}Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
coordinator.columnar.batches.CorruptBatchError: the checksum is wrong
\tat org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (THROWN, "Job aborted: Lost task 0.3: java.lang.RuntimeException: Stream was not found."),
        (SAID_BY_A_TASK, "the checksum is wrong"),
        ("[SOMETHING] is wrong.\nDetails", "[SOMETHING] is wrong."),
    ],
)
def test_a_failure_is_reported_by_its_reason_and_not_by_the_first_line_of_py4j(text: str, reason: str) -> None:
    assert reason_of(Exception(text)) == reason


def test_the_packages_that_are_sent_stay_until_the_process_ends() -> None:
    lines = (
        "import coordinator.spark.spark_session as s; first, second = s._packed(), s._packed()",
        "print(first == second and first.is_file(), first)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True, timeout=60
    )
    was_there, path = done.stdout.split()
    assert was_there == "True"
    assert not Path(path).parent.exists()


def _ids(batches: Iterator[Any]) -> Iterator[Any]:
    import coordinator.compaction.plan  # noqa: F401 - the workers find these packages

    yield from batches


def _killed_at_first(batches: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from batches


@pytest.mark.integration
@pytest.mark.spark
def test_workers_find_these_packages_whatever_directory_they_start_in(spark: SparkSession) -> None:
    assert spark.range(0, 4, 1, 2).mapInArrow(_ids, "id long").toArrow().num_rows == 4


@pytest.mark.integration
@pytest.mark.spark
def test_a_worker_that_is_killed_is_replaced_and_its_task_tried_again(spark: SparkSession) -> None:
    assert spark.range(0, 4, 1, 2).mapInArrow(_killed_at_first, "id long").toArrow().num_rows == 4

"""The Spark session of the tests, with settings for small data: a query takes one second instead of six."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from coordinator.spark.spark_session import SessionSettings, java_version, open_session
from tests.support.machine_tools import not_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's classes as the JVM keeps them in memory, if `python -m tests.support.spark_archive` has written them. A JVM
# that finds another Java or other jars than those it was made of does without, and says nothing.
ARCHIVE: Final = Path(sys.prefix) / "spark-classes.jsa"
# For every JVM of the tests: most of its time is the start, so code is compiled quickly and not well.
JVM_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def jvm_options() -> str:
    """Return the options for every JVM of the tests that runs Spark."""
    archive = (f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:disable") if ARCHIVE.exists() else ()
    return " ".join((*JVM_OPTIONS, *archive))


# Settings that make Spark fast for logs of a megabyte; none of them changes a result.
SMALL: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.shuffle.compress": "false",
    "spark.rdd.compress": "false",
    "spark.driver.defaultJavaOptions": jvm_options(),
}
# The options of spark-submit that give the driver and its executors a fast JVM.
FAST_JVMS: Final = (
    *("--conf", f"spark.driver.defaultJavaOptions={jvm_options()}"),
    *("--conf", f"spark.executor.defaultJavaOptions={jvm_options()}"),
)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session; a test that uses it is marked `integration` and `spark`."""
    if (java_version() or 0) < 17:
        not_run("install Java 17 or later (Debian: openjdk-17-jre-headless)")
    session = open_session(SessionSettings(master="local[2]", driver_memory="1g", name="tests", conf=SMALL))
    yield session
    session.stop()

"""The Spark session of the tests, with settings for small data: a query takes one second instead of six."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

from coordinator.spark.spark_session import SessionSettings, java_version, open_session
from tests.support.machine_tools import not_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings that make Spark fast for logs of a megabyte; none of them changes a result.
SMALL: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.shuffle.compress": "false",
    "spark.rdd.compress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session; a test that uses it is marked `integration` and `spark`."""
    if (java_version() or 0) < 17:
        not_run("install Java 17 or later (Debian: openjdk-17-jre-headless)")
    session = open_session(SessionSettings(master="local[2]", driver_memory="1g", name="tests", conf=SMALL))
    yield session
    session.stop()

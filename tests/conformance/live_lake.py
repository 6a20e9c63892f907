"""`coordinator tables --format delta` and `iceberg` with the real packages: each row is there once.

Needs Java, a Spark for which there are packages, and these; so `make lake` runs it and `make test` does not:
it puts the release of Spark of `spark_release.py` before the installed one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from coordinator.history.spark_lake import FORMATS, located, spark_conf
from coordinator.spark.spark_session import SessionSettings, open_session
from tests.conformance.kafka import Kafka, jars
from tests.conformance.spark_release import VERSION
from tests.history.lakes import GrowingLog, Rows, expected, stream_killed_at_each_step, told
from tests.observe.live_kafka import PARTITIONS, SETTINGS, TOPIC, commit
from tests.support.eventually import eventually
from tests.support.spark import SMALL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark 4.1 leaves the connections of calls that raise to the collector of garbage.
UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(900), UNCLOSED]
WAREHOUSE = "spark.sql.catalog.named.warehouse"


def files_of(name: str) -> str:
    return ",".join(map(str, sorted(jars(name).iterdir())))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with both formats, and a catalog of Iceberg that has the name `named`."""
    assert pyspark.__version__ == VERSION, "run this with make lake, which brings the Spark for it"
    directory = tmp_path_factory.mktemp("lakes")
    delta, iceberg = (spark_conf(each, located(str(directory / each))) for each in ("delta", "iceberg"))
    extensions = "spark.sql.extensions"
    conf = SMALL | delta | iceberg | {extensions: f"{delta[extensions]},{iceberg[extensions]}"}
    conf |= {"spark.jars": f"{files_of('delta')},{files_of('iceberg')}"}
    conf |= {"spark.sql.catalog.named": "org.apache.iceberg.spark.SparkCatalog"}
    conf |= {"spark.sql.catalog.named.type": "hadoop", WAREHOUSE: f"{directory}/named"}
    session = open_session(SessionSettings(master="local[2]", driver_memory="1g", name="tests", conf=conf))
    yield session
    session.stop()


def read(spark: SparkSession, name: str, place: str, table: str) -> DataFrame:
    if name == "delta":
        return spark.read.format("delta").load(f"{place}/{table}")
    return spark.table(f"{place if '/' not in place else 'coordinator_lake'}.{table}")


@pytest.mark.parametrize("form", ["delta", "iceberg", "named"])
def test_each_row_is_there_once_wherever_a_run_ends(
    form: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "delta" if form == "delta" else "iceberg"
    warehouse = str(spark.conf.get("spark.sql.catalog.coordinator_lake.warehouse"))
    place = {"delta": located(str(tmp_path / "delta")), "iceberg": warehouse, "named": "named.db"}[form]
    log, tables = GrowingLog.made(tmp_path, 60), FORMATS[name](spark, place)
    steps = stream_killed_at_each_step(spark, log, tables, monkeypatch, stride=4)
    assert {"after joining", "before append", "after append", "before marks", "after marks"} <= steps.seen
    rows = expected(log.source.history_dir)
    assert all(rows.values()), {name: len(own) for name, own in rows.items()}
    found = told(lambda table: read(spark, name, place, table).toArrow())
    for table, own in rows.items():
        assert found[table] == own, table


def command(directory: Path, name: str, origin: Sequence[str], files: str, *more: str) -> list[str]:
    lake = ["--format", name, "--jars", files, "--max-offsets-per-trigger", "40", "--json", *more]
    return [sys.executable, "-m", "coordinator", "tables", "--tables-dir", str(directory), *origin, *lake]


def killed_at_an_append(directory: Path, started: Sequence[str], out: Path) -> None:
    """Start the command, and kill it while an append is pending."""
    marks = directory / "lake.json"
    with out.open("ab") as file:
        job = subprocess.Popen(started, stdout=file, stderr=file, start_new_session=True)
    try:
        eventually(lambda: marks.exists() and '"pending":{' in marks.read_text(), "an append", within_s=120)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def same_rows(spark: SparkSession, name: str, directory: Path) -> dict[str, Rows]:
    """Compare the tables of the format with those in Parquet, and return their rows."""
    place, named = directory / name, f"of_{directory.parent.name}"  # a session keeps a catalog as it was first used
    catalog = f"spark.sql.catalog.{named}"
    spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{catalog}.type", "hadoop")
    spark.conf.set(f"{catalog}.warehouse", str(place))
    found = told(lambda table: read(spark, name, str(place) if name == "delta" else named, table).toArrow())
    rows = expected(directory)
    for table, own in rows.items():
        assert found[table] == own, table
    return rows


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_the_command_goes_on_where_it_was_killed(name: str, tmp_path: Path, spark: SparkSession) -> None:
    log = GrowingLog.made(tmp_path, 60)
    directory = log.source.history_dir
    started = [directory, name, ["--data-dir", str(log.source.data_dir)], files_of(name)]
    log.grow(5)
    killed_at_an_append(directory, command(*started, "--every", "0.1"), tmp_path / "out")
    log.grow(1000)
    done = subprocess.run(command(*started, "--available-now"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = same_rows(spark, name, directory)
    assert rows["commits"] and rows["members"] and rows["events"]


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_the_offsets_of_a_kafka_are_there_once(name: str, tmp_path: Path, spark: SparkSession) -> None:
    directory = tmp_path / "tables"
    with Kafka(tmp_path / "kafka", settings=SETTINGS) as kafka:
        kafka.create_topic(TOPIC, PARTITIONS)
        commit(kafka, "shop", "club", times=30)
        files = f"{files_of(name)},{files_of('spark-4.1')}"
        started = [directory, name, ["--bootstrap-server", kafka.address], files]
        killed_at_an_append(directory, command(*started, "--every", "0.1"), tmp_path / "out")
        commit(kafka, "shop", times=12)
        done = subprocess.run(command(*started, "--available-now"), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    rows = same_rows(spark, name, directory)
    assert len(rows["commits"]) == (30 + 30 + 12) * PARTITIONS
    assert rows["members"] and rows["lag"]

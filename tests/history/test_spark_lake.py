"""Rows go to tables in another format once, wherever a run ends. `live_lake.py` does this with Delta and Iceberg."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coordinator.history import spark_lake
from coordinator.history.lake_marks import LOG, LakeError, LakeMarks, read_lake_marks, write_lake_marks
from coordinator.history.layout import EVENTS_DIR, LAG_DIR
from coordinator.history.source import HistorySource
from coordinator.history.spark_lake import SparkLake, located, package_of
from coordinator.storage.log.fs import RealFileSystem
from tests.history.lakes import GrowingLog, expected, stream_killed_at_each_step, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FS = RealFileSystem()


class MemoryTables:
    """Tables in memory, which leave out an append that they have."""

    def __init__(self, *_: object) -> None:
        self.rows: dict[str, list[pa.Table]] = {}
        self._appends: set[tuple[str, str, int]] = set()

    def exists(self, name: str) -> bool:
        return name in self.rows

    def create(self, name: str, empty: DataFrame) -> None:
        self.rows[name] = [empty.toArrow()]

    def append(self, name: str, rows: DataFrame, id_: str, number: int) -> None:
        if (name, id_, number) not in self._appends:
            self.rows[name].append(rows.toArrow())
            self._appends.add((name, id_, number))


@pytest.mark.integration
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_each_row_is_appended_once_wherever_a_run_ends(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, tables = GrowingLog.made(tmp_path, 30), MemoryTables()
    steps = stream_killed_at_each_step(spark, log, tables, monkeypatch, stride=9)
    assert {"after joining", "after append", "before append", "after enter"} <= steps.seen
    rows = expected(log.source.history_dir)
    assert all(rows.values()), {name: len(own) for name, own in rows.items()}
    found = told(lambda name: pa.concat_tables(tables.rows[name]))
    for name, own in rows.items():
        assert found[name] == own, name


def test_an_append_that_is_pending_stays_as_it_is() -> None:
    marks = LakeMarks("delta", "x").planned({LOG: {0: 5, 1: 0}})
    assert marks.planned({LOG: {0: 9}}) is marks
    assert marks.ranges(LOG) == {0: (0, 5)}
    done = marks.done()
    assert (done.number, done.planned({LOG: {0: 5}})) == (2, done)
    moved = done.planned({LOG: {0: 3, 1: 4}, EVENTS_DIR: {}, LAG_DIR: {0: 7}})
    assert (moved.ranges(LOG), moved.ranges(LAG_DIR), moved.ranges(EVENTS_DIR)) == ({1: (0, 4)}, {0: (0, 7)}, {})
    assert moved.done().planned({LOG: {}, LAG_DIR: {}}) == moved.done(), "nothing that was appended is forgotten"


def test_marks_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_lake_marks(tmp_path, FS) is None
    marks = replace(LakeMarks("iceberg", "cat.db").planned({LOG: {3: 5}}).done(), pending={LOG: {3: 9}})
    write_lake_marks(tmp_path, marks, FS)
    assert read_lake_marks(tmp_path, FS) == marks
    (tmp_path / "lake.json").write_text("{")
    with pytest.raises(LakeError, match=r"lake\.json is damaged; restore it from a copy"):
        read_lake_marks(tmp_path, FS)


@pytest.mark.integration
@pytest.mark.spark
def test_tables_of_another_history_or_place_are_refused(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = MemoryTables()
    monkeypatch.setitem(spark_lake.FORMATS, "memory", lambda *_: tables)
    source = HistorySource(tmp_path / "none", tmp_path, "c", 1)
    SparkLake.open(spark, source, "memory", "here")
    SparkLake.open(spark, source, "memory", "here")
    with pytest.raises(LakeError, match="these tables are appended to here in memory; name that"):
        SparkLake.open(spark, source, "memory", "there")
    (tmp_path / "other").mkdir()
    with pytest.raises(LakeError, match="here has tables of another history; name another place with --lake"):
        SparkLake.open(spark, replace(source, history_dir=tmp_path / "other"), "memory", "here")


@pytest.mark.integration
@pytest.mark.spark
@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_a_missing_jar_is_a_sentence_that_names_the_package(name: str, tmp_path: Path, spark: SparkSession) -> None:
    source = HistorySource(tmp_path / "none", tmp_path, "c", 1)
    with pytest.raises(LakeError, match=rf"cannot write {name} with the jars .*--packages: (io.delta|org.apache.ice)"):
        SparkLake.open(spark, source, name, f"file://{tmp_path}/lake")


def test_the_package_is_that_of_the_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.1.4")
    assert package_of("iceberg") == "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
    monkeypatch.setattr("pyspark.__version__", "4.9.0")
    with pytest.raises(LakeError, match=r"no package of delta is known for Spark 4\.9\.0; .*'pyspark==4\.2\.\*'"):
        package_of("delta")


def test_a_place_is_a_url_or_a_name_in_a_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [located(each) for each in ("s3a://b/x", "cat.db", "lake")] == [
        "s3a://b/x",
        "cat.db",
        f"file://{tmp_path}/lake",
    ]

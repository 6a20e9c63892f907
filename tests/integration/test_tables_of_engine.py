"""`coordinator tables` from a real PostgreSQL: each commit once, while nodes write, die, and delete what is old."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordinator.cli.main import main
from tests.ha.engine_tables import each_commit_is_in_the_tables_once
from tests.ha.engines import Postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Postgres]:
    running = Postgres(tmp_path)
    running.start()
    yield running
    running.stop()


@pytest.mark.spark
async def test_each_commit_is_in_the_tables_once(
    engine: Postgres, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_commit_is_in_the_tables_once(engine, tmp_path, spark, monkeypatch)


def test_a_store_that_no_node_has_used_is_named(
    engine: Postgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    config.write_text("\n".join(["cluster.id=ha", *engine.overrides(engine.targets, [])]))
    assert main(["tables", "--tables-dir", str(tmp_path / "tables"), "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert "check cluster.id; the first node that starts with it makes the tables" in said

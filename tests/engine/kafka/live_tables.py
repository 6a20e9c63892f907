"""`coordinator tables` from an engine on a real Kafka: each commit once, as from PostgreSQL.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coordinator.cli.main import main
from tests.ha.engine_tables import each_commit_is_in_the_tables_once
from tests.ha.engines import KafkaTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.fixture(scope="module")
def topic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaTopic]:
    running = KafkaTopic(tmp_path_factory.mktemp("kafka"))
    running.start()
    yield running
    running.stop()


async def test_each_commit_is_in_the_tables_once(
    topic: KafkaTopic, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_commit_is_in_the_tables_once(topic, tmp_path, spark, monkeypatch)


def test_a_topic_that_is_not_there_is_named_and_not_made(
    topic: KafkaTopic, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    address = next(each for each in topic.overrides([], []) if each.startswith("log.engine=")).rpartition("/")[0]
    config.write_text(f"cluster.id=ha\n{address}/nowhere\n")
    for _ in range(2):
        assert main(["tables", "--tables-dir", str(tmp_path / "tables"), "--config", str(config)]) == 2
        assert "has no topic nowhere" in capsys.readouterr().err

"""A log that a real Kafka wrote, kept as data: we read it, and serve from it what Kafka told of it.

It holds plain, transactional, changed and deleted offsets, groups with and without members, all as Apache Kafka 4.4
writes them. `make interchange` does the same with a Kafka that runs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from coordinator.cli.main import main
from tests.conformance.exchange import KEPT_LOG, TOLD, told
from tests.support.daemon import Daemon


def test_log_dump_reads_every_record_of_kafkas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(KEPT_LOG), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert not [each for each in lines if "undecodable" in each]
    assert [each["log_offset"] for each in lines] == list(range(len(lines)))
    assert [each["marker"] for each in lines if each["kind"] == "marker"] == ["commit", "abort"]
    notes = [each["metadata"] for each in lines if each.get("group") == "simple"]
    assert notes == ["note 0", "note 1", "note 2", "note 3", "note 4", "ä😀"]
    assert {each["group"] for each in lines if each.get("tombstone")} == {"deleted", "partly-deleted"}
    stable = [each for each in lines if each["kind"] == "group" and each["group"] == "stable"][-1]
    assert {member["group_instance_id"] for member in stable["members"]} == {"fixed", None}
    assert {member["assignment"] for member in stable["members"]} == {"work of 0", "work of 1", "work of 2"}


@pytest.mark.integration
def test_a_daemon_started_on_kafkas_log_tells_what_kafka_told(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, overrides=["offsets.topic.num.partitions=1"])
    shutil.copytree(KEPT_LOG, daemon.data_dir)
    expected = json.loads((KEPT_LOG / TOLD).read_text())
    with daemon:
        assert told(daemon.port) == expected
        daemon.restart()
        assert told(daemon.port) == expected

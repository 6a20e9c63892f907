"""`coordinator compact` of the transaction log, without a daemon: alone, and behind the offsets log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.storage.log.fs import RealFileSystem
from tests.cli.compact.test_command import MODES, a_data_dir, compact, states
from tests.compaction.transactions import PARTITIONS, build, found_at_start, size_of

FS = RealFileSystem()
NAMES = [f"__transaction_state-{partition}" for partition in PARTITIONS]


@pytest.mark.parametrize("mode", MODES)
def test_both_logs_are_compacted_and_each_has_a_line(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    if mode != "single":
        request.getfixturevalue("spark")
    data_dir = build(FS, a_data_dir(tmp_path / "data"))
    offsets, transactions, size = states(data_dir), found_at_start(FS, data_dir), size_of(FS, data_dir)
    assert compact(data_dir, mode=mode) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("compacted 2 partitions: ")
    assert second.startswith("__transaction_state: compacted 2 partitions: ")
    assert (states(data_dir), found_at_start(FS, data_dir)) == (offsets, transactions)
    assert size_of(FS, data_dir) < size // 3
    assert compact(data_dir, mode=mode) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("nothing to compact: ")
    assert second.startswith("__transaction_state: nothing to compact: ")
    assert main(["log", "verify", str(data_dir)]) == 0


def test_json_names_the_topic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = build(FS, a_data_dir(tmp_path / "data"))
    assert compact(data_dir, "--json") == 0
    facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["topic"] for each in facts] == ["__consumer_offsets", "__transaction_state"]
    assert [each["partition"] for each in facts[1]["partitions"]] == list(PARTITIONS)


def test_a_topic_is_compacted_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = build(FS, a_data_dir(tmp_path / "data"))
    words = ["--topic", "__transaction_state", "--partition", "5", "--json"]
    assert compact(data_dir, *words) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert [(facts["topic"], each["partition"]) for each in facts["partitions"]] == [("__transaction_state", 5)]
    assert "history" not in printed.err, "the history has nothing of it"


def test_partitions_are_those_of_the_offsets_log_unless_a_topic_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir = build(FS, a_data_dir(tmp_path / "data"))
    assert compact(data_dir, "--partition", "0", "--json") == 0
    assert json.loads(capsys.readouterr().out)["topic"] == "__consumer_offsets"
    assert compact(data_dir, "--partition", "5") == 2
    assert "the offsets log has no partition 5; there are: 0, 1" in capsys.readouterr().err
    assert compact(data_dir, "--topic", "__transaction_state", "--partition", "1") == 2
    assert "__transaction_state has no partition 1; there are: 0, 5" in capsys.readouterr().err


def test_dry_run_names_the_partitions_of_both_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = build(FS, a_data_dir(tmp_path / "data"))
    before = sorted(data_dir.rglob("*"))
    assert compact(data_dir, "--dry-run") == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["__consumer_offsets-0", "__consumer_offsets-1", *NAMES]
    assert [row[-1] for row in rows[1:]] == ["yes"] * 4
    assert "4 of 4 partitions are due" in printed.err
    assert compact(data_dir, "--dry-run", "--json", "--topic", "__transaction_state") == 0
    rows_as_json = json.loads(capsys.readouterr().out)
    assert [(row["topic"], row["partition"], row["is_due"]) for row in rows_as_json] == [
        ("__transaction_state", partition, True) for partition in PARTITIONS
    ]
    assert sorted(data_dir.rglob("*")) == before

"""The arguments of `coordinator tables`, and the checks before Spark starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from coordinator.cli.client import UnreachableError
from coordinator.cli.errors import CliError
from coordinator.cli.history.stream import check_ends, lag_rows
from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.lag_table import LagTable
from coordinator.history.source import HistorySource
from coordinator.storage.log.fs import RealFileSystem
from tests.history.stories import Story
from tests.history.worlds import data_dir


def tables(*words: str | Path) -> int:
    return main(["tables", *map(str, words)])


def test_a_log_that_ends_before_its_tables_is_refused() -> None:
    check_ends({0: 5, 1: 7}, {0: 5, 1: 9, 2: 0})
    with pytest.raises(CliError, match="partition 1 of the offsets log ends at 6, before the end of its tables at 7"):
        check_ends({0: 5, 1: 7}, {0: 5, 1: 6})


def test_a_missing_data_directory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables("--tables-dir", tmp_path / "tables", "--data-dir", tmp_path / "nowhere") == 2
    assert f"no data directory {tmp_path / 'nowhere'}" in capsys.readouterr().err


def test_settings_of_a_client_need_a_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\n")
    assert tables("--tables-dir", tmp_path / "tables", "--data-dir", tmp_path, "--command-config", path) == 2
    assert "--command-config is for a Kafka" in capsys.readouterr().err


def test_a_kafka_is_asked_for_its_own_log_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    servers = ["--bootstrap-server", "127.0.0.1:1", "--lag-from", "127.0.0.1:1"]
    assert tables("--tables-dir", tmp_path / "tables", *servers) == 2
    assert "--lag-from goes with a data directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data-dir", "data", "--log-engine", "postgresql://127.0.0.1/kgc"], "name one log"),
        (["--bootstrap-server", "127.0.0.1:1", "--config", "server.properties"], "name one log"),
        (["--cluster-id", "prod"], "name it with --log-engine or --config"),
    ],
)
def test_one_log_is_named(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables("--tables-dir", tmp_path / "tables", *words) == 2
    assert said in capsys.readouterr().err


def test_brokers_that_do_not_answer_leave_the_stream_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[dict[tuple[str, int], int]] = []

    def ends(partitions: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        if not answers:
            raise UnreachableError("nothing listens at 127.0.0.1:1")
        return answers[0]

    source = data_dir(tmp_path, Story().commit(t=5).segments())
    lag = LagTable(source.history_dir, ends, RealFileSystem())
    lag.take([name for each in extract(source) for name in each.names if name.startswith("commits")])
    assert lag_rows(lag, 1000) == 0
    assert "the lag is not known now: nothing listens at 127.0.0.1:1; trying again" in capsys.readouterr().err
    answers.append({("t", 0): 9})
    assert lag_rows(lag, 2000) == 1


def test_tables_of_another_cluster_than_the_directory_at_hand_answer_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    far = data_dir(tmp_path / "far", Story().members("a").commit(t=5).segments(), cluster_id="far")
    extract(HistorySource.of(far.data_dir, tmp_path / "tables"))
    data_dir(tmp_path / "data", Story().members("b").commit(t=9).segments(), cluster_id="near")
    monkeypatch.chdir(tmp_path)
    assert main(["history", "commits", "g", "--history-dir", "tables"]) == 0
    printed = capsys.readouterr().out
    assert " 5 " in printed and " 9 " not in printed
    assert main(["history", "commits", "g", "--history-dir", "tables", "--data-dir", "data"]) == 2
    assert "the history of another cluster" in capsys.readouterr().err

"""Removed files of a history: every question detects and names them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.history.extract import extract
from coordinator.history.file_list import list_path
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.file_names import MARKS_NAME
from coordinator.storage.history_marks import read_marks, write_marks
from tests.compaction.logs import DAY_MS
from tests.history.stories import Story

RESTORE = ("restore", "g", "--bootstrap-server", "127.0.0.1:1", "--timeout", "1")  # an address without a broker


@pytest.fixture
def source(tmp_path: Path) -> HistorySource:
    """Three days with one segment each; the first two are extracted and removed from the log."""
    story = Story().members("a").commit(t=5).roll().wait(DAY_MS / 1000).commit(t=50).roll()
    made = story.wait(DAY_MS / 1000).commit(t=500).source(tmp_path / "data")
    extract(made)
    for path in sorted((made.data_dir / "__consumer_offsets-0").glob("*.log"))[:-1]:
        path.unlink()
    return made


def run(source: HistorySource, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the exit code and the whole output."""
    code = main([*words, "--data-dir", str(source.data_dir)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def commits_of_the_second_day(source: HistorySource) -> Path:
    return sorted((source.history_dir / "commits").rglob("*.parquet"))[1]


def test_complete_history_answers_without_its_log(source: HistorySource) -> None:
    assert load_group(source, "g").commits.offset.tolist() == [5, 50, 500]


def test_missing_file_is_named_and_no_answer_is_given(
    source: HistorySource, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = commits_of_the_second_day(source)
    lost.unlink()
    for words in (
        ("history", "commits", "g"),
        ("history", "rebalances", "g"),
        ("history", "rate", "g", "--since", "-1m"),
        (*RESTORE, "--at", "-1s"),
        ("undo", *RESTORE[1:]),
        ("history", "commits", "--all-groups"),
    ):
        code, said = run(source, capsys, *words)
        assert code == 2, said
        name = lost.relative_to(source.history_dir)
        assert f"1 file of the history in {source.history_dir} cannot be found, {name} first" in said
        assert "partition 0 of the offsets log said at its offsets 2 to 2;" in said
        assert "--skip-corrupt" in said


def test_extraction_names_a_missing_file_too(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, capsys, "history", "extract")[0] == 0
    commits_of_the_second_day(source).unlink()
    code, said = run(source, capsys, "history", "extract")
    assert code == 1
    assert "1 file of the history" in said and "restore them from a copy" in said


def test_missing_file_counts_as_a_gap_with_skip_corrupt(
    source: HistorySource, capsys: pytest.CaptureFixture[str]
) -> None:
    commits_of_the_second_day(source).unlink()
    past = load_group(source, "g", skip_corrupt=True)
    assert past.commits.offset.tolist() == [5, 500]
    assert past.whole_since_ms == past.commits.timestamp_ms[0] + DAY_MS + 10
    code, said = run(source, capsys, "history", "commits", "g", "--skip-corrupt")
    assert code == 0
    assert "left out: 1 file of the history" in said and "older commits may be missing" in said


@pytest.mark.parametrize("directory", ["commits", "groups", "files"])
def test_missing_directory_is_detected(
    source: HistorySource, capsys: pytest.CaptureFixture[str], directory: str
) -> None:
    shutil.rmtree(source.history_dir / directory)
    code, said = run(source, capsys, "history", "commits", "g")
    assert code == 2
    assert directory in said and "restore" in said


def test_truncated_list_is_detected(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    path = list_path(source.history_dir, 0)
    path.write_bytes(path.read_bytes()[:-5])
    code, said = run(source, capsys, "history", "commits", "g")
    assert code == 2
    assert "lists 1 of the 2 segments that were extracted" in said


def test_tables_without_marks_are_refused(source: HistorySource, capsys: pytest.CaptureFixture[str]) -> None:
    (source.history_dir / MARKS_NAME).unlink()
    for words in (("history", "commits", "g"), ("history", "commits", "--all-groups")):
        code, said = run(source, capsys, *words)
        assert code == 2
        assert "holds a history without its marks.json" in said


def test_restore_without_any_history_reports_that_nothing_is_known(
    source: HistorySource, capsys: pytest.CaptureFixture[str]
) -> None:
    at = local_of_the_first_day(source)
    shutil.rmtree(source.history_dir)
    code, said = run(source, capsys, *RESTORE, "--at", at)
    assert code == 1
    assert "nothing is known of the offsets of group 'g' at" in said


def local_of_the_first_day(source: HistorySource) -> str:
    from coordinator.history.times import local_time

    return local_time(int(load_group(source, "g").commits.timestamp_ms[0]) + 1000)


def test_history_begun_without_lists_answers_and_lists_new_segments(tmp_path: Path) -> None:
    story = Story().commit(t=5).roll().commit(t=50)
    source = story.source(tmp_path / "data")
    extract(source)
    marks = read_marks(source.history_dir)
    assert marks is not None
    write_marks(source.history_dir, marks)
    path = source.history_dir / MARKS_NAME
    path.write_text(path.read_text().replace(',\n   "segments": 1', ""))
    assert '"segments"' not in path.read_text()
    shutil.rmtree(source.history_dir / "files")
    assert load_group(source, "g").commits.offset.tolist() == [5, 50]
    source = story.roll().commit(t=500).source(tmp_path / "data")
    extract(source)
    assert load_group(source, "g").commits.offset.tolist() == [5, 50, 500]
    marks = read_marks(source.history_dir)
    assert marks is not None and marks.of(0).segments == 1


def test_topic_or_partition_without_commits_is_reported(
    source: HistorySource, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("--topic", "nosuch"), ("--partition", "7")):
        code, said = run(source, capsys, "history", "commits", "g", *words)
        assert code == 1
        assert "no commit of group 'g'" in said and words[1] in said and "it committed to: t" in said
    code, said = run(source, capsys, *RESTORE, "--at", "-1s", "--topic", "nosuch")
    assert code == 1
    assert "it committed to: t" in said

"""`coordinator history sql`: answers in each form, and errors that say what to do. It only reads."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.history.extract import extract
from tests.history.stories import Story


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Return a data directory with a group in files, and another one in the log beyond them."""
    story = Story("g").members("a", owning={"a": {"t": [0, 1]}}).commit(t=5).wait(60).commit(t=9, metadata="ä").roll()
    source = story.source(tmp_path / "data [x]*?")  # characters that a pattern of files would have
    extract(source)
    story.group = "h"
    return story.commit(u=7).source(source.data_dir).data_dir


def ask(capsys: pytest.CaptureFixture[str], data_dir: Path, *words: str) -> tuple[int, str, str]:
    """Return the exit code, the output, and what was said on stderr."""
    code = main(["history", "sql", *words, "--data-dir", str(data_dir)])
    said = capsys.readouterr()
    return code, said.out, said.err


COMMITS = "SELECT c.group, topic, committed_offset FROM commits AS c ORDER BY log_offset"


def test_files_and_log_are_one_table(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, told, COMMITS)
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["group", "topic", "committed_offset"],
        ["g", "t", "5"],
        ["g", "t", "9"],
        ["h", "u", "7"],
    ]


def test_json_and_csv_have_the_same_rows(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(ask(capsys, told, COMMITS, "--json")[1])
    assert rows[2] == {"group": "h", "topic": "u", "committed_offset": 7}
    table = list(csv.DictReader(io.StringIO(ask(capsys, told, COMMITS, "--csv")[1])))
    assert table == [{name: str(value) for name, value in row.items()} for row in rows]
    nothing = "SELECT topic FROM commits WHERE topic = ''"
    assert ask(capsys, told, nothing, "--json")[1] == "[]\n"
    assert ask(capsys, told, nothing, "--csv")[1] == "topic\n"
    assert ask(capsys, told, nothing)[1:] == ("", "no rows\n")


def test_other_types_are_shown_as_texts(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT 1.5 * 3 AS number, epoch_ms(0) AS began, [1, 2] AS list, NULL AS nothing, true AS yes"
    (row,) = json.loads(ask(capsys, told, text, "--json")[1])
    assert row == {"number": 4.5, "began": "1970-01-01 00:00:00", "list": [1, 2], "nothing": None, "yes": True}
    assert ask(capsys, told, text)[1].splitlines()[1].split() == ["4.5", "1970-01-01", "00:00:00", "1,2", "-", "True"]


def test_now_is_a_parameter(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("SELECT $now_ms AS now", "--now", "2026-11-20T14:05Z", "--json")
    assert json.loads(ask(capsys, told, *words)[1]) == [{"now": 1_795_183_500_000}]


def test_statements_of_a_file_are_answered_under_their_comments(
    told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "some.sql"
    file.write_text("-- Of the whole file.\n\n-- First?\nSELECT 1 AS a;\n\n-- Second?\n-- Indeed.\nSELECT 2 AS b;\n")
    code, out, _ = ask(capsys, told, "--file", str(file))
    assert code == 0
    assert out == "-- First?\na\n1\n\n-- Second?\n-- Indeed.\nb\n2\n"
    assert "for one statement" in ask(capsys, told, "--file", str(file), "--json")[2]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SELECT * FROM commit", "there are commits, consumers, "),
        ("SELECT nothing FROM commits", 'column "nothing" not found'),
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("SELECT $then_ms", "there is no parameter $then_ms; $now_ms is the only one"),
        ("", "write for example: SELECT"),
        ("COPY (SELECT 1) TO '/tmp/coordinator-history.csv'", "write SELECT instead of COPY"),
        ("ATTACH '/tmp/coordinator-history.db'", "write SELECT instead of ATTACH"),
        ("CREATE TABLE t AS SELECT 1", "write SELECT instead of CREATE"),
        ("SET enable_external_access = true", "write SELECT instead of SET"),
        ("SELECT 1; DROP VIEW commits", "write SELECT instead of DROP"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/coordinator-history.csv'", "write SELECT instead of EXPLAIN"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM told", "does not exist"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    text: str, sentence: str, told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ask(capsys, told, text)
    assert (code, out) in ((1, ""), (2, ""))
    assert sentence in err
    assert err.count("\n") == 1


def test_one_text_is_needed(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "give one SQL text, or a file" in ask(capsys, told)[2]
    assert "give one SQL text, or a file" in ask(capsys, told, "SELECT 1", "--file", "x.sql")[2]
    assert "x.sql cannot be read (No such file or directory)" in ask(capsys, told, "--file", "x.sql")[2]

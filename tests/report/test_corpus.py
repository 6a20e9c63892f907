"""A small corpus: what the report finds in a data directory, and how the command shows it."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.core.topics.names import EVENTS_TOPIC
from tests.report.corpus import Corpus, period, write
from tests.report.plants import plots
from tests.report.score import Score, report_of

DAYS = 7
SEED = 11


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    directory = tmp_path_factory.mktemp("corpus") / "data"
    return write(directory, plots(SEED, DAYS, per_cause=1, healthy_groups=12), DAYS, SEED)


@pytest.fixture
def during(corpus: Corpus) -> list[str]:
    """The arguments for its directory and its time."""
    since, until = (datetime.fromtimestamp(ms / 1000, UTC).isoformat() for ms in period(DAYS))
    return ["--data-dir", str(corpus.data_dir), "--since", since, "--until", until]


def test_the_report_finds_what_was_planted(corpus: Corpus) -> None:
    score = Score()
    score.add(corpus, report_of(corpus).problems)
    assert len(corpus.planted) == 38 and score.planted.total() == 34
    assert score.recall >= 0.9, score.mistakes
    assert score.precision >= 0.95, score.mistakes


def test_a_corpus_depends_on_its_seed_alone(corpus: Corpus, tmp_path: Path) -> None:
    again = write(tmp_path / "data", plots(SEED, DAYS, per_cause=1, healthy_groups=12), DAYS, SEED)
    assert again.planted == corpus.planted
    assert report_of(again).as_json() == report_of(corpus).as_json()


def test_the_command_prints_ten_lines_and_tables(during: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *during, "--limit", "3"]) == 0
    out, err = capsys.readouterr()
    lines, findings, *_ = out.split("\n\n")
    assert len(lines.splitlines()) == 10 and "would not have been" in lines
    assert findings.splitlines()[0] == "Findings" and "the first 3 of " in findings
    assert not err


def test_a_pattern_selects_groups(during: list[str], corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    name = next(iter(corpus.planted))
    assert main(["report", *during, "--group", f"{name[:9]}*", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["groups"] == 1 and {each["group"] for each in found["findings"]} == {name}


def test_the_page_is_one_file(during: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    assert main(["report", *during, "--html", str(path)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 10 and err == f"wrote {path}\n"
    assert path.read_text(encoding="utf-8").count("<svg") == 3
    assert main(["report", *during, "--html", str(tmp_path / "no" / "report.html")]) == 2
    assert "choose another file" in capsys.readouterr().err


def test_without_events_the_changes_of_groups_are_judged(
    corpus: Corpus, during: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(corpus.data_dir, copy, ignore=shutil.ignore_patterns(f"{EVENTS_TOPIC}-*"))
    assert main(["report", *during, "--data-dir", str(copy), "--json"]) == 0
    found = {each["group"]: each["kind"] for each in json.loads(capsys.readouterr().out)["findings"]}
    for kind in ("static", "scaling", "crash_loop"):
        groups = {group for group, causes in corpus.planted.items() if [each.kind.value for each in causes] == [kind]}
        assert {found.get(group) for group in groups} == {kind}


def test_a_time_without_events_is_an_error(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--data-dir", str(corpus.data_dir), "--since", "-1h"]) == 1
    assert "name an earlier --since" in capsys.readouterr().err
    assert main(["report", "--data-dir", str(corpus.data_dir), "--since", "-1h", "--until", "-2h"]) == 2
    assert "exchange them" in capsys.readouterr().err

"""The readers of what runners print, and the rules by which verdicts differ; no project is fetched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from tests.dropin import golang, javascript, rust
from tests.dropin.edits import edit
from tests.dropin.junit import verdicts_of
from tests.dropin.model import FAILED, PASSED, SKIPPED, Project
from tests.dropin.outcome import MISSING, SERVERS, Outcome, outcome_of, result_file, stem
from tests.dropin.page import report, unused
from tests.dropin.processes import PrepareError
from tests.dropin.table import LANGUAGES, project_of

PROJECTS: Final = [(language, project) for language in LANGUAGES for project in language.projects]
PROJECT: Final = Project("@scope/package", "1.2", tests=(), explained={"known$": "It is known."})


def written(results: Path, runs: dict[str, list[dict[str, str]]]) -> Outcome:
    for server in SERVERS:
        for number, verdicts in enumerate(runs[server], 1):
            found = {"started_s": 1.0, "took_s": 8.0 if server == "kafka" else 2.0, "verdicts": verdicts}
            result_file(results, PROJECT, server, number).write_text(json.dumps(found))
    return outcome_of(PROJECT, "JavaScript", results)


def test_a_test_differs_if_no_verdict_was_given_by_both_servers(tmp_path: Path) -> None:
    kafka = [{"same": PASSED, "differs": PASSED, "unsteady": FAILED, "known": PASSED, "lost": PASSED}]
    own = [{"same": PASSED, "differs": FAILED, "unsteady": FAILED, "known": FAILED}]
    outcome = written(tmp_path, {"kafka": kafka * 2, "coordinator": [own[0], {**own[0], "unsteady": PASSED}]})
    assert outcome.differing == ["differs", "known", "lost"]
    assert outcome.unsteady == ["unsteady"]
    assert outcome.unexplained == ["differs", "lost"]
    assert outcome.sets("lost") == [{PASSED}, {MISSING}]
    assert outcome.speed_up == 4.0
    assert not outcome.unused_explanations


def test_the_report_names_each_difference_with_its_reason(tmp_path: Path) -> None:
    text = report(
        [written(tmp_path, {"kafka": [{"a|b": PASSED, "known": PASSED}], "coordinator": [{"known": FAILED}]})]
    )
    assert "| @scope/package 1.2 | JavaScript | 2 | 0 | 0 | 0 | 2 | 0 | 8.0 | 2.0 | 4.00 |" in text
    assert "- @scope/package, `a b`: passed on Kafka, not run here. **not explained**" in text
    assert "- @scope/package, `known`: passed on Kafka, failed here. It is known." in text


def test_an_explanation_that_no_test_needs_is_reported(tmp_path: Path) -> None:
    outcome = written(tmp_path, {"kafka": [{"known": PASSED}], "coordinator": [{"known": PASSED}]})
    assert outcome.unused_explanations == ["It is known."]
    assert "It is known." in unused([outcome])[0]


def test_results_of_projects_have_names_of_their_own() -> None:
    assert stem(PROJECT) == "scope-package-1.2"
    assert len({stem(project) for _, project in PROJECTS}) == len(PROJECTS)


@pytest.mark.parametrize(("language", "project"), PROJECTS, ids=[project.name for _, project in PROJECTS])
def test_a_row_is_found_and_its_patterns_are_regular_expressions(language: object, project: Project) -> None:
    assert project_of(project.name) == (language, project)
    for pattern, why in project.explained.items():
        re.compile(pattern)
        assert why.endswith(".")


def test_go_a_test_that_was_ended_has_failed(tmp_path: Path) -> None:
    events = [
        {"Action": "run", "Package": "p", "Test": "TestA"},
        {"Action": "output", "Package": "p", "Test": "TestA", "Output": "..."},
        {"Action": "run", "Package": "p", "Test": "TestB/0a1b2c3d-0000-4000-8000-0123456789ab"},
        {"Action": "pass", "Package": "p", "Test": "TestB/0a1b2c3d-0000-4000-8000-0123456789ab"},
        {"Action": "run", "Package": "p", "Test": "TestC"},
        {"Action": "skip", "Package": "p", "Test": "TestC"},
        {"Action": "fail", "Package": "p"},
    ]
    output = tmp_path / "output"
    output.write_text("panic: no JSON\n" + "".join(f"{json.dumps(event)}\n" for event in events))
    assert golang._read(output) == {"p::TestA": FAILED, "p::TestB/…": PASSED, "p::TestC": SKIPPED}


def test_rust_a_test_has_the_name_of_its_program() -> None:
    printed = """
     Running tests/test_admin.rs (target/debug/deps/test_admin-1)
test topics ... ok
test configs ... FAILED
     Running tests/test_metadata.rs (target/debug/deps/test_metadata-2)
test topics ... ignored
"""
    assert rust._read(printed) == {
        "tests/test_admin.rs::topics": PASSED,
        "tests/test_admin.rs::configs": FAILED,
        "tests/test_metadata.rs::topics": SKIPPED,
    }


def test_tap_a_test_that_fails_once_has_failed(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text("1..4\nok 1 a\nnot ok 2 b\nok 3 b\nok 4 c # SKIP -\n# tests 3\n")
    assert javascript._read(output) == {"a": PASSED, "b": FAILED, "c": SKIPPED}


def test_junit_an_error_at_the_end_of_a_test_counts(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    cases = ('name="a"/>', 'name="a"><error/></testcase>', 'name="b"><skipped/></testcase>', 'name="c"/>')
    file.write_text("<testsuites>" + "".join(f'<testcase classname="t" {each}' for each in cases) + "</testsuites>")
    assert verdicts_of(file, tmp_path / "missing.xml") == {"t::a": FAILED, "t::b": SKIPPED, "t::c": PASSED}


def test_an_edit_whose_text_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("localhost:9092 and localhost:9092")
    edit(tmp_path, [("*.txt", "localhost:9092", "127.0.0.1:1")])
    assert (tmp_path / "a.txt").read_text() == "127.0.0.1:1 and 127.0.0.1:1"
    with pytest.raises(PrepareError, match="has the text 'localhost:9092' any more; adapt the project's row"):
        edit(tmp_path, [("*.txt", "localhost:9092", "127.0.0.1:1")])

"""The parser of the command line: proposals for mistyped words, and words between options."""

from __future__ import annotations

import pytest

from coordinator.cli.main import main, parser_of


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gruops", "list"], "there is no 'gruops'; did you mean 'groups'?"),
        (["groups", "descrbe"], "there is no 'descrbe'; did you mean 'describe'?"),
        (["topics", "creat", "a:1"], "there is no 'creat'; did you mean 'create'?"),
        (["cluster", "describ"], "there is no 'describ'; did you mean 'describe'?"),
        (["history", "comits", "g"], "there is no 'comits'; did you mean 'commits'?"),
        (["groups", "list", "-o", "jsn"], "there is no 'jsn'; did you mean 'json'?"),
        (["groups", "describe", "g", "--membrs"], "unrecognized arguments: --membrs; did you mean --members?"),
        (["groups", "reset-offsets", "g", "--to-erliest=1", "--to-latest"], "did you mean --to-earliest?"),
        (["cluster", "describe", "--timout", "1"], "did you mean --timeout?"),
        (["groups", "xyzzy"], "there is no 'xyzzy'; choose from explain, why, watch, list"),
    ],
)
def test_mistyped_word_is_answered_with_the_one_that_was_probably_meant(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_names_may_stand_before_between_and_after_options() -> None:
    parser = parser_of("groups", "describe")
    for words in (["a", "b", "--members", "-o", "csv"], ["--members", "a", "-o", "csv", "b"], ["-o", "csv", "a", "b"]):
        assert parser.parse_intermixed_args(words).groups == ["a", "b"]


def test_server_comes_from_the_environment_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def server(*words: str) -> str:
        return str(parser_of("groups", "list").parse_intermixed_args(words).bootstrap_server)

    monkeypatch.delenv("COORDINATOR_BOOTSTRAP_SERVER", raising=False)
    assert server() == "127.0.0.1:9092"
    monkeypatch.setenv("COORDINATOR_BOOTSTRAP_SERVER", "kafka.example:1")
    assert server() == "kafka.example:1"
    assert server("-b", "a:1") == server("--bootstrap-server", "a:1") == "a:1"
    monkeypatch.setenv("COORDINATOR_BOOTSTRAP_SERVER", "")
    assert server() == "127.0.0.1:9092"


@pytest.mark.parametrize("path", [["groups"], ["topics"]])
def test_verbs_are_listed_where_none_is_given(path: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(path) == 2
    out = capsys.readouterr().out
    assert f"usage: coordinator {path[0]} [-h] COMMAND ..." in out
    assert "    list " in out and "examples:" in out


@pytest.mark.parametrize("verb", ["list", "describe", "delete", "delete-offsets", "reset-offsets", "kick"])
def test_every_verb_of_groups_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["groups", verb, "--help"])
    assert ended.value.code == 0
    assert f"usage: coordinator groups {verb}" in capsys.readouterr().out

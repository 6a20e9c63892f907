"""`coordinator config --profile`: each value of a profile, and why."""

from __future__ import annotations

import json

import pytest

from coordinator.cli.main import main
from coordinator.config.config import keys
from coordinator.config.profiles import PROFILES


@pytest.mark.parametrize("name", PROFILES)
def test_each_value_of_a_profile_is_printed_with_its_reason(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--profile", name]) == 0
    printed = capsys.readouterr().out
    for key, row in PROFILES[name].items():
        assert f"{key}={row.value}\n    instead of " in printed
        assert f": {row.why}\n" in printed
    assert printed.count("=") == len(PROFILES[name])


def test_default_is_printed_beside_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--profile", "test", "initial.rebalance"]) == 0
    assert capsys.readouterr().out == (
        "group.initial.rebalance.delay.ms=0\n    instead of 3000: the first member is assigned at once\n\n"
    )


def test_values_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--profile", "test", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} == set(PROFILES["test"])
    verbs = next(row for row in rows if row["name"] == "test.verbs.enable")
    assert verbs == {
        "name": "test.verbs.enable",
        "value": True,
        "default": keys()["test.verbs.enable"].default,
        "why": PROFILES["test"]["test.verbs.enable"].why,
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--markdown"], "--markdown prints the page of all settings"),
        (["retention"], "the profile 'test' sets nothing with 'retention' in its name or meaning"),
    ],
)
def test_calls_that_are_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--profile", "test", *words]) != 0
    assert sentence in capsys.readouterr().err

"""`coordinator simulate`: outcomes, exit codes, replays, and mistakes in its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.torture.schedule import Schedule, Step, write_schedule


def test_a_seed_without_a_broken_promise_ends_with_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seed", "3", "--steps", "600", "--parallel", "1"]) == 0
    told = capsys.readouterr().out.splitlines()[-1]  # behind the lines that show the progress, if it takes long
    assert told.startswith("1 seeds, ")
    assert "; 0 with a broken promise" in told


def test_outcomes_as_json_name_the_digest_of_each_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seed", "3-4", "--steps", "300", "--parallel", "2", "--json"]) == 0
    outcomes = json.loads(capsys.readouterr().out)
    assert [each["seed"] for each in outcomes] == [3, 4]
    assert all(each["violation"] is None and each["steps"] >= 300 for each in outcomes)
    assert len({each["digest"] for each in outcomes}) == 2


def test_a_saved_schedule_is_played_in_the_world_of_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(write_schedule(Schedule((Step("kill_node", node=1, ms=100),), 3)), encoding="utf-8")
    assert main(["simulate", "--replay", str(saved), "--steps", "600"]) == 0
    assert "0 with a broken promise" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--seed", "nine"], ["--seed", "9-1"]])
def test_what_is_no_seed_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["simulate", *words])
    assert stop.value.code == 2
    assert "neither a seed nor a range of seeds, such as 7 or 1-100" in capsys.readouterr().err


def test_steps_of_torture_and_of_simulation_name_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(write_schedule(Schedule((Step("rebalance"),), 3)), encoding="utf-8")
    assert main(["simulate", "--replay", str(saved)]) == 2
    assert "rebalance is a step of torture; use `coordinator torture --replay`" in capsys.readouterr().err
    saved.write_text(write_schedule(Schedule((Step("lose_power", node=1),), 3)), encoding="utf-8")
    assert main(["torture", "--replay", str(saved), "--", "true"]) == 2
    assert "lose_power is a step of a simulation; use `coordinator simulate --replay`" in capsys.readouterr().err

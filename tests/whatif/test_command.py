"""`coordinator whatif` on a data directory with events that a group has left."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.cli.main import main
from coordinator.cli.whatif import all_groups
from coordinator.core.events.model import AnyEvent, Cause
from coordinator.whatif.player import play
from coordinator.whatif.spec import StimulusAction
from tests.history.stories import Story
from tests.history.test_events import write
from tests.whatif.groups import HOUR, PARTITIONS, T0, at, group_of, starts
from tests.whatif.test_recorded import rebalance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "orders-service"


def recorded() -> list[AnyEvent]:
    """Ten restarts within ten hours."""
    stimuli = [at(1 + number, StimulusAction.RESTART, f"m{number % 3}", for_ms=4_000) for number in range(10)]
    group = group_of()
    return [event for event in play(group, [*starts(group), *stimuli], 1).events if event.at_ms > T0 + HOUR // 2]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    directory = Story(GROUP).created().roll().source(tmp_path / "data").data_dir
    write(directory, *recorded())
    return directory


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["whatif", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_static_group_rebalances_never_when_its_members_restart(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, GROUP, "--set", "static=true", "--data-dir", str(data_dir), "--seeds", "4")
    replayed, static = found["alternatives"]
    assert found["recorded"]["rebalances"] == replayed["rebalances"]["median"] == 20
    assert static["rebalances"] == {"median": 0, "p10": 0, "p90": 0}
    assert static["settings"] == "static=true"
    lost = [each["lost_partition_seconds"] for each in (replayed, static)]
    assert found["recorded"]["lost_partition_seconds"] == pytest.approx(lost[0]["median"], rel=0.25)
    assert lost[1]["median"] == pytest.approx(10 * 4 * PARTITIONS / 3, rel=0.02), "while a member is away"
    assert "models" in found["limits"]


def test_the_table_has_a_row_for_each_alternative_and_says_its_limits(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--try", "static=true", "--try", "heartbeat.interval.ms=1000", "--seeds", "2"]
    assert main(["whatif", GROUP, *words, "--data-dir", str(data_dir)]) == 0
    told = capsys.readouterr()
    lines = [line.split() for line in told.out.splitlines()]
    assert [line[0] for line in lines] == [
        "SETTINGS",
        "recorded",
        "replayed",
        "static=true",
        "heartbeat.interval.ms=1000",
    ]
    assert "Clients and disk are models" in told.err


def test_only_the_time_that_is_asked_for_is_replayed(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "static=true", "--seeds", "1", "--data-dir", str(data_dir)]
    found = answer(capsys, GROUP, *words, "--since", "2023-11-15T06:00Z")  # T0 is 22:13:20 of the day before
    assert found["recorded"]["rebalances"] == found["alternatives"][0]["rebalances"]["median"] == 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "name one GROUP, or replay all of them with --all-groups"),
        ([GROUP], "no setting is changed"),
        ([GROUP, "--set", "sesion.timeout.ms=1"], "cannot be changed here; choose of:"),
        ([GROUP, "--set", "session.timeout.ms=1"], "change one of them as well"),
        ([GROUP, "--set", "static=true", "--master", "local[1]"], "--master goes with --all-groups"),
        (["payments", "--set", "static=true"], "no rebalance of it is recorded in that time"),
    ],
)
def test_errors_say_what_to_do(
    data_dir: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["whatif", *words, "--data-dir", str(data_dir)]) in (1, 2)
    assert sentence in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.spark
def test_all_groups_have_the_figures_of_each_one(
    tmp_path: Path,
    data_dir: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(all_groups, "spark_session", lambda master: nullcontext(spark))
    alone = answer(capsys, GROUP, "--set", "static=true", "--data-dir", str(data_dir), "--seeds", "3")
    kip848 = rebalance(T0 + HOUR, Cause.FORCED, type="consumer")
    directory = Story(GROUP).created().roll().source(tmp_path / "both").data_dir
    write(directory, *recorded(), kip848)
    assert (
        main(["whatif", "--all-groups", "--set", "static=true", "--data-dir", str(directory), "--seeds", "3", "--json"])
        == 0
    )
    told = capsys.readouterr()
    both = json.loads(told.out)
    assert both.pop("groups") == 1
    assert both == alone
    assert "left out: 1 groups, such as 'g': it is a consumer group (KIP-848)" in told.err

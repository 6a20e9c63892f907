"""`coordinator torture` against applications that are right or wrong in a known way."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from coordinator.torture.schedule import Schedule, Step, read_schedule, write_schedule
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

APP = Path(__file__).parent / "app.py"
STEPS = (Step("drop_connection", copy=1), Step("rebalance"), Step("delay", api="Heartbeat", ms=50))


def torture(directory: Path, *words: str, steps: tuple[Step, ...] = STEPS) -> subprocess.CompletedProcess[str]:
    (directory / "schedule.json").write_text(write_schedule(Schedule(steps, 1, 7)))
    options = ["--replay", "schedule.json", "--startup", "20", "--patience", "4", "--save", "saved"]
    command = [sys.executable, "-m", "coordinator", "torture", *options, *words]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=200, check=False)


def test_a_good_application(tmp_path: Path) -> None:
    done = torture(tmp_path, "--json", "--junit", "out.xml", "--", sys.executable, str(APP), "good")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    (row,) = report["schedules"]
    assert (report["failures"], row["number"], row["verdict"]["failures"]) == (0, 7, [])
    assert row["steps"][1] == "the group is forced to rebalance"
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


@pytest.mark.parametrize(
    ("behaviour", "kind", "sentence"),
    [
        ("skips", "LOST", "records were committed past and sent to no copy"),
        ("sticks", "STUCK", "nothing committed for"),
        ("exits", "EXITED", "ended by itself with exit code 3"),
        ("goes_back", "WENT_BACK", "was committed"),
    ],
)
def test_a_wrong_application_is_found_and_its_schedule_shortened(
    tmp_path: Path, behaviour: str, kind: str, sentence: str
) -> None:
    done = torture(tmp_path, "--", sys.executable, str(APP), behaviour)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"=> {kind}: " in done.stdout, done.stdout
    assert sentence in done.stdout
    shortest = done.stdout.split("\n\n")[1]
    assert shortest.startswith("1. the group is forced to rebalance\n=> "), done.stdout
    if behaviour == "exits":
        assert "last lines of copy-" in done.stdout
        assert "it ends here" in done.stdout


def test_values_that_are_written_are_counted(tmp_path: Path) -> None:
    done = torture(tmp_path, "--output", "--json", "--", sys.executable, str(APP), "writes")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["schedules"]
    assert row["verdict"]["failures"] == []
    assert row["verdict"]["processed_twice"] is not None


def test_records_that_are_committed_and_not_written_are_lost(tmp_path: Path) -> None:
    done = torture(tmp_path, "--output", "--", sys.executable, str(APP), "swallows")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "records were committed and their values are not in torture-output, the first is" in done.stdout


def test_values_that_are_written_again_are_told(tmp_path: Path) -> None:
    done = torture(tmp_path, "--output", "--json", "--", sys.executable, str(APP), "repeats")
    (row,) = json.loads(done.stdout)["schedules"]
    assert row["verdict"]["processed_twice"] > 20


def test_an_application_that_ends_at_once(tmp_path: Path) -> None:
    done = torture(tmp_path, "--", sys.executable, "-c", "print('no broker'); raise SystemExit(4)")
    assert done.returncode == 2
    assert "copy 1 ended at its start with exit code 4; its last lines:\nno broker" in done.stderr.replace("\\n", "\n")


def test_an_application_that_is_not_there(tmp_path: Path) -> None:
    done = torture(tmp_path, "--", "./no-such-app")
    assert done.returncode == 2
    assert "./no-such-app cannot be started (No such file or directory); is it on the PATH?" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--copies", "12", "--", "true"], "argument --copies: 9 copies at most, not 12"),
        (["--schedules", "0", "--", "true"], "argument --schedules: '0' is no number from 1 upwards"),
        ([], "give the application behind --, for example: coordinator torture -- ./my-app"),
        (
            ["--replay", "missing.json", "--", "true"],
            "--replay missing.json cannot be read (No such file or directory)",
        ),
    ],
)
def test_mistakes(tmp_path: Path, words: list[str], sentence: str) -> None:
    command = [sys.executable, "-m", "coordinator", "torture", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert sentence in done.stderr


def test_no_copy_outlives_torture(tmp_path: Path) -> None:
    app = "import os, pathlib, time; pathlib.Path(f'{os.getpid()}.pid').touch(); time.sleep(600)"
    words = ["-m", "coordinator", "torture", "--schedules", "1", "--", sys.executable, "-c", app]
    with subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdout=subprocess.DEVNULL) as torture:
        eventually(lambda: len(list(tmp_path.glob("*.pid"))) == 2, "two copies run")
        torture.kill()
    pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the copies end with it")


def test_an_application_that_consumes_nothing(tmp_path: Path) -> None:
    done = torture(tmp_path, "--startup", "1", "--", "sleep", "60")
    assert done.returncode == 2
    assert "only 0 of 2 copies became members; does the application consume KAFKA_TOPIC as group" in done.stderr


def test_a_failing_schedule_is_saved_and_replays(tmp_path: Path) -> None:
    app = [sys.executable, str(APP), "exits"]
    words = [sys.executable, "-m", "coordinator", "torture", "--schedules", "1", "--save", "saved", "--", *app]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    saved = tmp_path / "saved" / "torture-0.json"
    assert read_schedule(saved.read_text()).steps == (Step("rebalance"),)
    again = [*words[:4], "--replay", str(saved), "--", *app]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, timeout=100, check=False).returncode == 1

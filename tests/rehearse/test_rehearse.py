"""`coordinator rehearse` with applications that are ready for the migration, or have a known trap each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

PROGRAMS = Path(__file__).parent / "programs"
REHEARSE = (sys.executable, "-m", "coordinator", "rehearse")
IN_S = 300
OTHER = "../../torture/programs/confluent_app"  # which leaves the protocol to its client
# The options of each application, which are rehearsed at the same time.
OPTIONS: dict[str, tuple[str, ...]] = {
    "clean": (),
    "session_timeout": (),
    "custom_assignor": (),
    "late_commit": (),
    "no_commit": ("--output",),
    "whole_list": ("--patience", "3"),
    "slow_revocation": (),
    OTHER: (),
}


@pytest.fixture(scope="module", autouse=True)
def rehearsals() -> Iterator[dict[str, subprocess.Popen[str]]]:
    running = {
        name: subprocess.Popen(
            [*REHEARSE, "--json", "--startup", "120", *options, "--", sys.executable, str(PROGRAMS / f"{name}.py")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name, options in OPTIONS.items()
    }  # fmt: skip
    yield running
    for each in running.values():
        each.terminate()
        each.communicate()


class Outcome:
    """The report of one rehearsal."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        stdout, stderr = running.communicate(timeout=IN_S)
        assert running.returncode in (0, 1), stderr
        self.report: dict[str, Any] = json.loads(stdout)
        self.findings = {each["kind"]: each for each in self.report["findings"]}
        self.phases = {each["name"]: each for each in self.report["phases"]}
        assert running.returncode == bool(self.findings)

    @property
    def played(self) -> list[str]:
        return [name for name, each in self.phases.items() if each["is_played"]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give the application behind --, for example: coordinator rehearse -- ./my-app"),
        (["--copies", "1", "--", "true"], "a rehearsal needs 2 copies, one for each protocol"),
        (["--", "./no-such-app"], "./no-such-app cannot be started (No such file or directory); is it on the PATH?"),
        (
            ["--", sys.executable, "-c", "print('no broker'); raise SystemExit(4)"],
            r"copy-1 ended at its start with exit code 4; its last lines:\x0ano broker",
        ),
        (["--startup", "1", "--", "sleep", "60"], "within 1 s copy-1 did not become a member; does the application"),
    ],
)
def test_mistakes(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(["rehearse", *words])
    except SystemExit as mistake:
        code = mistake.code
    assert code == 2
    assert sentence in capsys.readouterr().err.replace("\n", r"\x0a")


def test_no_copy_outlives_a_rehearsal(tmp_path: Path) -> None:
    app = "import os, pathlib, time; pathlib.Path(f'{os.getpid()}.pid').touch(); time.sleep(600)"
    with subprocess.Popen([*REHEARSE, "--", sys.executable, "-c", app], cwd=tmp_path, stdout=subprocess.DEVNULL) as one:
        eventually(lambda: len(list(tmp_path.glob("*.pid"))) == 2, "two copies run", within_s=IN_S)
        one.terminate()
    pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the copies end with it", within_s=IN_S)


def test_a_clean_application_has_no_findings(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["clean"])
    assert outcome.report["findings"] == []
    assert outcome.played == ["classic", "upgrade", "consumer", "downgrade", "classic again"]
    protocols = [sorted(outcome.phases[name]["protocols"].values()) for name in outcome.played]
    classic, mixed, consumer = ["classic"] * 2, ["classic", "consumer"], ["consumer"] * 2
    assert protocols == [classic, mixed, consumer, mixed, classic]
    for name in outcome.played:
        phase = outcome.phases[name]
        assert phase["assignors"] == ([] if name == "consumer" else ["range", "roundrobin"])
        assert max(phase["without_owner_s"].values()) > 0, "a copy was restarted"
        assert {"assigned", "revoked"} <= set(phase["printed_callbacks"]["copy-1"])
        assert {kind for _, _, kind, *_ in phase["callbacks"]} == {"assigned", "revoked"}


def test_a_setting_that_the_client_refuses(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["session_timeout"])
    assert list(outcome.findings) == ["refused_setting"]
    finding = outcome.findings["refused_setting"]
    assert "the client of copy-1 refuses session.timeout.ms" in finding["sentence"]
    assert "consumer.session.timeout.ms" in finding["advice"]
    assert outcome.played == ["classic", "upgrade"]


def test_an_assignor_of_the_application(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["custom_assignor"])
    assert list(outcome.findings) == ["custom_assignor"]
    assert "nearest-warehouse" in outcome.findings["custom_assignor"]["sentence"]
    assert len(outcome.played) == 5


def test_commits_after_a_revocation(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["late_commit"])
    assert outcome.findings.keys() == {"not_owner", "went_back"}
    assert "consumer" in outcome.findings["not_owner"]["phases"]


def test_records_that_are_processed_twice(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["no_commit"])
    assert list(outcome.findings) == ["processed_twice"]
    assert "written to the output twice" in outcome.findings["processed_twice"]["sentence"]
    assert sum(sum(phase["sent_again"].values()) for phase in outcome.phases.values()) > 0, "it shows without an output"


def test_a_list_that_is_taken_for_the_whole_assignment(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["whole_list"])
    assert list(outcome.findings) == ["kept_unread"]
    assert "consumer" in outcome.findings["kept_unread"]["phases"]
    assert "classic" not in outcome.findings["kept_unread"]["phases"]


def test_a_long_revocation(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    outcome = Outcome(rehearsals["slow_revocation"])
    assert list(outcome.findings) == ["slow_revocation"]
    assert "consumer" in outcome.findings["slow_revocation"]["phases"]


def test_an_application_that_does_not_use_the_protocol_it_is_told(rehearsals: dict[str, subprocess.Popen[str]]) -> None:
    _, stderr = rehearsals[OTHER].communicate(timeout=IN_S)
    assert rehearsals[OTHER].returncode == 2
    assert "copy-1 was told group.protocol=consumer and joined with the other protocol" in stderr

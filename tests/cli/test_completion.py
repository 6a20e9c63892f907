"""`coordinator completion`: candidates for each place of a call, and the scripts in their shells."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.cli.completion import SCRIPTS, candidates
from coordinator.cli.groups.command import VERBS
from coordinator.cli.main import COMMANDS, main
from tests.support.daemon import Daemon
from tests.support.machine_tools import require_tool
from tests.support.questions import commit_offsets

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon"), topics=["orders:1", "payments:1"]) as running:
        commit_offsets(running.port, "shop", {("orders", 0): 0})
        commit_offsets(running.port, "shipping", {("orders", 0): 0})
        yield running


def test_commands_and_verbs_are_completed() -> None:
    assert set(COMMANDS) < set(candidates([""]))
    assert candidates(["gr"]) == ["groups"]
    assert candidates(["groups", ""]) == sorted([*VERBS, "-h", "--help"])
    assert candidates(["groups", "delete"]) == ["delete", "delete-offsets"]
    assert candidates(["cluster", "de"]) == ["describe"]
    assert candidates(["nonsense", ""]) == []


def test_options_and_their_values_are_completed() -> None:
    assert candidates(["groups", "reset-offsets", "shop", "--to-e"]) == ["--to-earliest"]
    assert candidates(["groups", "list", "-o", ""]) == ["csv", "json", "table", "yaml"]
    assert candidates(["cluster", "describe", "--output", "y"]) == ["yaml"]
    assert candidates(["serve", "--log-level", "w"]) == ["warning"]
    assert candidates(["completion", "f"]) == ["fish"]
    assert candidates(["groups", "reset-offsets", "--from-file", "pl"]) == []  # a file: the shell knows those


@pytest.mark.integration
def test_groups_and_topics_of_the_server_are_completed(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ["-b", daemon.address]
    assert candidates(["groups", "describe", *server, "sh"]) == ["shipping", "shop"]
    assert candidates(["groups", "reset-offsets", "shop", *server, "-t", "o"]) == ["orders"]
    monkeypatch.setenv("COORDINATOR_BOOTSTRAP_SERVER", daemon.address)
    assert candidates(["topics", "delete", "pay"]) == ["payments"]
    assert candidates(["groups", "delete", "-g", "shop"]) == ["shop"]


def test_script_is_printed_for_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in SCRIPTS.items():
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == f"{script}\n"
    assert main(["completion"]) == 2
    assert "name the shell: bash, zsh, fish" in capsys.readouterr().err


BASH = """
source <("$1" completion bash)
COMP_WORDS=("$1" groups describe sh)
COMP_CWORD=3
_coordinator "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The widgets of zsh need a terminal, so its function is called with a compadd that prints.
ZSH = """
compdef() { : }
compadd() { shift; print -l -- "$@" }
_files() { print files }
source <("$1" completion zsh)
words=("$1" groups describe sh)
CURRENT=4
_coordinator
"""
FISH = """
$argv[1] completion fish | source
complete --do-complete 'coordinator groups describe sh'
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("shell", "script"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)], ids=["bash", "zsh", "fish"]
)
def test_script_completes_in_its_shell(shell: str, script: str, daemon: Daemon, tmp_path: Path) -> None:
    found = require_tool(shell)
    program = tmp_path / "coordinator"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m coordinator "$@"\n')
    program.chmod(0o755)
    flag = ["-c", script] if shell == "fish" else ["-c", script, shell]
    done = subprocess.run(
        [found, *flag, str(program)],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "COORDINATOR_BOOTSTRAP_SERVER": daemon.address,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["shipping", "shop"], done.stderr

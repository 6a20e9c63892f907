"""docs/testing.md is typed in, block by block; docs/faults.md names each verb with its parameters."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from coordinator.config.environment import variable_of
from coordinator.testing.http import verb_names
from coordinator.testing.verbs import Verbs, api_of
from protocol.error_codes import ErrorCode
from tests.docs.blocks import ROOT, Block, blocks
from tests.support.eventually import eventually
from tests.support.group_member import alone_in_group
from tests.support.machine_tools import require_tool
from tests.support.wire import Wire

PAGE: Final = "docs/testing.md"
FAULTS: Final = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
TYPED_S: Final = 120.0
_ROW: Final = re.compile(r"^\| `(\w+)\(([^)]*)\)` \|", re.MULTILINE)
_NAME_IN_CAPITALS: Final = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")


def environment() -> dict[str, str]:
    """Return the environment of a newcomer: the commands of these tests, and no settings."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COORDINATOR_", "PYTEST_"))}
    return {**kept, "PATH": path}


def python(block: Block, directory: Path, *arguments: str) -> str:
    """Run a block as a file. Return the output."""
    (directory / "test_page.py").write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *arguments, "test_page.py"],
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TYPED_S,
        check=False,
    )
    assert done.returncode == 0, f"{block.where}: {done.stdout}{done.stderr}"
    return done.stdout


def a_test(block: Block, directory: Path) -> None:
    assert "1 passed" in python(block, directory, "-m", "pytest")


def a_program(block: Block, directory: Path) -> None:
    assert re.fullmatch(r"127\.0\.0\.1:\d+\n", python(block, directory))


def a_daemon(block: Block, directory: Path) -> None:
    """Type the block with a member web-1 in the group shop. The daemon ends with SIGTERM, by its process id."""
    require_tool("bash")
    require_tool("curl")
    serve, _, commands = block.text.partition("&\n")
    commands = commands.replace("curl ", "curl -sS --fail-with-body --noproxy '*' ")
    log, port_file = directory / "daemon.log", directory / "port"
    with log.open("wb") as out:
        daemon = subprocess.Popen(
            ["bash", "-c", f"exec {serve}"], cwd=directory, env=environment(), stdout=out, stderr=out
        )
    try:
        eventually(lambda: port_file.exists() or daemon.poll() is not None, "the port file", within_s=60)
        assert daemon.poll() is None, log.read_text(encoding="utf-8")
        with asyncio.Runner() as runner:
            wire = runner.run(Wire.connect(int(port_file.read_text()), client_id="web-1"))
            member = runner.run(alone_in_group(wire, "shop", "orders", 3))
            typed = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands],
                cwd=directory,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=TYPED_S,
                check=False,
            )
            assert typed.returncode == 0, f"{block.where}: {typed.stdout}{typed.stderr}"
            assert runner.run(member.heartbeat()) is ErrorCode.UNKNOWN_MEMBER_ID
            runner.run(wire.close())
    finally:
        daemon.send_signal(signal.SIGTERM)
        code = daemon.wait(timeout=60)
    assert code == 0, log.read_text(encoding="utf-8")
    assert sorted(path.name for path in directory.iterdir()) == ["daemon.log", "http-port", "port"]


STEPS: Final[dict[str, Callable[[Block, Path], None]]] = {
    "import pytest #1": a_test,
    "import pytest #2": a_test,
    "from coordinator.testing import Coordinator": a_program,
    "from coordinator.testing.case import CoordinatorTestCase": a_test,
    "coordinator serve --profile test --topic orders:3 --listen 1": a_daemon,
}
EXEMPT: Final = {
    "pip install kafka-group-coordinator kafka-python pytest": "installs; .ci/newcomer does, with the wheel in dist/",
}


def test_every_block_has_a_step_or_a_reason() -> None:
    assert {block.name for block in blocks(PAGE)} == {*STEPS, *EXEMPT}


@pytest.mark.integration
@pytest.mark.parametrize(
    "block", [block for block in blocks(PAGE) if block.name in STEPS], ids=lambda block: block.name
)
def test_the_page_does_what_it_says(block: Block, tmp_path: Path) -> None:
    STEPS[block.name](block, tmp_path)


@pytest.mark.parametrize(("name", "parameters"), _ROW.findall(FAULTS))
def test_a_row_of_the_page_of_faults_is_a_verb_with_these_parameters(name: str, parameters: str) -> None:
    known = inspect.signature(getattr(Verbs, name)).parameters
    for text in parameters.split(", "):
        parameter, _, default = text.partition("=")
        assert parameter in known
        if default:
            assert known[parameter].default == float(default)


def test_each_verb_stands_on_the_page_of_faults() -> None:
    named = {word for code in re.findall(r"`([^`]+)`", FAULTS) for word in re.findall(r"^\w+", code)}
    assert set(verb_names()) <= named
    assert len(_ROW.findall(FAULTS)) == len(set(_ROW.findall(FAULTS))) > 10


def test_parameters_that_narrow_a_fault_are_those_of_each_fault() -> None:
    table = FAULTS.partition("## Requests")[2].partition("\n## ")[0]
    faults = [name for name, parameters in _ROW.findall(table) if parameters.startswith("api")]
    assert faults == ["fail_next", "delay", "lose_reply"]
    for name in faults:
        assert {"times", "client", "group"} <= inspect.signature(getattr(Verbs, name)).parameters.keys()


def test_errors_and_requests_on_the_page_of_faults_exist() -> None:
    for name in set(_NAME_IN_CAPITALS.findall(FAULTS)) - {variable_of("test.verbs.token")}:
        assert name in ErrorCode.__members__ or api_of(name), name

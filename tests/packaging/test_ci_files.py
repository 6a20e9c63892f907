"""The files for GitHub and GitLab fit their published schemas, and their shell lines do what they say.

The lines are run as the runners run them, with a wheel of this repository. `check-jsonschema` brings the schemas.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.docs.blocks import blocks
from tests.support.eventually import eventually
from tests.support.machine_tools import not_run, require_tool

ROOT: Final = Path(__file__).resolve().parents[2]
CLIENTS: Final = ROOT / "clients"
ACTION: Final = CLIENTS / "github-action" / "action.yml"
STOP: Final = CLIENTS / "github-action" / "stop" / "action.yml"
GITLAB: Final = CLIENTS / "gitlab" / "coordinator.gitlab-ci.yml"
FILES: Final = {"vendor.github-actions": (ACTION, STOP), "vendor.gitlab-ci": (GITLAB,)}
SOURCES: Final = ("coordinator", "protocol", "pyproject.toml", "setup.py", "README.md", "LICENSE")
RUN_S: Final = 240.0
JOB: Final = "coordinator topics list"  # what a job does at the address in its environment

pytestmark = pytest.mark.integration


def check(schema: str, *paths: Path) -> int:
    """Return the exit code of the check of files."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)]
    return subprocess.run(command, capture_output=True, timeout=RUN_S, check=False).returncode


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("schema", "paths"), FILES.items(), ids=FILES)
def test_files_fit_their_schema_and_one_with_a_mistake_does_not(
    schema: str, paths: tuple[Path, ...], tmp_path: Path
) -> None:
    assert check(schema, *paths) == 0
    used = tmp_path / paths[0].name  # of a template, a job: GitLab's schema asks nothing of templates
    used.write_text(paths[0].read_text().replace(".coordinator:", "tests:\n  script: pytest"))
    assert check(schema, used) == 0
    used.write_text(re.sub(r": (bash|python3)$", r": [\1]", used.read_text(), flags=re.MULTILINE))
    assert loaded(used)
    assert check(schema, used) == 1


@pytest.mark.parametrize("schema", ["vendor.github-workflows", "vendor.gitlab-ci"])
def test_the_jobs_on_the_page_fit_their_schema(schema: str, tmp_path: Path) -> None:
    beginning = {"vendor.github-workflows": "jobs:", "vendor.gitlab-ci": "include:"}[schema]
    (block,) = (each for each in blocks("docs/testing-languages.md") if each.text.startswith(beginning))
    job = tmp_path / "job.yml"
    job.write_text(f"on: push\n{block.text}" if beginning == "jobs:" else block.text, encoding="utf-8")
    assert check(schema, job) == 0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of a copy of the sources, because a build writes beside them."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", ".", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_S, check=False)
    if done.returncode:
        not_run(f"let pip reach its index (it said: {done.stderr.strip()[-300:]})")
    (found,) = folder.glob("*.whl")
    return found


def calm() -> dict[str, str]:
    """Return an environment without settings, where pip installs a wheel alone: what it needs is there already."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COORDINATOR_", "PYTEST_"))}
    return {**kept, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": sysconfig.get_path("purelib")}


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


class Runner:
    """Runs the steps of composite actions, with the files that GitHub gives them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**calm(), "RUNNER_TEMP": str(home)}
        self.said = ""

    def run(self, action: Path, inputs: Mapping[str, str]) -> int:
        """Run an action until a step fails. Return the exit code of its last step."""
        given = {name: each["default"] for name, each in loaded(action).get("inputs", {}).items()} | inputs
        code = 0
        for step in loaded(action)["runs"]["steps"]:
            if step.get("if", "").startswith("inputs.serve") and given["serve"] != "true":
                continue
            values = {name: self._input(text, given) for name, text in step.get("env", {}).items()}
            if (code := self.step(step["run"], values)) != 0:
                break
        return code

    @staticmethod
    def _input(text: str, given: Mapping[str, str]) -> str:
        found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
        assert found is not None
        return given[found[1]]

    def step(self, lines: str, values: Mapping[str, str]) -> int:
        """Run the lines of a step as GitHub does for `shell: bash`. Their output is `said`."""
        script = self.home / "step.sh"
        script.write_text(lines, encoding="utf-8")
        files = {name: self.home / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")}
        for path in files.values():
            path.touch()
        done = subprocess.run(
            [require_tool("bash"), "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env={**self.environment, **values, **{name: str(path) for name, path in files.items()}},
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        self.said = done.stdout
        for line in files["GITHUB_ENV"].read_text().splitlines():
            name, _, value = line.partition("=")
            self.environment[name] = value
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.environment["PATH"] = f"{line}{os.pathsep}{self.environment['PATH']}"
        return done.returncode

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.home / "GITHUB_OUTPUT").read_text().splitlines())

    @property
    def server(self) -> int:
        return int((self.home / "coordinator" / "pid").read_text())


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path)
    yield made
    pid_file = tmp_path / "coordinator" / "pid"
    if pid_file.exists() and is_alive(made.server):
        os.kill(made.server, 9)


def test_the_steps_of_the_action_start_a_server_and_stop_it(runner: Runner, wheel: Path) -> None:
    inputs = {"wheel": str(wheel), "python": sys.executable, "listen": "127.0.0.1:0", "http": "127.0.0.1:0"}
    topics = {"topics": "orders:4 payments:2", "settings": "group.max.size=3\nnum.partitions=7\n"}
    assert runner.run(ACTION, inputs | topics) == 0, runner.said
    outputs = {name: each["value"] for name, each in loaded(ACTION)["outputs"].items()}
    assert outputs == {name: f"${{{{ steps.start.outputs.{name} }}}}" for name in runner.outputs()}
    assert runner.environment["COORDINATOR_BOOTSTRAP_SERVER"] == runner.outputs()["bootstrap-servers"]
    assert runner.step(JOB, {}) == 0
    assert {"orders", "payments"} <= set(runner.said.split())
    verb = f"coordinator faults --http {runner.outputs()['http']}"
    assert runner.step(f"{verb} fail_next Heartbeat NOT_COORDINATOR", {}) == 0, runner.said
    server = runner.server
    assert runner.run(STOP, {}) == 1
    assert "no request came for: the next HEARTBEAT" in runner.said
    assert "::group::The log of the test server" in runner.said
    assert not is_alive(server)
    shutil.rmtree(runner.home / "coordinator")
    assert runner.run(STOP, {}) == 0


def test_an_action_whose_server_cannot_start_shows_its_log(runner: Runner, wheel: Path) -> None:
    start = loaded(ACTION)["runs"]["steps"][1]
    commands = runner.home / "coordinator" / "bin"
    commands.mkdir(parents=True)
    (commands / "coordinator").symlink_to(Path(sys.executable).parent / "coordinator")
    values = {"TOPICS": "", "SETTINGS": "group.max.sise=3", "LISTEN": "127.0.0.1:0", "HTTP": "127.0.0.1:0"}
    assert runner.step(start["run"], values) == 1
    assert "group.max.sise" in runner.said
    assert "::error::the test server is not ready" in runner.said


def test_the_lines_of_the_template_start_a_server_and_stop_it(tmp_path: Path, wheel: Path) -> None:
    job = loaded(GITLAB)[".coordinator"]
    given = {"TEST_SERVER_PACKAGE": str(wheel), "TEST_SERVER_PYTHON": sys.executable, "TEST_SERVER_TOPICS": "orders:4"}
    given |= {"TEST_SERVER_SETTINGS": "group.max.size=3\nnum.partitions=7", "TEST_SERVER_HOME": str(tmp_path / "home")}
    given |= {"TEST_SERVER_LISTEN": "127.0.0.1:0", "TEST_SERVER_HTTP": "127.0.0.1:0"}
    assert given.keys() == job["variables"].keys()

    def shell(*parts: str) -> str:
        """Run the parts in one shell, as GitLab does."""
        done = subprocess.run(
            ["sh", "-e"],
            input="\n".join(parts),
            env=calm() | given,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    try:
        assert "orders" in shell(*job["before_script"], JOB).split()
        server = int((tmp_path / "home" / "pid").read_text())
        assert is_alive(server)
    finally:
        log = shell(*job["after_script"])
    assert "stopped data_dir=:memory:" in log
    eventually(lambda: not is_alive(server), "the end of the server")

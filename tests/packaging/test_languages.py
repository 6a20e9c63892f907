"""The packages for JavaScript and Go have the verbs of Python, and their own tests pass with real clients."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from clients.generate import go, javascript
from coordinator.testing.verbs import Verbs
from tests.support.machine_tools import require_tool
from tests.support.npm_packages import installed

ROOT: Final = Path(__file__).resolve().parents[2]
JAVASCRIPT: Final = ROOT / "clients" / "javascript"
GO: Final = ROOT / "clients" / "go"
GENERATED: Final = {
    JAVASCRIPT / "verbs.js": javascript.code,
    JAVASCRIPT / "verbs.d.ts": javascript.types,
    GO / "verbs.go": go.code,
}
INSTALLED: Final = {"COORDINATOR_BINARY": str(Path(sys.executable).parent / "coordinator")}
RUN_S: Final = 240.0
TSC: Final = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext")


def run(*command: str | Path, cwd: Path, server: Mapping[str, str] = INSTALLED) -> str:
    """Run a command whose tests start this server. Return the output."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("COORDINATOR_")}
    done = subprocess.run(
        command, cwd=cwd, env={**others, **server}, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package for JavaScript with what its tests need."""
    folder = tmp_path_factory.mktemp("npm") / "javascript"
    shutil.copytree(JAVASCRIPT, folder, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "node_modules").symlink_to(installed(JAVASCRIPT) / "node_modules")
    return folder


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_the_verbs_are_those_of_python(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = GENERATED[path]
    assert path.read_text(encoding="utf-8") == code(), "run: make generate"

    async def other_default(self: Verbs, member: str, *, group: str = "other") -> None: ...

    async def other_arguments(self: Verbs, member: str, *, group: str = "", times: int = 1) -> None: ...

    for changed in (other_default, other_arguments):
        monkeypatch.setattr(Verbs, "kick", changed)
        assert code() != path.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", ["javascript/test/example.test.js", "go/tests/example_test.go"])
def test_the_readme_shows_the_example_that_is_run(example: str) -> None:
    path = ROOT / "clients" / example
    readme = (ROOT / "clients" / example.partition("/")[0] / "README.md").read_text(encoding="utf-8")
    assert f"\n{path.read_text(encoding='utf-8')}```" in readme


@pytest.mark.integration
def test_javascript_with_kafkajs(package: Path) -> None:
    node = require_tool("node", "nodejs")
    for source in package.glob("*.js"):
        run(node, "--check", source, cwd=package)
    assert "# fail 0" in run(node, "--test", cwd=package)


@pytest.mark.integration
def test_the_types_of_javascript_fit_their_use(package: Path) -> None:
    run(require_tool("node", "nodejs"), "node_modules/typescript/lib/tsc.js", *TSC, "test/types.ts", cwd=package)


@pytest.mark.integration
def test_what_npm_packs_is_the_package_alone(package: Path) -> None:
    listed = run(require_tool("npm"), "pack", "--dry-run", "--json", cwd=package)
    names = {path.name for path in JAVASCRIPT.iterdir() if path.suffix in (".js", ".ts", ".md")} | {"package.json"}
    assert all(f'"{name}"' in listed for name in names)
    assert "test/" not in listed


@pytest.mark.integration
def test_go_with_franz_go() -> None:
    compiler, formatter = require_tool("go", "golang"), require_tool("gofmt", "golang")
    assert run(formatter, "-l", ".", cwd=GO) == ""
    for module in (GO, GO / "tests"):
        run(compiler, "vet", "./...", cwd=module)
    run(compiler, "test", "-count=1", "./...", cwd=GO / "tests")

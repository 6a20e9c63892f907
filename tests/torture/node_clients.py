"""Brings releases of consumer libraries for Node, and tells the command of the application of `programs/` for each."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

PROGRAMS: Final = Path(__file__).parent / "programs"


def _kafkajs(version: str, build_directory: Path) -> tuple[str, ...]:
    return _with_modules(_installed("kafkajs", "kafkajs", version, build_directory), "kafkajs_app.js")


def _platformatic(version: str, build_directory: Path) -> tuple[str, ...]:
    return _with_modules(
        _installed("platformatic", "@platformatic/kafka", version, build_directory), "platformatic_app.mjs"
    )


def _with_modules(modules: Path, program: str) -> tuple[str, ...]:
    return ("env", f"NODE_PATH={modules}", "node", str(PROGRAMS / program))


def _installed(client: str, package: str, version: str, build_directory: Path) -> Path:
    """Install a release, unless that was done before. Returns the directory of the modules."""
    directory = build_directory / f"{client}-{version}"
    done = directory / "installed"
    if not done.exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        made = subprocess.run(
            ["npm", "install", "--prefix", str(directory), "--no-audit", "--no-fund", f"{package}@{version}"],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(f"{package} {version} cannot be installed:\n{made.stderr}")
        done.touch()
    return (directory / "node_modules").resolve()


PREPARE: Final[dict[str, Callable[[str, Path], tuple[str, ...]]]] = {
    "kafkajs": _kafkajs,
    "platformatic": _platformatic,
}

NEWEST: Final[dict[str, str]] = {"kafkajs": "2.2.4", "platformatic": "2.12.1"}

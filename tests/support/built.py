"""Finds what `make` has built in dist/. Builds take minutes, so tests use what is there, if it is new.

A file that is missing or older than the sources leaves the test out, with the command to type. `.ci/run` builds before
it tests, and there a test that is left out is a failure.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.support.machine_tools import not_run, require_tool

ROOT: Final = Path(__file__).resolve().parents[2]
DIST: Final = ROOT / "dist"
CALM: Final = {
    name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH")
}
"""The environment of a user: without what `make` and the tests set for their own processes."""


def require_built(target: str, command: str) -> None:
    """Leave the test out unless the target of the Makefile is as new as its sources."""
    make = require_tool("make")
    if subprocess.run([make, "-q", target], cwd=ROOT, env=CALM, capture_output=True, timeout=60).returncode:
        not_run(f"{target} is missing or old; type: {command}")


def require_wheels() -> dict[str, Path]:
    """Return the files of `make wheels`, by "plain", "compiled" and "sdist"."""
    require_built("dist/.built", "make wheels")
    wheels = DIST.glob("kafka_group_coordinator-*.whl")
    (sdist,) = DIST.glob("kafka_group_coordinator-*.tar.gz")
    kinds = {"plain" if path.stem.endswith("-py3-none-any") else "compiled": path for path in wheels}
    return {**kinds, "sdist": sdist}


def require_binary() -> Path:
    """Return the single-file executable."""
    require_built("dist/coordinator", "make binary")
    return DIST / "coordinator"

"""`make clients-image`: the tests of the packages for JavaScript and Go, with the server in a container.

It needs an engine, with the base image of the Dockerfile or one from `.ci/stand-in-base`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.test_languages import GO, ROOT, package, run
from tests.support.eventually import eventually
from tests.support.machine_tools import require_tool

__all__ = ["package"]

pytestmark = pytest.mark.timeout(1200)  # a build without layers from before takes minutes

IMAGE: Final = "kafka-group-coordinator-clients-test"
BUILD_S: Final = 600.0


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """Build the image, and return the variables that have a package start it."""
    docker = require_tool("docker", "docker.io")
    network = os.environ.get("BUILD_NETWORK", "default")
    build = [docker, "build", "--quiet", "--network", network, "--tag", IMAGE, "."]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, done.stderr
    yield {"COORDINATOR_IMAGE": IMAGE}
    listed = [docker, "ps", "--quiet", "--filter", f"ancestor={IMAGE}"]

    def has_ended() -> bool:
        return subprocess.run(listed, capture_output=True, check=True, timeout=30).stdout == b""

    eventually(has_ended, "the container of the last test has ended, too", within_s=60)


def test_javascript(package: Path, server: dict[str, str]) -> None:
    assert "# fail 0" in run(require_tool("node", "nodejs"), "--test", cwd=package, server=server)


def test_go(server: dict[str, str]) -> None:
    run(require_tool("go", "golang"), "test", "-count=1", "./...", cwd=GO / "tests", server=server)

"""docs/install.md is typed in: each way ends with a daemon that assigns partitions to a real client."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from coordinator.version import DISTRIBUTION
from tests.docs.blocks import Block, blocks
from tests.docs.terminals import Foreground
from tests.support.built import DIST, require_binary, require_wheels
from tests.support.eventually import eventually
from tests.support.first_partition import consumer_with_all
from tests.support.machine_tools import not_run, require_tool
from tests.support.newcomer import newcomer
from tests.support.nodes import free_ports

PAGE = "docs/install.md"
STARTS = {block.name: block for block in blocks(PAGE) if "coordinator serve" in block.text}
EXEMPT = {
    "make wheels # dist/: the sdist, a wheel for every Python, a": (
        "takes minutes; .ci/run types it before the tests, and the other blocks use what it has built"
    ),
    'kafka/bin/pip install "$(ls dist/kafka_group_coordinator-*-p': (
        "installs 380 MB more; the tests of these commands run where the extra is installed"
    ),
}


def test_every_block_is_run_or_has_a_reason() -> None:
    assert {block.name for block in blocks(PAGE)} == STARTS.keys() | EXEMPT.keys()


@pytest.mark.integration
@pytest.mark.timeout(1200)  # pip takes 15 s of CPU; the rest is room for a busy machine
@pytest.mark.parametrize("block", STARTS.values(), ids=lambda block: block.text.split()[0])
def test_a_client_gets_its_first_partition(block: Block, tmp_path: Path) -> None:
    """Each way starts in an empty home: pipx and uvx have no cache, and pip no environment."""
    program = block.text.split()[0]
    require_binary() if program.startswith("dist/") else require_wheels()
    require_tool("bash")
    environment = newcomer(tmp_path)
    if program in ("pipx", "uvx") and shutil.which(program, path=environment["PATH"]) is None:
        not_run(f"{program} is in the extra dev; type: make setup")
    (tmp_path / "dist").symlink_to(DIST)
    (port,) = free_ports(1)
    environment["COORDINATOR_LISTENERS"] = f"127.0.0.1:{port}"
    *install, serve = block.text.strip().splitlines()
    for command in install:
        subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, check=True, timeout=600)
    daemon = Foreground(f"exec {serve}", tmp_path, environment, tmp_path / "screen")
    try:
        eventually(lambda: "listening on" in daemon.screen or daemon.has_ended, "the daemon listens", within_s=300)
        assert not daemon.has_ended, daemon.screen
        with consumer_with_all(f"127.0.0.1:{port}", "orders", 3):
            assert (tmp_path / "data" / "orders-0").is_dir()
        # uv may end by the signal itself, after the daemon; the daemon's own end is in what it has logged
        assert daemon.interrupt() in ((0, 130) if program == "uvx" else (0,)), daemon.screen
        assert "stopped data_dir=" in daemon.screen
        assert "Traceback" not in daemon.screen
    finally:
        daemon.close()


def test_the_table_of_extras_has_each_one_a_user_may_want() -> None:
    root = DIST.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    text = (root / PAGE).read_text(encoding="utf-8").partition("## Extras")[2].partition("\n## ")[0]
    listed = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert listed == project["optional-dependencies"].keys() - {"dev", "fuzz", "examples"}

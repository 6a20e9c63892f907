"""The daemon with verbs is the daemon: its file limit, its figures, and its HTTP port from the first moment."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.eventually import eventually
from tests.support.group_member import alone_in_group
from tests.support.wire import Wire

pytestmark = pytest.mark.integration
START_S: Final = 60.0
ORDERS = "orders"


class Served:
    """A running `coordinator serve` with its two ports."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self.process = process
        self.port = int((directory / "port").read_text())
        self.http = int((directory / "http").read_text())

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=30) as answer:
            return str(answer.read().decode())


@pytest.fixture(
    params=[(["--profile", "test"], {}), ([], {"COORDINATOR_TEST_VERBS_TOKEN": "t"}), ([], {})],
    ids=["test", "token", "none"],
)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    arguments, environment = request.param
    command = [sys.executable, "-m", "coordinator", "serve", *arguments, "--topic", f"{ORDERS}:1"]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    command += ["--port-file", str(tmp_path / "port"), "--http-port-file", str(tmp_path / "http")]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096)),
    )
    try:
        deadline = time.monotonic() + START_S
        while not (tmp_path / "port").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield Served(process, tmp_path)
    finally:
        process.terminate()
        assert process.wait(START_S) == 0


async def test_it_has_the_limits_and_the_figures_of_any_daemon(served: Served) -> None:
    assert resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
    member = await alone_in_group(await Wire.connect(served.port), "billing", ORDERS, 1)

    def shows_group() -> bool:
        return 'group="billing"' in served.get("/metrics")

    await asyncio.to_thread(eventually, shows_group, "the group is shown by name")
    await member.wire.close()

"""`make bench` keeps working: a very short run of everything, where only right answers count, not speed."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemon import REPOSITORY
from tests.support.machine_tools import require_tool

pytestmark = pytest.mark.integration


def test_the_benchmark_runs_and_every_answer_is_right(tmp_path: Path) -> None:
    require_tool("cc", "gcc")
    options = {"--rounds": "1", "--seconds": "0.2", "--warmup": "0.1", "--quiet-within": "0"}
    options |= {"--json": str(tmp_path / "results.json"), "--work-dir": str(tmp_path)}
    command = [sys.executable, str(REPOSITORY / "bench" / "run.py"), *itertools.chain.from_iterable(options.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    scenarios = json.loads((tmp_path / "results.json").read_text())["scenarios"]
    assert {each["name"] for each in scenarios} >= {"heartbeat", "durable commit", "uvloop echo", "C echo"}
    for each in scenarios:
        assert [run["errors"] for run in each["runs"]] == [0]
        assert all(run["requests"] > 0 and run["server_cpu_us_per_request"] > 0 for run in each["runs"])
    assert "of the uvloop echo's rate per CPU second" in done.stdout

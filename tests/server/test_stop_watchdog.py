"""A stop that hangs is ended, with a log line and an exit code of its own."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coordinator.server.stop_watchdog import watchdog

HANGING = """
import sys, threading
from pathlib import Path
import coordinator.server.server as server
from coordinator.config.config import Config

class Hanging(server.Server):
    async def stop(self):
        threading.Event().wait()  # the loop itself hangs, as in a system call

server.STOP_S = 0.2
config = Config(listeners="127.0.0.1:0", http_listen="off", log_dirs=sys.argv[1])
server.run_node(Hanging(config), ready=lambda address: __import__("os").kill(__import__("os").getpid(), 15))
"""


def test_stop_that_takes_too_long_ends_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    left: list[int] = []
    gone = threading.Event()

    def leave(code: int) -> None:
        left.append(code)
        gone.set()

    with watchdog("the stop", 0.01, leave):
        assert gone.wait(30)
    assert left == [1]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "the stop took longer than 0.01 s" in record.getMessage()


def test_stop_in_time_is_not_interrupted() -> None:
    before = threading.active_count()
    with watchdog("the stop", 3600, lambda code: pytest.fail("left")):
        assert threading.active_count() == before + 1


@pytest.mark.integration
def test_a_daemon_whose_stop_hangs_exits_with_1(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING, str(tmp_path / "data")], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1, ended.stderr
    assert "took longer than 0.2 s" in ended.stderr

"""The runners of all libraries as processes of this machine, for tests without a container engine."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.clients.members import LIBRARIES
from tests.cluster.workload import promises
from tests.support.daemon import REPOSITORY
from tests.support.eventually import eventually

CRASH_EVERY_S = 12.0
PROGRESS_S = 120.0  # on a busy machine


@contextlib.contextmanager
def clients_at_work(bootstrap: str, topic: str, partitions: int, diaries: Path) -> Iterator[None]:
    """A runner for each library: a producer, two members of a group of its own, one of the group of all."""
    runners = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.cluster.workload.runner", "--library", library),
                *("--bootstrap-server", bootstrap, "--topic", f"{topic}:{partitions}"),
                *("--diaries", str(diaries), "--crash-every-s", str(CRASH_EVERY_S)),
            ],
            cwd=REPOSITORY,
            stderr=subprocess.DEVNULL,
        )
        for library in sorted(LIBRARIES)
    ]
    try:
        yield
    finally:
        for runner in runners:
            runner.terminate()
        for runner in runners:
            runner.wait(timeout=60)


def all_go_on(diaries: Path, since: float) -> None:
    """Every client has done something that succeeded after `since`."""

    def waiting() -> list[str]:
        last = promises.read_promises(diaries).last_progress
        if len(last) < 4 * len(LIBRARIES):
            return [f"only {len(last)} clients have begun"]
        return sorted(client for client, at in last.items() if at < since)

    last_seen: list[str] = []

    def no_client_waits() -> bool:
        last_seen[:] = waiting()
        return not last_seen

    with contextlib.suppress(AssertionError):
        eventually(no_client_waits, "every client makes progress", within_s=PROGRESS_S)
    assert not last_seen, f"no progress within {PROGRESS_S:g} s: {last_seen}"

"""Short runs against real processes. The long ones are made by hand: `python -m tests.ha.run --faults 50`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.daemon import REPOSITORY
from tests.support.postgres import programs

pytestmark = pytest.mark.integration


def run(*options: str) -> str:
    """Make a run and return its output. Its verdict must be good, and all clients must have had successes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ha.run", *options], cwd=REPOSITORY, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def successes(output: str) -> dict[tuple[str, str], int]:
    """The number of successful operations by program and kind."""
    rows = [line.split() for line in output.splitlines()]
    return {(row[0], row[1]): int(row[3]) for row in rows if len(row) == 4 and row[2] == "ok"}


def test_nodes_that_keep_files_lose_nothing() -> None:
    """The clients, the nemesis and the checker work: here without an engine, each node with its own groups."""
    found = successes(run("--engine", "files", "--faults", "4", "--seed", "1", "--groups", "2", "--topic", "orders:4"))
    for program in ("aiokafka", "confluent-kafka", "kafka-python", "raw"):
        assert found[program, "commit"] > 0
        assert found[program, "fetch"] > 0
    for program in ("aiokafka", "kafka-python", "raw"):  # librdkafka does not tell its generation
        assert found[program, "join"] > 0
    assert found["judge", "fetch"] > 0


def test_nodes_that_share_a_database_lose_nothing() -> None:
    """One fault of each of these kinds: groups are served elsewhere meanwhile, and nothing is lost or seen twice."""
    programs()  # the test is left out where there is no PostgreSQL
    kinds = "kill,freeze,freeze_all,silence,answerless,fail_over,standby"
    output = run("--engine", "postgres", "--faults", "7", "--kinds", kinds, "--seed", "1", "--groups", "2")
    assert successes(output)["raw", "commit"] > 0

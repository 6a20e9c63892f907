"""Type in README.md in a fresh clone and compare the output."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import Block
from tests.docs.play import Play, Script, daemon_killed, daemon_says, file, shown, typed, whichever_partition
from tests.docs.stage import Stage
from tests.support.eventually import eventually


def clone_and_run(play: Play, block: Block) -> None:
    clone, run = block.text.strip().splitlines()
    play.stage.clone_repository(clone)
    play.stage.start_daemon(run)


def a_test_file_is_green(play: Play, block: Block) -> None:
    """Run the block as a test file of a project that has nothing else, by this interpreter."""
    directory = play.stage.home / "a-project"
    directory.mkdir()
    (directory / "test_orders.py").write_text(block.text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def two_members_get_their_share(play: Play, block: Block) -> None:
    typed(play, block)
    eventually(lambda: _consumed(play) == set(range(1, 11)), "ten records, each read by a member")


def the_same_consumer_goes_on(play: Play, block: Block) -> None:
    typed(play, block)
    eventually(lambda: _consumed(play) == set(range(1, 21)), "ten records more, read by the same consumer")
    assert play.stage.daemon is not None
    assert "rebalance Group shop" not in play.stage.daemon.screen


def each_line_serves(play: Play, block: Block) -> None:
    """Start the daemon with each line, which gives settings in its own way, after Ctrl-C for the one before."""
    stage = play.stage
    activate, *serves = block.text.strip().splitlines()
    stage.save("server.properties", "broker.id=1\nzookeeper.connect=localhost:2181\nlog.retention.hours=24\n")
    for command in serves:
        daemon = stage.daemon
        assert daemon is not None
        assert daemon.interrupt() in (0, 130, -signal.SIGINT)  # make, or the shell that execs
        daemon.close()
        stage.start_daemon(f"{activate}\n{command}")


def _consumed(play: Play) -> set[int]:
    assert play.stage.second is not None
    return {int(value) for value in re.findall(r"partition \d, offset \d+: (\d+)", play.stage.second.screen)}


README = Script(
    "README.md",
    steps={
        "from kafka import KafkaConsumer": a_test_file_is_green,
        "git clone <this repository> && cd kafka-group-coordinator": clone_and_run,
        "import asyncio": file("consumer.py"),
        ".venv/bin/pip install aiokafka kafka-python": two_members_get_their_share,
        ".venv/bin/coordinator groups describe shop": typed,
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONS": shown(whichever_partition),
        "rebalance Group shop left generation 0 because a new member": daemon_says,
        "kill -9 %1": typed,
        "rebalance Group shop left generation 1 because a member fell": daemon_says,
        ".venv/bin/coordinator groups explain shop": typed,
        "seq 11 20 | .venv/bin/python -m kafka.producer -b 127.0.0.1:": daemon_killed(
            "make run", the_same_consumer_goes_on
        ),
        ". .venv/bin/activate # so that `coordinator` is found": each_line_serves,
    },
    exempt={
        "$ coordinator groups explain shop": (
            "needs a client that does not poll; tests/clients/test_explained_incidents.py plays it"
        ),
        "coordinator compact --watch # reduces the log to its live re": (
            "stays until it is told to end, and takes Spark; the tutorial runs these commands, in --mode single"
        ),
    },
)


def test_every_block_of_the_readme_is_run_or_has_a_reason() -> None:
    README.check()


@pytest.mark.integration
def test_the_readme_does_what_it_says(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    try:
        README.perform(stage)
    finally:
        stage.close()

"""Type in docs/tutorial.md in a fresh clone and compare the output. It takes a minute."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import Block
from tests.docs.play import (
    Play,
    Script,
    daemon_killed,
    daemon_says,
    file,
    shown,
    typed,
    whichever_partition,
    workers_say,
)
from tests.docs.stage import Stage

START: Final = 'make run ARGS="--data-dir tutorial --topic orders:6 --override group.initial.rebalance.delay.ms=500"'


def clone_and_run(play: Play, block: Block) -> None:
    clone, run = block.text.strip().splitlines()
    assert run == START
    play.stage.clone_repository(clone)
    play.stage.start_daemon(run)


def ends_without_a_rebalance(play: Play, block: Block) -> None:
    """Expect the same members at the restarted daemon, and no rebalance."""
    shown(whichever_partition)(play, block)
    assert play.stage.daemon is not None
    assert "rebalance Group shop" not in play.stage.daemon.screen


def _partition_of_the_first_commit(text: str) -> str:
    return re.sub(r"orders-\d: 0", "orders-N: 0", text)


def _set_back(text: str) -> str:
    text = re.sub(r"^(orders-\d) +(\d+) +\2 +0 ", r"\1 NOW NOW ", text, flags=re.MULTILINE)
    return re.sub(r"^(orders-\d) +0 +\d+ +\+\d+", r"\1 0 THEN CHANGE", text, flags=re.MULTILINE)


def _figures(text: str) -> str:
    text = re.sub(r"dropped; [^)]*\)", "dropped; N)", text)  # stages of less than 50 ms are not named
    return re.sub(r"\d+ records in \d+ bytes|\d in \d+ \(", "N", text)


TUTORIAL: Final = Script(
    "docs/tutorial.md",
    steps={
        "git clone <this repository> && cd kafka-group-coordinator": clone_and_run,
        "import asyncio": file("worker.py"),
        ".venv/bin/pip install aiokafka kafka-python": typed,
        "ann reads [0, 1, 2, 3, 4, 5] #1": workers_say,
        ".venv/bin/python worker.py bob & #1": typed,
        "ann reads [0, 2, 4] #1": workers_say,
        "rebalance Group shop left generation 1 because a new member": daemon_says,
        "seq 60 | .venv/bin/python -m kafka.producer -b 127.0.0.1:909": typed,
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONS #1": shown(whichever_partition),
        "kill -9 $! #1": typed,
        "ann reads [0, 1, 2, 3, 4, 5] #2": workers_say,
        "rebalance Group shop left generation 2 because a member fell": daemon_says,
        ".venv/bin/python worker.py bob & #2": typed,
        "ann reads [0, 2, 4] #2": workers_say,
        "kill -INT $!": typed,
        "rebalance Group shop left generation 4 because a member left": daemon_says,
        ".venv/bin/python worker.py cid cid-1 &": typed,
        "ann reads [0, 2, 4] #3": workers_say,
        "kill -9 $! #2": typed,
        "cid reads [1, 3, 5]": workers_say,
        "seq 61 90 | .venv/bin/python -m kafka.producer -b 127.0.0.1:": daemon_killed(START, typed),
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONS #2": ends_without_a_rebalance,
        ".venv/bin/coordinator log dump tutorial/__consumer_offsets-6": typed,
        "tutorial/__consumer_offsets-6/00000000000000000000.log": shown(_partition_of_the_first_commit),
        "kill -INT %1; kill -9 $!": typed,
        "group 'shop': Empty, no members, 6 partitions, total lag 0": shown(whichever_partition),
        "BEFORE=$(date -u +%FT%TZ)": typed,
        ".venv/bin/pip install -e '.[history]'": typed,
        "offsets of group shop as they stood at 2026-11-22T02:18:35.0": shown(_set_back),
        ".venv/bin/coordinator undo shop --execute --data-dir tutoria": typed,
        "offsets of group shop before the reset of 2 partitions at 20": shown(_set_back, again=False),
        ".venv/bin/coordinator history rebalances shop --limit 5 --da": typed,
        "TIME AGO GEN WHAT MEMBERS WHO AND WHAT": shown(),
        ".venv/bin/coordinator compact --data-dir tutorial --mode sin": typed,
        "history.enable is false: what this compaction removes is los": shown(_figures, again=False),
    },
    exempt={},
)


def test_every_block_of_the_tutorial_is_run_or_has_a_reason() -> None:
    TUTORIAL.check()


@pytest.mark.integration
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    try:
        TUTORIAL.perform(stage)
    finally:
        stage.close()

"""Type in docs/torture.md: its application, its command, its tables, and its test for Hypothesis."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.testing.transaction_stages import TransactionStage
from coordinator.torture.copies import TRANSACTION_VARIABLES, VARIABLES
from coordinator.torture.schedule import FIRST
from coordinator.torture.verdict import FailureKind
from tests.docs.blocks import ROOT, blocks

PAGE = "docs/torture.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
APPLICATION, COMMAND, OUTPUT, REPLAY, HYPOTHESIS = (block.text for block in blocks(PAGE))
# A consumer for the test of the page, which leaves it to its reader. librdkafka would stand still, by chance, when it
# meets NOT_COORDINATOR for OffsetFetch and is removed (librdkafka#5586, docs/torture-clients.md). kafka-python 3.0.12
# does so when a poll ends within the rejoin that new metadata caused. aiokafka 0.14 goes on, or raises; but its stop()
# does not end while it knows no coordinator.
MY_CONSUMER = """
import asyncio
import threading
from contextlib import contextmanager, suppress
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError


@contextmanager
def my_consumer(bootstrap_servers, client_id):
    done = threading.Event()

    async def consume():
        while not done.is_set():
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=bootstrap_servers, group_id="shop", client_id=client_id,
                auto_offset_reset="earliest", auto_commit_interval_ms=50, heartbeat_interval_ms=100,
                session_timeout_ms=6_000,
            )
            try:
                await consumer.start()
                while not done.is_set():
                    await consumer.getmany(timeout_ms=50)
            except KafkaError:
                continue
            finally:
                with suppress(TimeoutError):
                    await asyncio.wait_for(consumer.stop(), 5)

    thread = threading.Thread(target=asyncio.run, args=(consume(),))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
"""


def rows(heading: str) -> list[str]:
    """Return the first cells of the table below a heading."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| `")]


@pytest.mark.integration
def test_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(APPLICATION)
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", COMMAND], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr

    def shape(text: str) -> list[str]:
        lines = re.sub(r" +\d+(\.\d)? s\b", " N s", text).strip().splitlines()
        return sorted(
            re.sub(r"^ +\d", "N", line) for line in lines
        )  # schedules that are played together end as they like

    assert shape(done.stdout) == shape(OUTPUT)


def test_every_variable_is_explained() -> None:
    assert rows("What the application is told") == [
        f"`{variable}`, `{{{name}}}`"
        for name, variable in sorted(VARIABLES.items(), key=lambda each: TEXT.index(f"| `{each[1]}`"))
    ]


def test_every_variable_and_stage_of_transactions_is_explained() -> None:
    told = [f"`{variable}`, `{{{name}}}`" for name, variable in TRANSACTION_VARIABLES.items()]
    stages = [f"`{each}`" for each in TransactionStage if not each.endswith("Abort")]
    assert rows("Exactly once") == told + stages


def test_every_verdict_is_explained() -> None:
    assert set(rows("The verdict")) == {"`ok`", *(f"`{finding.value.upper()}`" for finding in FailureKind)}


def test_the_command_that_replays_is_the_one_that_is_printed() -> None:
    assert REPLAY.startswith("coordinator torture --replay torture-17.json -- ")
    assert len(FIRST) > 17


@pytest.mark.integration
def test_the_test_for_hypothesis(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(MY_CONSUMER + HYPOTHESIS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=1", "test_shop.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

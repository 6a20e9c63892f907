"""`coordinator tables` at a real Kafka: its offsets topic becomes tables, from which history and restore answer.

Needs Java, Kafka's jars and Spark's Kafka source, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from tests.conformance.kafka import Kafka, jars
from tests.history.test_live_history import iso
from tests.history.worlds import tables
from tests.observe.live_kafka import commit
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets, produce

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOPIC, PARTITIONS = "orders", 4
SETTINGS = {"offsets.topic.num.partitions": "5", "group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with Kafka(tmp_path_factory.mktemp("kafka"), settings=SETTINGS) as running:
        running.create_topic(TOPIC, PARTITIONS)
        for partition in range(PARTITIONS):
            produce(running.port, TOPIC, partition, [b"x"] * 50)
        yield running


def command(kafka: Kafka, directory: Path, *more: str) -> list[str]:
    source = ["--bootstrap-server", kafka.address, "--jars", ",".join(map(str, sorted(jars("spark").iterdir())))]
    return [sys.executable, "-m", "coordinator", "tables", "--tables-dir", str(directory), "--json", *source, *more]


def add_now(kafka: Kafka, directory: Path) -> list[dict[str, Any]]:
    done = subprocess.run(command(kafka, directory, "--available-now"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def consumer_group_commits(kafka: Kafka, group: str) -> None:
    """Let a member of the consumer protocol own the partitions and commit."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": kafka.address, "group.id": group, "group.protocol": "consumer"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "client.id": "next"})
    try:
        consumer.subscribe([TOPIC])
        eventually(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == PARTITIONS, "it owns all")
        consumer.commit(offsets=[TopicPartition(TOPIC, each, 40) for each in range(PARTITIONS)], asynchronous=False)
    finally:
        consumer.close()


def test_a_kafka_becomes_tables_that_answer(
    kafka: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "tables"
    commit(kafka, "shop", "club", times=30)
    consumer_group_commits(kafka, "next")
    found = add_now(kafka, directory)
    assert sum(each["commits"] for each in found) == 2 * 30 * PARTITIONS + PARTITIONS
    assert sum(each["lag_rows"] for each in found) == 3 * PARTITIONS
    moment_ms = int(time.time() * 1000)
    time.sleep(0.01)
    commit(kafka, "shop", times=12)
    assert sum(each["commits"] for each in add_now(kafka, directory)) == 12 * PARTITIONS
    rows = tables(directory)
    assert {(row["group"], row["type"]) for row in rows["rebalances"]} == {
        ("shop", "classic"),
        ("club", "classic"),
        ("next", "consumer"),
    }
    assert {row["topic"] for row in rows["moves"]} == {TOPIC}, "topics have their names"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["history", "commits", "shop", "--history-dir", str(directory), "--limit", "1000", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 42 * PARTITIONS
    words = ["restore", "shop", "--at", iso(moment_ms), "--history-dir", str(directory)]
    assert main([*words, "--bootstrap-server", kafka.address, "--execute"]) == 0, capsys.readouterr().err
    assert committed_offsets(kafka.port, "shop") == {(TOPIC, each): 29 for each in range(PARTITIONS)}


def test_a_run_that_is_killed_goes_on_and_adds_nothing_twice(kafka: Kafka, tmp_path: Path) -> None:
    directory, out = tmp_path / "tables", tmp_path / "out"
    with out.open("ab") as file:
        job = subprocess.Popen(
            command(kafka, directory, "--every", "0.5"), stdout=file, stderr=file, start_new_session=True
        )
    try:
        eventually(lambda: '"commits"' in out.read_text(), "the first trigger", within_s=120)
        commit(kafka, "late", times=40, pause_s=0.02)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    add_now(kafka, directory)
    late = [row for row in tables(directory)["commits"] if row["group"] == "late"]
    assert len(late) == 40 * PARTITIONS
    assert len({row["log_offset"] for row in late}) == len(late)

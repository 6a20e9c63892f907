"""The commands and the HTTP port against the real daemon, with a real client in the group."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client.parser import text_string_to_metric_families

from coordinator.cli.main import main
from tests.support.daemon import Daemon
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def http_port() -> int:
    return free_port()


@pytest.fixture
def daemon(tmp_path: Path, http_port: int) -> Iterator[Daemon]:
    with Daemon(
        tmp_path,
        overrides=["group.initial.rebalance.delay.ms=0"],
        topics=["orders:2"],
        arguments=["--http", f"127.0.0.1:{http_port}"],
    ) as daemon:
        yield daemon


def shown(capsys: pytest.CaptureFixture[str], daemon: Daemon, *words: str) -> list[dict[str, Any]]:
    """Return the JSON that a command prints."""
    assert main([*words, "--bootstrap-server", daemon.address, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def test_commands_and_metrics_show_each_state_of_a_group(
    daemon: Daemon, http_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    created = shown(capsys, daemon, "topics", "create", "refunds:3", "--topic-config", "retention.ms=60000")
    assert [(row["topic"], row["partitioncount"]) for row in created] == [("refunds", 3)]
    names = [row["topic"] for row in shown(capsys, daemon, "topics", "list")]
    assert {"orders", "refunds"} <= set(names)
    assert shown(capsys, daemon, "groups", "list") == []

    producer = Producer({"bootstrap.servers": daemon.address})
    for number in range(5):
        producer.produce("orders", str(number), partition=0)
    assert producer.flush(20) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": daemon.address,
            "group.id": "shop",
            "client.id": "till",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    read = 0

    def three_are_read() -> bool:
        nonlocal read
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            read += 1
            if read == 3:
                consumer.commit(message, asynchronous=False)
        return read >= 3

    eventually(three_are_read, "the consumer reads what was produced", within_s=30)

    assert shown(capsys, daemon, "groups", "list") == [{"group": "shop", "type": "Classic", "state": "Stable"}]
    first, second = shown(capsys, daemon, "groups", "describe", "shop")
    assert (first["topic"], first["partition"]) == ("orders", 0)
    assert (first["current_offset"], first["log_end_offset"], first["lag"]) == (3, 5, 2)
    assert (first["host"], first["client_id"]) == ("/127.0.0.1", "till")
    assert (second["partition"], second["current_offset"]) == (1, None)
    (member,) = shown(capsys, daemon, "groups", "describe", "shop", "--members")
    assert member["assignment"] == {"orders": [0, 1]}
    (state,) = shown(capsys, daemon, "groups", "describe", "shop", "--state")
    assert (state["state"], state["members"], state["coordinator_id"]) == ("Stable", 1, f"{daemon.address} (1)")
    figures = scrape(http_port)
    assert figures["kafka_coordinator_group_num_groups", "Stable"] == 1
    assert figures["kafka_coordinator_group_num_offsets", None] == 1
    assert figures["kafka_coordinator_group_offset_commit_total", None] == 1

    consumer.close()
    (state,) = shown(capsys, daemon, "groups", "describe", "shop", "--state")
    assert (state["state"], state["members"]) == ("Empty", 0)
    assert scrape(http_port)["kafka_coordinator_group_num_groups", "Empty"] == 1
    assert main(["groups", "describe", "no-such-group", "--bootstrap-server", daemon.address]) == 1


def scrape(port: int) -> dict[tuple[str, str | None], float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {(each.name, each.labels.get("state")): each.value for family in families for each in family.samples}


def test_daemon_is_ready_once_its_port_file_exists(daemon: Daemon, http_port: int) -> None:
    for path, body in (("/healthz", b"ok\n"), ("/readyz", b"ready\n")):
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}{path}", timeout=10) as answer:
            assert (answer.status, answer.read()) == (200, body)

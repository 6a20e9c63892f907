"""Share groups at a real Kafka: Kafka's own share consumers come and go, and the past of their group tells so.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from tests.clients.matrix_programs import tool_command
from tests.conformance.kafka import Kafka
from tests.support.eventually import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

TOPIC, PARTITIONS, GROUP = "orders", 2, "pickers"


@contextmanager
def share_consumer(kafka: Kafka, client_id: str) -> Iterator[None]:
    """Run Kafka's console share consumer, and let it leave the group at the end."""
    words = ["--bootstrap-server", kafka.address, "--topic", TOPIC, "--group", GROUP]
    words += ["--command-property", f"client.id={client_id}"]
    process = subprocess.Popen(
        [*tool_command("consumer.ConsoleShareConsumer"), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        yield
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        process.terminate()
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_the_past_of_a_share_group_tells_its_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(tmp_path / "kafka", settings={"group.share.heartbeat.interval.ms": "5000"}) as kafka:
        kafka.create_topic(TOPIC, PARTITIONS)

        def past() -> list[dict[str, Any]]:
            place = ["--data-dir", str(kafka.data_dir), "--history-dir", str(tmp_path / "history"), "--json"]
            code = main(["history", "rebalances", GROUP, *place])
            said = capsys.readouterr().out
            found: list[dict[str, Any]] = json.loads(said) if code == 0 else []
            return found

        def has(*partitions: int) -> bool:
            found = past()
            return bool(found) and sorted(len(each["partitions"]) for each in found[-1]["members"]) == [*partitions]

        with share_consumer(kafka, "one"):
            eventually(lambda: has(PARTITIONS), "the member has all partitions", within_s=60)
            with share_consumer(kafka, "two"):
                eventually(lambda: len(past()[-1]["members"]) == 2, "there are two members", within_s=60)
            eventually(lambda: has(PARTITIONS), "one member is left", within_s=60)
        eventually(lambda: past()[-1]["what"] == "empty", "the group is empty", within_s=60)
        found = past()
    assert {each["type"] for each in found} == {"share"}
    assert [each["came"] for each in found if each["came"]] == [["one"], ["two"]]
    assert [each["went"] for each in found if each["went"]] == [["two"], ["one"]]
    assert not any(each["moved"] for each in found)

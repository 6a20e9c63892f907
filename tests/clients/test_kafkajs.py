"""kafkajs, the widespread JavaScript client, joins, consumes, commits and comes back.

`npm ci` installs it, from the lock file beside the script, into a cache outside the repository; the second run finds it
there.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Crew
from tests.support.npm_packages import installed
from tests.support.questions import committed_offsets

pytestmark = pytest.mark.integration

SOURCE = Path(__file__).parent / "kafkajs"


def consume(crew: Crew, topic: str, count: int, *values: str) -> dict[str, Any]:
    done = subprocess.run(
        ["node", str(SOURCE / "consume.js"), crew.daemon.address, crew.group, topic, str(count), *values],
        env={**os.environ, "NODE_PATH": str(installed(SOURCE) / "node_modules")},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_kafkajs_joins_consumes_commits_and_resumes(crew: Crew) -> None:
    topic = crew.topic(2)
    first = consume(crew, topic, 10, *(f"value-{n}" for n in range(10)))
    assert sorted(each["value"] for each in first["received"]) == sorted(f"value-{n}" for n in range(10))
    assert sorted(first["joined"][-1][topic]) == [0, 1]
    assert first["state"] == "Empty"
    committed = committed_offsets(crew.daemon.port, crew.group)
    assert sum(committed.values()) == 10
    seen_by_kafkajs = {(topic, each["partition"]): int(each["offset"]) for each in first["committed"]}
    assert {key: offset for key, offset in seen_by_kafkajs.items() if offset >= 0} == committed

    again = consume(crew, topic, 1, "one more")
    assert [each["value"] for each in again["received"]] == ["one more"]
    assert sum(committed_offsets(crew.daemon.port, crew.group).values()) == 11

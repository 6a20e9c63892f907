"""kcat (an older librdkafka, from Debian) lists, produces, and consumes with a group."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.clients.conftest import Crew
from tests.support.machine_tools import require_tool
from tests.support.questions import committed_offsets

pytestmark = pytest.mark.integration


def kcat(crew: Crew, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kcat", "-b", crew.daemon.address, *arguments], input=stdin, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kcat_lists_produces_and_consumes_with_a_group(crew: Crew) -> None:
    require_tool("kcat")
    topic = crew.topic(3)
    listed = json.loads(kcat(crew, "-L", "-J"))
    assert [len(each["partitions"]) for each in listed["topics"] if each["topic"] == topic] == [3]
    assert [each["name"] for each in listed["brokers"]] == [crew.daemon.address]

    lines = [f"line-{n}" for n in range(20)]
    kcat(crew, "-P", "-t", topic, "-z", "snappy", stdin="".join(f"{line}\n" for line in lines))
    group = ("-G", crew.group, "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000", "-q")
    assert sorted(kcat(crew, *group, "-c", "20", topic).splitlines()) == sorted(lines)
    assert sum(committed_offsets(crew.daemon.port, crew.group).values()) == 20
    assert crew.view().state == "Empty"

    kcat(crew, "-P", "-t", topic, stdin="one more\n")
    assert kcat(crew, *group, "-c", "1", topic) == "one more\n", "the group goes on after what it committed"


def test_kcat_asks_for_offsets_by_time(crew: Crew) -> None:
    require_tool("kcat")
    topic = crew.topic(1)
    crew.produce(topic, {0: [b"one", b"two"]})
    assert kcat(crew, "-Q", "-t", f"{topic}:0:-1").split() == [topic, "[0]", "offset", "2"]
    assert kcat(crew, "-Q", "-t", f"{topic}:0:0").split() == [topic, "[0]", "offset", "0"]

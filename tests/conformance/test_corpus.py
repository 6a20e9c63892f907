"""Each recorded script gets from us, step by step, what a real Apache Kafka answered. No JVM is needed.

`make corpus` records it again, `make conformance` compares with a Kafka that runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.corpus import RECORDED, RECORDED_CONSUMER, RECORDED_MIXED, recordings, replay_all
from tests.conformance.lockstep import OUR_OVERRIDES, TOPICS
from tests.support.daemon import Daemon

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("file", "at_least"), [(RECORDED, 300), (RECORDED_CONSUMER, 150), (RECORDED_MIXED, 100)])
async def test_every_recorded_script_gets_kafkas_answers(tmp_path: Path, file: Path, at_least: int) -> None:
    recorded = recordings(file)
    assert len(recorded) >= at_least
    topics = [f"{name}:{partitions}" for name, partitions in TOPICS.items()]
    with Daemon(tmp_path, overrides=OUR_OVERRIDES, topics=topics) as daemon:
        problems = await replay_all(daemon.port, recorded)
    assert not problems, "\n".join([f"{len(problems)} of {len(recorded)} scripts:", *problems[:5]])

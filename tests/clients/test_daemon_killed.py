"""The daemon is killed with SIGKILL again and again while clients commit, and nothing that it promised is lost.

Three consumers of three libraries share a group and commit rising offsets as fast as they are answered; so do raw
members of a second group that also rebalances all the time. The daemon dies at random moments and comes back on the
same port and data. Held after each restart and at the end:
  - every acknowledged commit is there, and nothing that was never sent is;
  - a generation whose SyncGroup was answered never has other members or another assignment;
  - the same consumer objects go on committing, without being rebuilt.
A seed replays the moments: KILL_SEED=... in the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.clients.conftest import Crew
from tests.clients.members import LIBRARIES, check_one_owner_in_each_generation
from tests.clients.promises import Committer, Promises
from tests.clients.restless import Restless
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets

pytestmark = pytest.mark.integration

KILLS = 20


@pytest.fixture
def killed_daemon(tmp_path: Path) -> Iterator[Daemon]:
    overrides = (
        "group.initial.rebalance.delay.ms=0",
        "group.min.session.timeout.ms=1000",
        "log.flush.policy=sync",
        "offsets.topic.segment.bytes=65536",  # so that the kills meet rolls too
    )
    with Daemon(tmp_path / "daemon", overrides=overrides) as running:
        yield running


def seed() -> int:
    return int(os.environ.get("KILL_SEED") or random.SystemRandom().randrange(10**6))


@pytest.fixture
def crew(killed_daemon: Daemon, caplog: pytest.LogCaptureFixture) -> Iterator[Crew]:
    """The usual crew on this daemon. What the libraries say about lost connections is left out: it is expected."""
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    made = Crew(killed_daemon)
    yield made
    if killed_daemon.process.poll() is not None:  # the test failed between a kill and a start
        killed_daemon.start()
    made.close()


def test_clients_lose_no_acknowledged_commit_when_the_daemon_is_killed_twenty_times(
    killed_daemon: Daemon, crew: Crew
) -> None:
    chance = random.Random(seed_used := seed())
    print(f"KILL_SEED={seed_used}")
    crew.topic(6)
    members = [crew.join(library, library, session_timeout_ms=15_000) for library in sorted(LIBRARIES)]
    crew.settles(*members)
    promises = Promises()
    with contextlib.ExitStack() as stack:
        committers = [stack.enter_context(Committer(member, promises)) for member in members]
        kill_again_and_again(killed_daemon, crew, committers, promises, chance)
    check_one_owner_in_each_generation(*members)
    owned = crew.settles(*members)
    assert sorted(map(len, owned.values())) == [2, 2, 2]
    promises.check(committed_offsets(killed_daemon.port, crew.group), dict(promises.acknowledged))


def all_have_more(committers: list[Committer], already: list[int]) -> bool:
    """Return whether each member has had a commit acknowledged since `already` was counted."""
    return all(committer.count > count for committer, count in zip(committers, already, strict=True))


def kill_again_and_again(
    daemon: Daemon, crew: Crew, committers: list[Committer], promises: Promises, chance: random.Random
) -> None:
    for kill in range(KILLS):
        already = [committer.count for committer in committers]
        eventually(partial(all_have_more, committers, already), f"all commit again after kill {kill}", within_s=60)
        time.sleep(chance.uniform(0, 0.3))  # the random moment
        daemon.kill()
        acknowledged = dict(promises.acknowledged)
        daemon.start()
        promises.check(committed_offsets(daemon.port, crew.group), acknowledged)


async def test_a_generation_that_was_answered_never_gets_other_members_over_twenty_kills(killed_daemon: Daemon) -> None:
    chance = random.Random(seed_used := seed())
    print(f"KILL_SEED={seed_used}")
    killed_daemon.create_topic("restless", 4)
    group = Restless(killed_daemon, "restless", "restless", size=4)
    stopping = asyncio.Event()
    lives = [asyncio.create_task(group.live(index, stopping)) for index in range(4)]
    for kill in range(KILLS):
        rounds = group.rounds
        deadline = time.monotonic() + 40
        while group.rounds < rounds + 2:
            for life in lives:
                if life.done():
                    life.result()  # raises what broke the rule
            assert time.monotonic() < deadline, f"no progress after kill {kill} (KILL_SEED={seed_used})"
            await asyncio.sleep(0.01)
        await asyncio.sleep(chance.uniform(0, 0.1))  # the random moment
        killed_daemon.kill()
        acknowledged = dict(group.promises.acknowledged)
        await asyncio.to_thread(killed_daemon.start)
        found = await asyncio.to_thread(committed_offsets, killed_daemon.port, group.group)
        group.promises.check(found, acknowledged)
    stopping.set()
    await asyncio.wait_for(asyncio.gather(*lives), 60)
    generations = sorted(group.synced)
    assert len(generations) >= KILLS, "the group went through many generations"

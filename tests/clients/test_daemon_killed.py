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
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from tests.clients.conftest import Crew
from tests.clients.members import LIBRARIES, TopicPartition, check_one_owner_in_each_generation
from tests.clients.promises import Committer, Promises
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember
from tests.support.questions import committed_offsets
from tests.support.wire import ConnectionEnded, Wire

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


class Restless:
    """A raw group that rebalances and commits all the time, and remembers every answer that binds the coordinator."""

    def __init__(self, daemon: Daemon, group: str, topic: str, size: int) -> None:
        self.daemon = daemon
        self.group = group
        self.topic = topic
        self.size = size
        self.promises = Promises()
        self.synced: dict[int, bytes] = {}  # generation -> the mark of the one round whose outcome it is
        self.rounds = 0

    async def live(self, index: int, stopping: asyncio.Event) -> None:
        """One member's life: connect, join, sync, commit, rejoin, for ever; after a crash the same id goes on."""
        member: GroupMember | None = None
        while not stopping.is_set():
            try:
                async with await Wire.connect(self.daemon.port) as wire:
                    if member is None:
                        member = GroupMember(wire, self.group, [self.topic], rebalance_timeout_ms=5000)
                    member.wire = wire
                    while not stopping.is_set():
                        await self._round(member, index)
            except (OSError, ConnectionEnded):
                await asyncio.sleep(0.01)  # the daemon is dead: connect again until it is back

    async def _round(self, member: GroupMember, index: int) -> None:
        code = await member.join()
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            member.member_id = ""  # its generation was never made durable
            return
        if code is not ErrorCode.NONE:
            assert code.retriable or code is ErrorCode.REBALANCE_IN_PROGRESS, code
            await asyncio.sleep(0.01)
            return
        dealt: dict[str, list[TopicPartition]] = {}
        if member.is_leader:
            for partition in range(self.size):
                dealt.setdefault(member.members[partition % len(member.members)], []).append((self.topic, partition))
        if await member.sync(dealt, uuid.uuid4().bytes) is not ErrorCode.NONE or not member.user_data:
            return
        first = self.synced.setdefault(member.generation, member.user_data)
        assert first == member.user_data, f"generation {member.generation} was answered, and then used again"
        for _ in range(3):
            partition = (self.topic, index)  # each member has one key of its own, so that offsets only rise
            offset = next(self.promises.rising)
            self.promises.send({partition: offset})
            if await member.commit({partition: offset}) is not ErrorCode.NONE:
                return
            self.promises.acknowledge({partition: offset})
        self.rounds += 1


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

"""Consumers of three libraries share a group while its coordinator goes away and comes back from a snapshot.

They commit as fast as they are answered, also while the daemon ends. Held: it started from its snapshot, every
acknowledged commit is there and nothing that was never sent, and the same consumer objects go on as the same members
of the same generation: for them the coordinator was away, no more.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.clients.conftest import ABOUT_THE_LIBRARIES, Crew, collect_what_a_library_dropped
from tests.clients.members import LIBRARIES, ClientMember
from tests.clients.promises import Committer, Promises
from tests.storage.snapshot.live import NOT_MADE, NOT_USED, SnapshottingDaemon, last_load, lines, snapshots
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets

pytestmark = [pytest.mark.integration, *(pytest.mark.filterwarnings(each) for each in ABOUT_THE_LIBRARIES)]
__all__ = ["collect_what_a_library_dropped"]

OVERRIDES = (
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=1",
    "offsets.snapshot.min.bytes=0",
    "offsets.snapshot.stop.ms=60000",
    "offsets.snapshot.tail.bytes=200000",
)
MANY = {("filler", partition): 7 for partition in range(1000)}  # some dozen bytes each


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SnapshottingDaemon]:
    made = SnapshottingDaemon(tmp_path / "daemon", overrides=OVERRIDES, topics=("filler:1000",))
    with made:
        yield made


@pytest.fixture
def crew(daemon: SnapshottingDaemon, caplog: pytest.LogCaptureFixture) -> Iterator[Crew]:
    """What the libraries say about lost connections is left out: it is expected."""
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    made = Crew(daemon)
    yield made
    if not daemon.is_running:  # the test failed between an end and a start
        daemon.start()
    made.close()


def membership(crew: Crew, members: list[ClientMember]) -> tuple[object, ...]:
    """What a rebalance would change: on both sides, and in what the daemon has told of rebalances."""
    theirs = {member.library: (member.do(member._identity), len(member.ownerships)) for member in members}
    return theirs, crew.view(), len(lines(crew.daemon, f"Group {crew.group} left generation"))


def go_on(committers: list[Committer], more: int = 5) -> None:
    """Wait until each has had so many more commits acknowledged."""
    due = [committer.count + more for committer in committers]
    for committer, count in zip(committers, due, strict=True):
        eventually(partial(has, committer, count), f"{committer.member} commits again", within_s=60)


def has(committer: Committer, count: int) -> bool:
    return committer.count >= count


@contextlib.contextmanager
def committing(members: list[ClientMember], promises: Promises) -> Iterator[list[Committer]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Committer(member, promises)) for member in members]


def snapshot_is_made(daemon: SnapshottingDaemon) -> None:
    """By a child, since enough has been committed, if not by the clients."""
    before = snapshots(daemon)
    for _ in range(4):
        commit_offsets(daemon.port, "filler", MANY)
    eventually(lambda: snapshots(daemon) != before, "a child has made a snapshot")


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGKILL"])
def test_consumers_of_three_libraries_go_on_when_their_coordinator_starts_from_a_snapshot(
    daemon: SnapshottingDaemon, crew: Crew, ending: str
) -> None:
    crew.topic(6)
    members = [crew.join(library, library, session_timeout_ms=20_000) for library in sorted(LIBRARIES)]
    owned = crew.settles(*members)
    before = membership(crew, members)
    promises = Promises()
    with committing(members, promises) as committers:
        go_on(committers)
        if ending == "SIGTERM":
            assert daemon.terminate() == 0
        else:
            snapshot_is_made(daemon)
            go_on(committers)  # the tail
            daemon.kill()
        acknowledged = dict(promises.acknowledged)
        daemon.start()
        promises.check(committed_offsets(daemon.port, crew.group), acknowledged)
        load = last_load(daemon)
        go_on(committers)
    assert load["partitions_from_snapshot"] == 1
    assert (load["records_read"] > 0) == (ending == "SIGKILL")
    assert not lines(daemon, NOT_USED)
    assert not lines(daemon, NOT_MADE)
    assert committed_offsets(daemon.port, crew.group) == promises.acknowledged
    assert crew.settles(*members) == owned
    assert membership(crew, members) == before

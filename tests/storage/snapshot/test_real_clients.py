"""Consumers of three libraries share a group while its coordinator stops and starts again from a snapshot.

They commit as fast as they get responses, also while the daemon ends. Checks: it started from its snapshot; every
acknowledged commit is there and no other offset; and the same consumer objects continue as the same members of the same
generation, without a rebalance.
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
    """Make a crew, without the libraries' log lines about lost connections, which are expected."""
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    made = Crew(daemon)
    yield made
    if not daemon.is_running:  # the test failed while the daemon was down
        daemon.start()
    made.close()


def membership(crew: Crew, members: list[ClientMember]) -> tuple[object, ...]:
    """Return what a rebalance would change: on both sides, and the count of rebalances in the daemon's log."""
    theirs = {member.library: (member.do(member._identity), len(member.ownerships)) for member in members}
    return theirs, crew.view(), len(lines(crew.daemon, f"Group {crew.group} left generation"))


def go_on(committers: list[Committer], more: int = 5) -> None:
    """Wait until each committer has `more` further commits acknowledged."""
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
    """Commit enough that a child makes a snapshot, and wait for it."""
    before = snapshots(daemon)
    for _ in range(4):
        commit_offsets(daemon.port, "filler", MANY)
    eventually(lambda: snapshots(daemon) != before, "a child has made a snapshot")


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGKILL"])
def test_consumers_of_three_libraries_continue_when_their_coordinator_starts_from_a_snapshot(
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
            go_on(committers)  # the records behind the snapshot
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

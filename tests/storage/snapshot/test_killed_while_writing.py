"""A daemon killed with SIGKILL at each step of writing a snapshot: by a child while it serves, and at its stop.

All deaths happen in one directory. After each, the start must find exactly the acknowledged offsets, must read exactly
the records behind the newest finished snapshot, and must log no complaint.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from coordinator.storage.file_names import SNAPSHOT_NAME
from tests.storage.snapshot.live import NOT_MADE, NOT_USED, SnapshottingDaemon, drafts, last_load, lines, snapshots
from tests.storage.snapshot.steps import Step
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets

pytestmark = pytest.mark.integration

ALWAYS = ("offsets.snapshot.min.bytes=0", "offsets.topic.num.partitions=1", "offsets.commit.topic.check=false")
AT_STOP = (*ALWAYS, "offsets.snapshot.stop.ms=60000", "offsets.snapshot.tail.bytes=0")
WHILE_IT_SERVES = (*ALWAYS, "offsets.snapshot.stop.ms=0", "offsets.snapshot.tail.bytes=2000")
PARTITIONS = 90  # in each commit, which is more than 2000 bytes
HAS_ITS_NAME = (Step.SYNC_NAME, Step.GO_ON)


def offsets(number: int) -> dict[tuple[str, int], int]:
    return {("t", partition): number + partition for partition in range(PARTITIONS)}


class Walk:
    """A daemon that dies and restarts. Each round makes one more commit."""

    def __init__(self, directory: Path, overrides: tuple[str, ...]) -> None:
        self.daemon = SnapshottingDaemon(directory, overrides=overrides)
        self.is_made_by_child = overrides == WHILE_IT_SERVES
        self.rounds = 0
        self.covered = 0  # rounds that the snapshot covers

    def start(self, step: str) -> None:
        """Start the daemon, which will die at `step`, and check what it loaded."""
        self.daemon.die_at(step)
        self.daemon.start()
        load = last_load(self.daemon)
        assert load["partitions_from_snapshot"] == (self.covered > 0)
        assert load["records_read"] == (self.rounds - self.covered) * PARTITIONS
        if self.is_made_by_child:
            self.covered = self.rounds  # a start that reads so much writes a snapshot
        if self.rounds:
            assert committed_offsets(self.daemon.port, "g") == offsets(self.rounds)

    def commit(self) -> None:
        self.rounds += 1
        commit_offsets(self.daemon.port, "g", offsets(self.rounds))

    def die(self, step: Step) -> None:
        """Commit, and wait until the daemon dies at the step."""
        self.commit()
        if not self.is_made_by_child:
            self.daemon.process.send_signal(signal.SIGTERM)
        self.daemon.await_death(step)
        if step in HAS_ITS_NAME:
            self.covered = self.rounds
        assert len(drafts(self.daemon)) == (step not in (Step.CREATE, *HAS_ITS_NAME))


@pytest.mark.parametrize("overrides", [AT_STOP, WHILE_IT_SERVES], ids=["at its stop", "while it serves"])
def test_a_daemon_killed_at_any_step_of_a_snapshot_starts_from_the_previous_one(
    tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    """It starts from the new one as soon as that has its name; the first time from the log, without a snapshot."""
    walk = Walk(tmp_path / "d", overrides)
    daemon = walk.daemon
    steps = list(Step) * (1 if walk.is_made_by_child else 2)  # its starts write snapshots, so one exists soon
    for step in steps:
        walk.start(step)
        walk.die(step)
    walk.start("")
    before = snapshots(daemon)
    walk.commit()
    if walk.is_made_by_child:
        eventually(lambda: snapshots(daemon) != before, "an undisturbed child makes one")
    daemon.stop()  # the stop makes one too
    assert snapshots(daemon) != before
    assert not drafts(daemon), "drafts of killed processes were used by later ones"
    assert not lines(daemon, NOT_USED)
    assert not lines(daemon, NOT_MADE)


def test_a_torn_snapshot_is_ignored_and_logged_once(tmp_path: Path) -> None:
    """A disk may make a name durable before the content of its file."""
    walk = Walk(tmp_path / "d", AT_STOP)
    torn = (Step.EMPTY, Step.REST_OF_BODY, Step.HEADER, Step.REST_OF_HEADER)
    for number, step in enumerate(torn):
        walk.start(step)
        walk.die(step)
        (draft,) = drafts(walk.daemon)
        draft.rename(draft.with_name(SNAPSHOT_NAME))
        walk.covered = 0
        assert len(lines(walk.daemon, NOT_USED)) == number
    walk.start("")
    walk.daemon.stop()
    assert len(lines(walk.daemon, NOT_USED)) == len(torn)


def test_a_killed_child_is_logged_and_another_one_starts_after_more_commits(tmp_path: Path) -> None:
    walk = Walk(tmp_path / "d", WHILE_IT_SERVES)
    daemon = walk.daemon
    daemon.child_dies_alone()
    walk.start(Step.REST_OF_BODY)
    walk.commit()
    eventually(lambda: lines(daemon, NOT_MADE), "it says that there is no snapshot")
    already = len(lines(daemon, NOT_MADE))
    for _ in range(already + 1):  # each failure increases the growth of the log before the next attempt
        walk.commit()
    eventually(lambda: len(lines(daemon, NOT_MADE)) > already, "it has tried again")
    assert all("the maker of a snapshot was killed by SIGKILL" in line for line in lines(daemon, NOT_MADE))
    assert len(drafts(daemon)) == 1
    assert committed_offsets(daemon.port, "g") == offsets(walk.rounds)
    daemon.kill()
    walk.start("")
    assert not drafts(daemon)
    daemon.stop()

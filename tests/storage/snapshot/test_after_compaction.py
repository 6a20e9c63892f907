"""Compaction of a running daemon's log: snapshots that it makes useless are replaced, and never used.

A group is deleted after the first snapshot, and compaction removes its tombstones. That snapshot and the rest of the
log would then together restore the group and old offsets, so no start may use both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from coordinator.compaction import jobs
from coordinator.storage.log import swap
from protocol.messages.delete_groups import DeleteGroupsRequest
from tests.compaction.live import SMALL_SEGMENTS, ask, compact
from tests.compaction.plain_job import do_job
from tests.storage.snapshot.live import NOT_MADE, NOT_USED, SnapshottingDaemon, drafts, last_load, lines, snapshots
from tests.storage.snapshot.steps import Step
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets, list_groups
from tests.support.wire import call

pytestmark = pytest.mark.integration

OVERRIDES = (
    SMALL_SEGMENTS,
    "log.cleaner.delete.retention.ms=0",
    "offsets.commit.topic.check=false",
    "offsets.snapshot.min.bytes=0",
    "offsets.snapshot.stop.ms=60000",
    "offsets.snapshot.tail.bytes=20000",
    "offsets.topic.num.partitions=1",
)
PARTITIONS = 100
GROUPS = [f"group-{number}" for number in range(8)]
DELETED, CHANGED, *_ = GROUPS  # after the snapshot; its last batch belongs to the last group, and is kept
OLDEST = "oldest"  # its only commit is the first record of the log, and is kept


def offsets(first: int) -> dict[tuple[str, int], int]:
    return {("t", partition): first + partition for partition in range(PARTITIONS)}


def check(daemon: SnapshottingDaemon) -> None:
    """Check that the daemon serves exactly the acknowledged offsets."""
    assert set(list_groups(daemon.port)) - {OLDEST} == set(GROUPS) - {DELETED}
    for group in GROUPS:
        expected = {} if group == DELETED else offsets(300 if group == CHANGED else 200)
        assert committed_offsets(daemon.port, group) == expected


def check_load(daemon: SnapshottingDaemon, **expected: int) -> None:
    """Check what the last start logged about loading, and the offsets served since."""
    load = last_load(daemon)
    assert {name: load[name] for name in expected} == expected
    check(daemon)


@pytest.fixture
def overrides() -> tuple[str, ...]:
    return ()


@pytest.fixture(params=["the log begins where it began", "the log begins later"])
def daemon(tmp_path: Path, request: pytest.FixtureRequest, overrides: tuple[str, ...]) -> Iterator[SnapshottingDaemon]:
    """Make a stopped daemon with a snapshot. It checks whether another is due once an hour, unless set otherwise."""
    made = SnapshottingDaemon(tmp_path / "daemon", overrides=(*OVERRIDES, *overrides))
    made.look_every(3600)
    made.start()
    if request.param == "the log begins where it began":
        commit_offsets(made.port, OLDEST, {("t", 0): 1})
    for first in (100, 200):
        for group in GROUPS:
            commit_offsets(made.port, group, offsets(first))
    made.stop()
    yield made
    made.stop()
    assert not lines(made, NOT_MADE)
    assert not drafts(made), "an unfinished draft was used for the next one"


def change(daemon: SnapshottingDaemon) -> None:
    """Write records behind the snapshot, too few for a new one."""
    answer = call(daemon.port, DeleteGroupsRequest(groups_names=[DELETED]), 2)
    assert [each.error_code for each in answer.results] == [0]
    commit_again(daemon)
    check_load(daemon, partitions_from_snapshot=1, records_read=0)


def commit_again(daemon: SnapshottingDaemon) -> None:
    """Commit the same offsets again, so that the log can be compacted again."""
    commit_offsets(daemon.port, CHANGED, offsets(300))


def has_another(daemon: SnapshottingDaemon, before: dict[str, int]) -> bool:
    return snapshots(daemon) != before


@pytest.mark.parametrize(
    "overrides",
    [(), ("offsets.snapshot.tail.bytes=16777216",)],
    ids=["for what a log gets", "a log too small for that"],
)
def test_a_compaction_is_followed_by_a_snapshot_from_which_a_killed_daemon_starts(daemon: SnapshottingDaemon) -> None:
    daemon.look_every(0.1)
    daemon.start()
    change(daemon)
    for _ in range(2):  # the first compaction only sets when tombstones may be removed
        commit_again(daemon)
        before = snapshots(daemon)
        compact(daemon)
        eventually(partial(has_another, daemon, before), "a new snapshot")
        daemon.restart()
        check_load(daemon, partitions_from_snapshot=1, records_read=0)
    assert not lines(daemon, NOT_USED)


def test_a_stop_right_after_a_compaction_leaves_a_snapshot_that_the_next_start_uses(daemon: SnapshottingDaemon) -> None:
    daemon.start()
    change(daemon)
    compact(daemon)
    commit_again(daemon)
    compact(daemon)
    daemon.stop()
    daemon.start()
    check_load(daemon, partitions_from_snapshot=1, records_read=0)
    assert not lines(daemon, NOT_USED)


@pytest.mark.parametrize(
    "step", [swap.SwapStep.COMMIT_SYNC, swap.SwapStep.FINISH_SYNC, jobs.JobStep.SETTLE], ids=lambda step: str(step.name)
)
def test_a_daemon_killed_before_the_snapshot_that_follows_a_compaction_reads_its_log(
    daemon: SnapshottingDaemon, step: str
) -> None:
    """The daemon is killed in or right after the second swap; the snapshot is older than both."""
    daemon.die_at(step, 1)
    daemon.start()
    change(daemon)
    compact(daemon)  # it only sets when tombstones may be removed
    commit_again(daemon)
    before = snapshots(daemon)
    do_job(daemon.data_dir, ask(daemon))
    daemon.await_death(step)
    assert snapshots(daemon) == before
    check_that_the_log_is_read(daemon)


def test_a_daemon_killed_when_a_child_begins_the_snapshot_after_a_compaction_reads_its_log(
    daemon: SnapshottingDaemon,
) -> None:
    daemon.look_every(0.1)
    daemon.die_at(Step.CREATE)
    daemon.start()
    change(daemon)
    commit_again(daemon)
    before = snapshots(daemon)
    do_job(daemon.data_dir, ask(daemon))
    daemon.await_death(Step.CREATE)
    assert snapshots(daemon) == before
    check_that_the_log_is_read(daemon)


def check_that_the_log_is_read(daemon: SnapshottingDaemon) -> None:
    """Check that the next start reads the log, logs the reason, and writes a snapshot for the start after it."""
    assert not lines(daemon, NOT_USED)
    daemon.die_at("")
    daemon.start()
    check_load(daemon, partitions_from_snapshot=0, partitions_from_log=1)
    (line,) = lines(daemon, NOT_USED)
    assert "compacted since" in line or "the log begins at offset" in line
    daemon.restart()
    check_load(daemon, partitions_from_snapshot=1, records_read=0)
    assert len(lines(daemon, NOT_USED)) == 1

"""Compaction of a running daemon's log, and the snapshots it makes useless: another is made, and none is believed.

A group is deleted behind the first snapshot, and compaction takes its tombstones away. From then on that snapshot and
what is left of the log would together bring the group back, and offsets as they were. Nobody may start from the two.
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
DELETED, CHANGED, *_ = GROUPS  # behind the snapshot; the batch that it ends with is the last group's, and stays
OLDEST = "oldest"  # its one commit is the first record of the log, and stays


def offsets(first: int) -> dict[tuple[str, int], int]:
    return {("t", partition): first + partition for partition in range(PARTITIONS)}


def check(daemon: SnapshottingDaemon) -> None:
    """That it serves exactly what was acknowledged."""
    assert set(list_groups(daemon.port)) - {OLDEST} == set(GROUPS) - {DELETED}
    for group in GROUPS:
        expected = {} if group == DELETED else offsets(300 if group == CHANGED else 200)
        assert committed_offsets(daemon.port, group) == expected


def check_load(daemon: SnapshottingDaemon, **expected: int) -> None:
    """What its start has said, and what it serves since."""
    load = last_load(daemon)
    assert {name: load[name] for name in expected} == expected
    check(daemon)


@pytest.fixture
def overrides() -> tuple[str, ...]:
    return ()


@pytest.fixture(params=["the log begins where it began", "the log begins later"])
def daemon(tmp_path: Path, request: pytest.FixtureRequest, overrides: tuple[str, ...]) -> Iterator[SnapshottingDaemon]:
    """It was stopped and has left a snapshot. It will not look whether another one is due, unless told otherwise."""
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
    assert not drafts(made), "what was begun and left was used for the next one"


def change(daemon: SnapshottingDaemon) -> None:
    """Behind the snapshot, and too little for a new one."""
    answer = call(daemon.port, DeleteGroupsRequest(groups_names=[DELETED]), 2)
    assert [each.error_code for each in answer.results] == [0]
    commit_again(daemon)
    check_load(daemon, partitions_from_snapshot=1, records_read=0)


def commit_again(daemon: SnapshottingDaemon) -> None:
    """What changes nothing, but lets a log be compacted again."""
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
    for _ in range(2):  # the first one only says when tombstones may go
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
    """Killed in the swap or right behind it: the snapshot that lies there is of the log before two of them."""
    daemon.die_at(step, 1)
    daemon.start()
    change(daemon)
    compact(daemon)  # this one only says when tombstones may go
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
    """By the next start, which says why, and keeps what came of it for the one after that."""
    assert not lines(daemon, NOT_USED)
    daemon.die_at("")
    daemon.start()
    check_load(daemon, partitions_from_snapshot=0, partitions_from_log=1)
    (line,) = lines(daemon, NOT_USED)
    assert "compacted since" in line or "the log begins at offset" in line
    daemon.restart()
    check_load(daemon, partitions_from_snapshot=1, records_read=0)
    assert len(lines(daemon, NOT_USED)) == 1

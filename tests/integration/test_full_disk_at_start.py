"""A start on a disk that is full or fails: what can be read is served, and the rest may be tried again."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.faulty_disk import FaultyDisk
from tests.support.questions import commit_offsets, committed_offsets, list_groups
from tests.support.wire import call

pytestmark = pytest.mark.integration


@pytest.fixture
def disk(tmp_path: Path) -> FaultyDisk:
    return FaultyDisk(tmp_path / "fault")


def daemon_on(disk: FaultyDisk, tmp_path: Path) -> Daemon:
    overrides = ["offsets.commit.topic.check=false"]
    return Daemon(tmp_path / "d", overrides=overrides, topics=["orders:2"], environment=disk.environment)


def commit(daemon: Daemon, offset: int) -> int:
    """The error code of one commit."""
    entry = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name="orders", partitions=[entry])]
    request = OffsetCommitRequest(group_id="g0", generation_id_or_member_epoch=-1, topics=topics)
    return int(call(daemon.port, request, 8).topics[0].partitions[0].error_code)


@pytest.mark.parametrize("ends", ["stopped", "killed"])
def test_a_start_on_a_full_disk_serves_reads_and_refuses_commits_until_there_is_room(
    tmp_path: Path, disk: FaultyDisk, ends: str
) -> None:
    daemon = daemon_on(disk, tmp_path).start()
    for number in range(10):
        commit_offsets(daemon.port, f"g{number}", {("orders", 0): number})
    if ends == "stopped":
        daemon.stop()
    else:
        daemon.kill()
    disk.fail(errno.ENOSPC, daemon.data_dir)
    with daemon:
        assert ("the disk has no room for recovery-checkpoint" in daemon.log_text()) == (ends == "killed")
        assert len(list_groups(daemon.port)) == 10
        assert committed_offsets(daemon.port, "g3") == {("orders", 0): 3}
        assert commit(daemon, 50) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert committed_offsets(daemon.port, "g0") == {("orders", 0): 0}
        daemon.kill()  # a second crash on the full disk
        daemon.start()
        assert commit(daemon, 50) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        announced = daemon.data_dir / "compaction" / "daemon.json"
        of_an_earlier_run = announced.read_bytes()
        disk.heal()
        eventually(lambda: commit(daemon, 60) == ErrorCode.NONE, "a commit succeeds", within_s=30)
        eventually(lambda: announced.read_bytes() != of_an_earlier_run, "compaction can be asked for", within_s=30)
        daemon.restart()
        assert committed_offsets(daemon.port, "g0") == {("orders", 0): 60}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_start_that_the_disk_prevents_is_exit_code_1(tmp_path: Path, disk: FaultyDisk, number: int) -> None:
    """A new directory needs room for its identity; a failing disk cannot make the log's end durable."""
    daemon = daemon_on(disk, tmp_path)
    if number == errno.EIO:
        daemon.start()
        commit_offsets(daemon.port, "g0", {("orders", 0): 1})
        daemon.kill()
    disk.fail(number, daemon.data_dir)
    assert daemon.spawn().wait(60) == 1
    (said,) = [line for line in daemon.log_lines() if line.startswith("coordinator: ")]
    assert "cannot be used now" in said
    assert "make room on its disk or mend it, then start again" in said
    disk.heal()
    with daemon:
        assert commit(daemon, 2) == ErrorCode.NONE


def test_a_directory_that_is_not_ours_to_write_is_still_a_mistake(tmp_path: Path, disk: FaultyDisk) -> None:
    daemon = daemon_on(disk, tmp_path)
    disk.fail(errno.EACCES, daemon.data_dir)
    assert daemon.spawn().wait(60) == 2
    assert "make it writable, or choose another with --data-dir" in daemon.log_text()

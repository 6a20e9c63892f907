"""A real daemon was killed, and its log was damaged or lost a file: the start fails with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME
from coordinator.storage.log.log import Log
from coordinator.storage.snapshot.file import evidence
from tests.storage.snapshot.test_daemon import ALWAYS
from tests.storage.snapshot.test_trust import commit, world_with_snapshot
from tests.storage.snapshot.world import DIRECTORY
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets

pytestmark = pytest.mark.integration

ONE_PARTITION = (*ALWAYS, "offsets.topic.num.partitions=1", "offsets.snapshot.stop.ms=0")


def commits(daemon: Daemon, first: int, count: int) -> None:
    for number in range(first, first + count):
        commit_offsets(daemon.port, f"g{number}", {("t", 0): number})


def refused(daemon: Daemon) -> str:
    """Return the log lines of a start that must fail."""
    before = len(daemon.log_text())
    assert daemon.spawn().wait(60) == 2
    return daemon.log_text()[before:]


@pytest.mark.parametrize("harm", ["a bit", "all that follows"])
def test_damage_that_a_snapshot_shows_to_be_loss_is_refused_after_a_kill(tmp_path: Path, harm: str) -> None:
    """The recovery point may be a minute old; the snapshot, made of synced records, is newer."""
    daemon = Daemon(tmp_path / "d", overrides=(*ONE_PARTITION, "offsets.snapshot.tail.bytes=500")).start()
    directory = daemon.data_dir / "__consumer_offsets-0"
    commits(daemon, 0, 20)
    eventually(lambda: (directory / SNAPSHOT_NAME).exists(), "a snapshot", within_s=60)
    assert not (directory / RECOVERY_CHECKPOINT_NAME).exists()
    daemon.kill()
    (path,) = directory.glob("*.log")
    sound = path.read_bytes()
    second_batch = 12 + int.from_bytes(sound[8:12], "big")
    if harm == "a bit":
        path.write_bytes(
            sound[: second_batch + 70] + bytes([sound[second_batch + 70] ^ 1]) + sound[second_batch + 71 :]
        )
    else:
        path.write_bytes(sound[:second_batch])
    harmed = path.read_bytes()
    said = refused(daemon)
    reason = "checksum does not match" if harm == "a bit" else "the file ends"
    assert f"{path}: at byte {second_batch}: {reason}, but the records up to offset" in said
    assert f"remove {SNAPSHOT_NAME} beside it to start without them" in said
    assert path.read_bytes() == harmed

    (directory / SNAPSHOT_NAME).unlink()
    with daemon:
        assert committed_offsets(daemon.port, "g0") == {("t", 0): 0}
        assert committed_offsets(daemon.port, "g19") == {}
        if harm == "a bit":
            assert "acknowledged records may be among what was cut" in daemon.log_text()


def test_a_torn_batch_behind_the_snapshot_is_cut_and_the_rest_is_served(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=(*ONE_PARTITION, "offsets.snapshot.tail.bytes=500")).start()
    directory = daemon.data_dir / "__consumer_offsets-0"
    commits(daemon, 0, 20)
    eventually(lambda: (directory / SNAPSHOT_NAME).exists(), "a snapshot", within_s=60)
    daemon.kill()
    (path,) = directory.glob("*.log")
    with path.open("ab") as file:
        file.write(path.read_bytes()[:50])
    with daemon:
        assert committed_offsets(daemon.port, "g19") == {("t", 0): 19}
        assert "cut 50 bytes" in daemon.log_text()
        assert "may be among" not in daemon.log_text()


@pytest.mark.parametrize("which", [0, 1], ids=["the first", "a middle one"])
@pytest.mark.parametrize("ends", ["stopped", "killed"])
def test_a_start_without_a_segment_is_refused(tmp_path: Path, which: int, ends: str) -> None:
    overrides = (*ONE_PARTITION, "offsets.topic.segment.bytes=1024", "offsets.snapshot.tail.bytes=0")
    daemon = Daemon(tmp_path / "d", overrides=overrides).start()
    directory = daemon.data_dir / "__consumer_offsets-0"
    commits(daemon, 0, 40)
    if ends == "stopped":
        daemon.stop()
    else:
        daemon.kill()
    path = sorted(directory.glob("*.log"))[which]
    data = path.read_bytes()
    path.unlink()
    said = refused(daemon)
    assert f"{path}: the file is missing, and with it the records from offset {int(path.stem)} up to" in said
    assert f"remove {RECOVERY_CHECKPOINT_NAME} beside it" in said

    path.write_bytes(data)  # the file is restored
    with daemon:
        assert committed_offsets(daemon.port, "g0") == {("t", 0): 0}
        daemon.kill()
        path.unlink()
        (directory / RECOVERY_CHECKPOINT_NAME).unlink()  # or the user accepts the loss
        daemon.start()
        assert committed_offsets(daemon.port, "g39") == {("t", 0): 39}


def test_a_snapshot_of_another_partition_or_a_damaged_one_is_no_evidence() -> None:
    world = world_with_snapshot()
    known = evidence(world.fs, DIRECTORY, 0)
    assert known.offset == world.writer.next_offset
    assert evidence(world.fs, DIRECTORY, 1).offset == 0
    world.write([commit(0)])
    Log.open(DIRECTORY, fs=world.fs, evidence=known).abandon()
    opened = world.fs.open(DIRECTORY / SNAPSHOT_NAME)
    opened.pwrite(b"\xff", 30)
    assert evidence(world.fs, DIRECTORY, 0).offset == 0

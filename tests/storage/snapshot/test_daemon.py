"""Snapshots in a real daemon: made at a stop and while it serves, used at the start, and never required."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest

from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.snapshot import keeper
from coordinator.storage.snapshot.file import DRAFT_NAME
from protocol.error_codes import ErrorCode
from tests.storage.snapshot.live import last_load
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.questions import commit_offsets, committed_offsets, describe_group, list_groups
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

ALWAYS = (
    "offsets.snapshot.min.bytes=0",
    "offsets.snapshot.stop.ms=60000",
    "offsets.topic.num.partitions=3",
    "offsets.commit.topic.check=false",
    "group.initial.rebalance.delay.ms=0",
)
GROUPS = 20


def commit_all(daemon: Daemon, first: int, *, groups: int = GROUPS) -> None:
    for number in range(groups):
        commit_offsets(daemon.port, f"g{number}", {("t", partition): first + number for partition in range(5)})


def expect_all(daemon: Daemon, first: int, *, groups: int = GROUPS) -> None:
    for number in range(groups):
        expected = {("t", partition): first + number for partition in range(5)}
        assert committed_offsets(daemon.port, f"g{number}") == expected


def test_a_stop_writes_snapshots_and_the_next_start_reads_no_records(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=ALWAYS).start()
    commit_all(daemon, 100)
    daemon.stop()
    with daemon:
        assert last_load(daemon) | {"ms": 0} == {
            "partitions_from_snapshot": 3,
            "partitions_from_log": 0,
            "records_read": 0,
            "groups": GROUPS,
            "offsets": GROUPS * 5,
            "ms": 0,
        }
        assert set(list_groups(daemon.port)) == {f"g{number}" for number in range(GROUPS)}
        expect_all(daemon, 100)
        commit_all(daemon, 200)
        daemon.restart()  # killed: later records are in the log only
        assert last_load(daemon)["partitions_from_snapshot"] == 3
        assert last_load(daemon)["records_read"] == GROUPS * 5
        expect_all(daemon, 200)


@pytest.mark.parametrize("harm", ["damaged", "removed", "half written"])
def test_a_start_without_its_snapshot_logs_it_and_loads_the_same_state(tmp_path: Path, harm: str) -> None:
    daemon = Daemon(tmp_path / "d", overrides=ALWAYS).start()
    commit_all(daemon, 100)
    daemon.stop()
    for path in daemon.data_dir.glob(f"*/{SNAPSHOT_NAME}"):
        if harm == "removed":
            path.unlink()
        elif harm == "damaged":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        else:
            path.rename(path.with_name(DRAFT_NAME))
    with daemon:
        assert last_load(daemon)["partitions_from_log"] == 3
        assert ("the snapshot cannot be used: it is damaged" in daemon.log_text()) == (harm == "damaged")
        expect_all(daemon, 100)


def test_a_stop_that_has_no_time_for_snapshots_loses_nothing(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=(*ALWAYS, "offsets.snapshot.stop.ms=1")).start()
    commit_all(daemon, 100)
    daemon.stop()
    assert "offsets.snapshot.stop.ms=1 is over" in daemon.log_text()
    with daemon:
        expect_all(daemon, 100)


def test_members_of_a_group_continue_after_a_start_from_a_snapshot(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=ALWAYS).start()

    async def before() -> GroupMember:
        async with await Wire.connect(daemon.port) as wire:
            member = await alone_in_group(wire, "live", "t", 2)
            assert await member.commit({("t", 0): 5}) is ErrorCode.NONE
            return member

    member = asyncio.run(before())
    daemon.stop()
    with daemon:
        assert last_load(daemon)["partitions_from_log"] == 2  # partitions without records

        async def after() -> None:
            async with await Wire.connect(daemon.port) as wire:
                member.wire = wire
                assert await member.heartbeat() is ErrorCode.NONE
                assert await member.commit({("t", 0): 6}) is ErrorCode.NONE

        asyncio.run(after())
        assert describe_group(daemon.port, "live").state == "Stable"
        assert committed_offsets(daemon.port, "live") == {("t", 0): 6}


def test_a_child_makes_new_snapshots_while_the_daemon_serves(tmp_path: Path) -> None:
    overrides = (*ALWAYS, "offsets.snapshot.tail.bytes=500", "offsets.snapshot.stop.ms=0")
    with Daemon(tmp_path / "d", overrides=overrides) as daemon:
        commit_all(daemon, 100)
        files = [daemon.data_dir / f"__consumer_offsets-{number}" / SNAPSHOT_NAME for number in range(3)]
        eventually(lambda: all(path.exists() for path in files), "a snapshot of each partition", within_s=60)
        before = [path.stat().st_ino for path in files]
        commit_all(daemon, 200)
        eventually(
            lambda: all(path.stat().st_ino != inode for path, inode in zip(files, before, strict=True)),
            "another snapshot of each partition",
            within_s=60,
        )
        daemon.restart()
        assert last_load(daemon)["partitions_from_snapshot"] == 3
        expect_all(daemon, 200)


def test_a_daemon_stops_while_a_child_works(tmp_path: Path) -> None:
    overrides = (*ALWAYS, "offsets.snapshot.tail.bytes=1", "offsets.snapshot.stop.ms=0")
    daemon = Daemon(tmp_path / "d", overrides=overrides).start()
    commit_all(daemon, 100)
    time.sleep(keeper.LOOK_S)  # a child may or may not be working at this moment; the checks hold either way
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(30) == 0
    with daemon:
        expect_all(daemon, 100)

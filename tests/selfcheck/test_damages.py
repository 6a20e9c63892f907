"""Each damage is found, its consequence is the one that is said, and it is repaired."""

from __future__ import annotations

import random
from typing import Any

import pytest

from coordinator.core.group.state import GroupState
from coordinator.core.offsets.quarantine import restore
from coordinator.core.shard import Shard
from coordinator.storage.log.errors import CorruptLogError, LogError
from tests.selfcheck.damages import DAMAGES, NOT_LOADED, REFUSED, SERVED, Damage
from tests.selfcheck.world import GROUPS, Disk, committed

every_damage = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())


def damaged(damage: Damage) -> tuple[Disk, dict[tuple[str, int], int]]:
    """Return a damaged partition, and what it served before."""
    disk = Disk()
    if damage.snapshot:
        disk.keep()
    before = committed(disk.load())
    damage.do(disk)
    return disk, before


def start_of(disk: Disk) -> str:
    """Start a daemon on a copy of the files, and return what comes of it."""
    copy = Disk(fs=disk.fs.crash())
    disk.fs.is_off = False
    try:
        log = copy.open()
    except CorruptLogError:
        return REFUSED
    log.abandon()
    try:
        copy.load()
    except LogError:
        return NOT_LOADED
    return SERVED


@every_damage
def test_damage_is_found_and_a_start_does_what_is_said(damage: Damage) -> None:
    disk, _ = damaged(damage)
    said = disk.what()
    assert any(damage.found in each for each in said), said
    assert start_of(disk) == damage.start
    says = {
        word: any(f"At a start: {word}" in each for each in said)
        for word in ("the daemon does not start", "the daemon starts, and cannot load")
    }
    if damage.start is not SERVED or not damage.snapshot:
        assert list(says.values()) == [damage.start is REFUSED, damage.start is NOT_LOADED], said


@every_damage
def test_plan_is_told_and_changes_nothing(damage: Damage) -> None:
    disk, _ = damaged(damage)
    before = disk.fs.digest()
    plan = disk.plan()
    assert any(damage.planned in each for each in plan), plan
    assert disk.fs.digest() == before


@every_damage
def test_after_a_repair_nothing_is_found_and_all_is_served(damage: Damage) -> None:
    disk, before = damaged(damage)
    files = {name: disk.read(name) for name in disk.names}
    kept = disk.repair()
    assert disk.what() == []
    assert start_of(disk) == SERVED
    after = committed(disk.load(use_snapshot=False))
    assert {group for group, _ in after} == set(GROUPS)
    if not damage.loses:
        assert all(after.get(key, -1) >= offset for key, offset in before.items()), (before, after)
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    loaded = disk.load()
    assert not restore(loaded.found, loaded.replay, shard, 0)[1].damaged
    for name in kept:
        assert name in disk.names
        assert disk.read(name) in b"".join(files.values()) or name.endswith(".set-aside")


def test_an_end_that_is_lost_is_held_so_that_no_offset_is_given_twice() -> None:
    disk, _ = damaged(DAMAGES["an end that was on disk is gone"])
    disk.repair()
    log = disk.open()
    assert log.log_end_offset == 60
    log.abandon()


def test_what_a_damaged_batch_held_is_written_again_from_the_snapshot() -> None:
    damage = DAMAGES["the same, under a snapshot"]
    disk, before = damaged(damage)
    plan = disk.plan()
    assert any("from live-state, which has what the damaged batches held" in each for each in plan), plan
    disk.repair()
    disk.remove("live-state")
    assert committed(disk.load()) == before


def crashes(damage: Damage, after: int) -> tuple[Disk, bool]:
    """Repair until the machine stops after some operations; return the disk of the next boot, and if it was done."""
    disk, _ = damaged(damage)
    disk.fs.crash_after(after)
    is_done = True
    try:
        disk.repair()
    except OSError:
        is_done = False
    rng = random.Random(after) if after % 2 else None  # None: only what was synced survives
    return Disk(fs=disk.fs.crash(rng)), is_done


CRASHED = (
    "a bit of a batch in the middle",
    "the same, under a snapshot",
    "an end that was on disk is gone",
    "an old segment is shorter",
    "a value that cannot be decoded",
    "a checkpoint that is no checkpoint",
    "a bit of a snapshot",
    "an index is gone",
)


@pytest.mark.parametrize("name", CRASHED)
def test_a_crash_at_any_operation_of_a_repair_leaves_what_can_be_repaired(name: str) -> None:
    operations, is_done = 0, False
    expected: Any = None
    disk, _ = damaged(DAMAGES[name])
    disk.repair()
    expected = committed(disk.load(use_snapshot=False))
    while not is_done:
        disk, is_done = crashes(DAMAGES[name], operations)
        disk.verify()
        disk.repair()
        assert disk.what() == [], f"after a crash at operation {operations}"
        assert start_of(disk) == SERVED
        assert committed(disk.load(use_snapshot=False)) == expected, f"after a crash at operation {operations}"
        operations += 1 + operations // 8
    assert operations > 20

"""A snapshot and the log behind it give the same state as the whole log, wherever the snapshot was taken."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.folding import draft, order_for
from tests.compaction.logs import OFFSET_KEYS, OFFSETS, Empty, Gap, Op, Rec, Write, operations, seeded
from tests.storage.snapshot.world import DIRECTORY, World, state_of

PIECES = st.lists(operations(OFFSETS, max_size=15), min_size=2, max_size=5)


def without_gaps(ops: list[Op]) -> list[Op]:
    """Make a log in which each offset has its record, as a coordinator writes it."""
    return [op for op in ops if not isinstance(op, Gap | Empty)]


@given(PIECES)
def test_a_snapshot_of_any_part_and_the_rest_give_the_state_of_the_whole_log(pieces: list[list[Op]]) -> None:
    """Each snapshot is made from the previous one."""
    world = World()
    stands_for = -1
    for piece in pieces:
        world.write(without_gaps(piece))
        loaded = world.load()
        assert loaded.snapshot_offset == stands_for, loaded.why_replayed
        assert state_of(loaded) == state_of(world.load(use_snapshot=False))
        stands_for = world.keep()


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted, and committed to once more"])
def test_a_group_deleted_before_its_offsets_ends_with_the_last_of_them(*, again: bool) -> None:
    world = World()
    offset, deleted = Write((Rec(0),)), Write((Rec(len(OFFSET_KEYS), True),))
    world.write([offset, deleted, *([offset] if again else [])])
    world.keep()
    world.write([Write((Rec(1),))])
    world.keep()  # each snapshot contains it
    world.write([Write((Rec(0, True), Rec(1, True)))])
    loaded = world.load()
    assert loaded.snapshot_offset > 0
    assert state_of(loaded) == state_of(world.load(use_snapshot=False))


@given(PIECES)
def test_a_log_with_gaps_behind_the_snapshot_is_read_as_a_whole(pieces: list[list[Op]]) -> None:
    world = World()
    for piece in pieces:
        world.write(piece)
        assert state_of(world.load()) == state_of(world.load(use_snapshot=False))
        world.keep()


@given(PIECES, st.integers(0, 3))
@example([[Write((Rec(0), Rec(0), Rec(4), Rec(13, True))), Write((Rec(0),))], []], 1)  # the tombstone is removed
def test_compaction_between_snapshots_restores_no_deleted_offset(pieces: list[list[Op]], compacted: int) -> None:
    world = World()
    for number, piece in enumerate(pieces):
        world.write(without_gaps(piece))
        if number == compacted:
            world.compact()
        assert state_of(world.load(), with_ghosts=False) == state_of(world.load(use_snapshot=False), with_ghosts=False)
        if number % 2 == 0:
            world.keep()


@given(PIECES)
def test_the_snapshot_of_a_child_is_what_a_start_would_load(pieces: list[list[Op]]) -> None:
    world = World()
    for piece in pieces:
        world.write(without_gaps(piece))
        log = world.open()
        try:
            order, _ = order_for(world.fs, log, 0)
            if order.extents:
                drafted = draft(world.fs, order)
                file.promote(world.fs, DIRECTORY)
                assert drafted.offset == log.log_end_offset
                assert (drafted.from_offset, drafted.from_offset >= 0) == (order.base_offset, order.base_offset >= 0)
        finally:
            log.abandon()
        loaded = world.load()
        assert state_of(loaded) == state_of(world.load(use_snapshot=False))
        assert loaded.records == 0 or not order.extents


@pytest.mark.parametrize("seed", range(8))
def test_long_logs_with_a_snapshot_here_and_there(seed: int) -> None:
    world = World()
    for number in range(6):
        world.write(without_gaps(seeded(seed * 100 + number, 60, OFFSETS)))
        if seed % 2 and number == 3:
            world.compact()
        with_ghosts = not seed % 2
        assert state_of(world.load(), with_ghosts=with_ghosts) == state_of(
            world.load(use_snapshot=False), with_ghosts=with_ghosts
        )
        world.keep()

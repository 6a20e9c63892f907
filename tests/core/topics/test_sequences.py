"""Sequence numbers of idempotent producers, compared with a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.topics.sequences import BATCHES_KEPT, ProducerBudget, Sequences, sequence_after
from protocol.error_codes import ErrorCode
from protocol.record_batch import BatchHeader, ControlType, build_batch, build_control_batch, read_header

LAST = 2**31 - 1


def header(sequence: int, count: int = 1, *, producer: int = 7, epoch: int = 0, base_offset: int = 0) -> BatchHeader:
    batch = build_batch(
        [(None, b"v")] * count,
        timestamp_ms=1,
        base_offset=base_offset,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return read_header(batch)


def batches(sequences: Sequences, up_to_offset: int = 1 << 40) -> list[list[Any]]:
    """Return id, epoch and batches of each producer in a checkpoint."""
    return [row[:3] for row in sequences.to_rows(up_to_offset)]


def test_sequence_numbers_wrap() -> None:
    assert sequence_after(LAST, 1) == 0
    assert sequence_after(LAST - 1, 3) == 1
    assert sequence_after(5, 2) == 7


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.booleans()), max_size=60), st.integers(0, LAST))
def test_sequences_agree_with_a_model(steps: list[tuple[int, int, bool]], start: int) -> None:
    sequences = Sequences()
    written: list[tuple[int, int, int]] = []  # first sequence, count, base offset
    undos: list[Any] = []
    offset = 0
    next_sequence = start
    for kind, count, fails in steps:
        if kind <= 1 or not written:  # what comes next
            first, size = next_sequence, count
        elif kind == 2:  # a repetition of one of the last batches
            first, size, _ = written[-min(count, len(written))]
        else:  # a gap
            first, size = sequence_after(next_sequence, count), 1
        asked = header(first, size, base_offset=offset)
        verdict = sequences.check(asked)
        known = {(f, s): o for f, s, o in written[-5:]}
        if (first, size) in known:
            assert verdict.duplicate_of is not None
            assert verdict.duplicate_of.base_offset == known[first, size]
        elif first == next_sequence or not written:
            assert verdict.error is ErrorCode.NONE
            assert verdict.duplicate_of is None
            undo = sequences.record(asked, offset, 0)
            if fails and written:
                undos.append(undo)
                sequences.undo(undos.pop())
                continue
            written.append((first, size, offset))
            next_sequence = sequence_after(first, size)
            offset += size
        else:
            assert verdict.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert verdict.reason


def test_a_first_batch_that_is_undone_is_due_before_those_behind_it() -> None:
    sequences = Sequences()
    undos = [sequences.record(header(5, 3), 0, 0), sequences.record(header(8, 2), 3, 0)]
    for undo in reversed(undos):
        sequences.undo(undo)
    assert sequences.check(header(10)).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER  # it was in flight meanwhile
    assert sequences.check(header(5, 3)).error is ErrorCode.NONE
    sequences.undo(sequences.record(header(5, 3), 0, 0))
    assert sequences.check(header(8, 2)).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    sequences.record(header(5, 3), 0, 0)
    assert sequences.check(header(8, 2)).error is ErrorCode.NONE
    assert batches(sequences) == [[7, 0, [[5, 7, 0, 2]]]]


def test_batches_are_undone_in_reverse_order() -> None:
    sequences = Sequences()
    for number in range(6):
        sequences.record(header(number), number, 0)
    before = sequences.to_rows(1 << 40)
    undos = [sequences.record(header(6), 6, 0), sequences.record(header(7), 7, 0)]
    undos.append(sequences.record(header(0, epoch=1), 8, 0))
    undos.append(sequences.record(header(3, producer=9), 9, 0))
    for undo in reversed(undos):
        sequences.undo(undo)
    assert sequences.to_rows(1 << 40) == before


def test_checkpoint_holds_only_durable_batches() -> None:
    sequences = Sequences()
    for number in range(3):
        sequences.record(header(number), number, 0)
    sequences.record(header(0, producer=8), 3, 0)
    assert batches(sequences, 2) == [[7, 0, [[0, 0, 0, 0], [1, 1, 1, 1]]]]
    restored = Sequences()
    restored.restore(sequences.to_rows(2), 0)
    assert restored.check(header(1)).duplicate_of is not None
    assert restored.check(header(2)).error is ErrorCode.NONE


@pytest.mark.parametrize("rows", [[[1]], [["a", 0, [], 0, -1, -1]], [[1, 0, [[1, 2]], 0, -1, -1]], 5, [None]])
def test_damaged_checkpoint_is_an_error_and_changes_nothing(rows: Any) -> None:
    sequences = Sequences()
    sequences.record(header(0), 0, 0)
    with pytest.raises((ValueError, TypeError)):
        sequences.restore(rows, 0)
    assert sequences.check(header(1)).error is ErrorCode.NONE
    assert len(sequences) == 1


def test_replay_skips_batches_without_a_producer() -> None:
    sequences = Sequences()
    sequences.replay(read_header(build_batch([(None, b"v")], timestamp_ms=1)), 0)
    sequences.replay(
        read_header(build_control_batch(ControlType.COMMIT, producer_id=4, producer_epoch=0, timestamp_ms=1)), 0
    )
    assert len(sequences) == 0
    sequences.replay(header(5, base_offset=40), 0)
    duplicate = sequences.check(header(5)).duplicate_of
    assert duplicate is not None
    assert duplicate.base_offset == 40


def test_producers_expire_in_the_order_of_their_last_batch() -> None:
    sequences = Sequences()
    sequences.record(header(0, producer=1), 0, 100)
    sequences.record(header(0, producer=2), 1, 200)
    sequences.record(header(1, producer=1), 2, 300)
    assert sequences.expire(99) == 0
    assert sequences.expire(200) == 1
    assert [row[0] for row in sequences.to_rows(1 << 40)] == [1]


def test_the_number_of_producers_is_bounded() -> None:
    sequences = Sequences(3)
    for producer in range(3):
        sequences.record(header(0, producer=producer), producer, 0)
    assert [row[0] for row in sequences.to_rows(1 << 40)] == [0, 1, 2]
    for producer in range(3, 5):
        sequences.record(header(0, producer=producer), producer, 0)
    assert [row[0] for row in sequences.to_rows(1 << 40)] == [2, 3, 4]


def test_as_many_batches_of_a_producer_as_a_client_has_in_flight_are_known_and_one_more_replaces_the_oldest() -> None:
    sequences = Sequences()
    for number in range(BATCHES_KEPT):
        sequences.record(header(number), number, 0)
    assert all(sequences.check(header(number)).duplicate_of is not None for number in range(BATCHES_KEPT))
    sequences.record(header(BATCHES_KEPT), BATCHES_KEPT, 0)
    assert sequences.check(header(0)).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert all(sequences.check(header(number)).duplicate_of is not None for number in range(1, BATCHES_KEPT + 1))


def producers(sequences: Sequences) -> list[int]:
    return [row[0] for row in sequences.to_rows(1 << 40)]


class TestProducersOfAllPartitions:
    @pytest.fixture
    def budget(self) -> ProducerBudget:
        return ProducerBudget(3)

    @pytest.fixture
    def partitions(self, budget: ProducerBudget) -> list[Sequences]:
        both = [Sequences(), Sequences()]
        for each in both:
            each.share(budget)
        return both

    def test_are_as_many_as_allowed_and_one_more_replaces_the_one_that_wrote_longest_ago(
        self, budget: ProducerBudget, partitions: list[Sequences]
    ) -> None:
        one, other = partitions
        one.record(header(0, producer=1), 0, 0)
        other.record(header(0, producer=1), 0, 0)
        one.record(header(0, producer=2), 1, 0)
        assert (producers(one), producers(other), len(budget)) == ([1, 2], [1], 3)
        one.record(header(1, producer=1), 2, 0)  # it is not the oldest any more
        one.record(header(0, producer=3), 3, 0)
        assert (producers(one), producers(other), len(budget)) == ([2, 1, 3], [], 3)
        other.record(header(0, producer=4), 1, 0)
        assert (producers(one), producers(other), len(budget)) == ([1, 3], [4], 3)

    def test_a_new_epoch_takes_the_place_of_the_old_one(
        self, budget: ProducerBudget, partitions: list[Sequences]
    ) -> None:
        undo = None
        for epoch in range(5):
            undo = partitions[0].record(header(0, epoch=epoch), epoch, 0)
        assert (producers(partitions[0]), len(budget)) == ([7], 1)
        assert undo is not None
        partitions[0].undo(undo)
        assert (producers(partitions[0]), len(budget)) == ([7], 1)

    def test_that_expire_or_are_restored_make_room(self, budget: ProducerBudget, partitions: list[Sequences]) -> None:
        one, other = partitions
        one.record(header(0, producer=1), 0, 100)
        one.undo(one.record(header(0, producer=2), 1, 200))
        assert len(budget) == 2
        assert one.expire(100) == 1
        assert len(budget) == 1
        assert one.expire(200) == 1
        assert len(budget) == 0
        for number in range(2):
            one.record(header(0, producer=number), number, 300)
        other.restore(one.to_rows(1 << 40), 400)
        assert (producers(one), producers(other), len(budget)) == ([1], [0, 1], 3)
        other.restore([], 400)
        assert (producers(one), producers(other), len(budget)) == ([1], [], 1)

    def test_are_counted_from_the_moment_that_a_partition_is_open(self, budget: ProducerBudget) -> None:
        moved_here = Sequences()
        for number in range(5):
            moved_here.record(header(0, producer=number), number, 0)
        assert (len(moved_here), len(budget)) == (5, 0)
        moved_here.share(budget)
        assert (producers(moved_here), len(budget)) == ([2, 3, 4], 3)

    def test_those_of_a_deleted_partition_are_forgotten_some_at_a_time(self) -> None:
        budget, one, other = ProducerBudget(9), Sequences(), Sequences()
        one.share(budget)
        other.share(budget)
        for number in range(4):
            one.record(header(0, producer=number), number, 0)
        undo = one.record(header(0, producer=3, epoch=1), 4, 0)
        other.record(header(0, producer=1), 0, 0)
        one.partition_deleted()
        budget.forget_deleted(3)
        assert (producers(one), len(budget), budget.has_deleted) == ([3], 2, True)
        budget.forget_deleted(3)
        assert not budget.has_deleted
        one.undo(undo)  # its append fails later
        assert (producers(other), len(budget)) == ([1], 1)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 2)), max_size=80))
def test_producers_of_all_partitions_agree_with_one_list_by_age(steps: list[tuple[int, int, int]]) -> None:
    budget = ProducerBudget(4)
    partitions = [Sequences(3) for _ in range(3)]
    for each in partitions:
        each.share(budget)
    by_age: list[tuple[int, int]] = []
    for offset, (partition, producer, epoch) in enumerate(steps):
        partitions[partition].record(header(0, producer=producer, epoch=epoch), offset, offset)
        if (partition, producer) in by_age:
            by_age.remove((partition, producer))
        elif sum(1 for each in by_age if each[0] == partition) == 3:
            by_age.remove(next(each for each in by_age if each[0] == partition))
        by_age.append((partition, producer))
        del by_age[:-4]
        assert len(budget) == len(by_age)
        for number, sequences in enumerate(partitions):
            assert producers(sequences) == [each[1] for each in by_age if each[0] == number]

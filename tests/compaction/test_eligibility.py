"""Log partitions are due, limited and ordered as by Kafka's LogCleanerManager."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.compaction.eligibility import Cleanable, ClosedSegment, Lags, bounded, cleanable, dirtiest_first

NOW_MS = 1_000_000
SEGMENTS = tuple(
    ClosedSegment(base, 100, max_timestamp_ms=NOW_MS - age, first_timestamp_ms=NOW_MS - age - 50)
    for base, age in ((0, 4000), (10, 3000), (20, 2000), (30, 1000))
)


def found(
    *,
    checkpoint: int | None = None,
    min_lag_ms: int = 0,
    max_lag_ms: int = 2**63 - 1,
    not_beyond: int | None = None,
    active: int = 40,
) -> Cleanable:
    lags = Lags(min_compaction_lag_ms=min_lag_ms, max_compaction_lag_ms=max_lag_ms)
    return cleanable(
        SEGMENTS, active_base_offset=active, checkpoint=checkpoint, lags=lags, now_ms=NOW_MS, not_beyond=not_beyond
    )


def parts(one: Cleanable) -> tuple[int, int, int, int]:
    return one.first_dirty_offset, one.clean_up_to, one.clean_bytes, one.dirty_bytes


def test_a_log_that_was_never_compacted_is_dirty_up_to_its_active_segment() -> None:
    assert parts(found()) == (0, 40, 0, 400)
    assert found().ratio == 1.0


def test_segments_below_the_checkpoint_are_clean() -> None:
    assert parts(found(checkpoint=20)) == (20, 40, 200, 200)
    assert found(checkpoint=20).ratio == 0.5
    assert parts(found(checkpoint=40)) == (40, 40, 400, 0), "all of it"
    assert parts(found(checkpoint=25)) == (25, 40, 300, 200), "a segment that is half clean counts for both"


def test_an_impossible_checkpoint_is_ignored() -> None:
    assert parts(found(checkpoint=41)) == (0, 40, 0, 400)
    later = cleanable(SEGMENTS[2:], active_base_offset=40, checkpoint=5, lags=Lags(), now_ms=NOW_MS)
    assert parts(later) == (20, 40, 0, 200), "below the start of the log"


def test_the_first_dirty_segment_with_a_young_record_ends_the_round() -> None:
    assert found(min_lag_ms=2000).clean_up_to == 30, "exactly as old as the lag is old enough"
    assert found(min_lag_ms=2001).clean_up_to == 20
    assert parts(found(min_lag_ms=9000)) == (0, 0, 0, 0)
    assert parts(found(checkpoint=30, min_lag_ms=3500)) == (30, 30, 300, 0), "what is clean already may be young"


def test_the_segment_that_holds_the_limit_ends_the_round() -> None:
    assert [found(not_beyond=limit).clean_up_to for limit in (0, 19, 20, 39, 40, 99)] == [0, 10, 20, 30, 40, 40]


def test_an_empty_log_has_nothing_to_compact() -> None:
    one = cleanable((), active_base_offset=7, checkpoint=None, lags=Lags(), now_ms=NOW_MS)
    assert parts(one) == (7, 7, 0, 0)
    assert one.ratio == 0.0
    assert not one.is_due(Lags(min_cleanable_dirty_ratio=0))


def test_a_log_is_due_when_more_than_the_ratio_is_dirty() -> None:
    half = found(checkpoint=20)
    assert not half.is_due(Lags(min_cleanable_dirty_ratio=0.5))
    assert half.is_due(Lags(min_cleanable_dirty_ratio=0.49))


def test_a_log_is_due_when_its_oldest_dirty_batch_is_older_than_the_maximum_lag() -> None:
    assert found(checkpoint=30, max_lag_ms=1050).delay_ms == 0, "exactly as old is not older"
    late = found(checkpoint=30, max_lag_ms=1049)
    assert late.delay_ms == 1
    assert late.is_due(Lags(min_cleanable_dirty_ratio=1))
    assert not found(checkpoint=40, max_lag_ms=0).is_due(Lags(min_cleanable_dirty_ratio=1)), "nothing is dirty"
    young = found(checkpoint=30, max_lag_ms=1, min_lag_ms=2000)
    assert not young.is_due(Lags()), "late, but it may not be compacted yet"


def test_a_segment_without_a_timestamp_is_never_late() -> None:
    untimed = (ClosedSegment(0, 100, -1, -1),)
    one = cleanable(untimed, active_base_offset=9, checkpoint=None, lags=Lags(max_compaction_lag_ms=0), now_ms=NOW_MS)
    assert one.delay_ms == 0


def test_the_dirtiest_partition_comes_first_and_those_not_due_are_left_out() -> None:
    made = [(number, Cleanable(0, 10, 100 - dirty, dirty, 0)) for number, dirty in enumerate((60, 90, 50, 90, 0))]
    assert [number for number, _ in dirtiest_first(made, Lags())] == [1, 3, 0]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 500), st.integers(-1, 5000)), max_size=8),
    st.integers(0, 90),
    st.integers(0, 6000),
    st.one_of(st.none(), st.integers(0, 90)),
)
def test_a_round_ends_at_a_segment_and_keeps_every_limit(
    sizes: list[tuple[int, int, int]], checkpoint: int, min_lag_ms: int, not_beyond: int | None
) -> None:
    closed, base = [], 0
    for width, size, age in sizes:
        closed.append(ClosedSegment(base, size, NOW_MS - age, NOW_MS - age))
        base += width
    one = cleanable(
        closed,
        active_base_offset=base,
        checkpoint=checkpoint,
        lags=Lags(min_compaction_lag_ms=min_lag_ms),
        now_ms=NOW_MS,
        not_beyond=not_beyond,
    )
    assert one.clean_up_to in {base, *(segment.base_offset for segment in closed)}
    inputs = [segment for segment in closed if segment.base_offset < one.clean_up_to]
    assert not_beyond is None or one.clean_up_to <= max(not_beyond, 0)
    for segment in inputs:
        if segment.base_offset >= one.first_dirty_offset and min_lag_ms:
            assert segment.max_timestamp_ms <= NOW_MS - min_lag_ms
    assert one.dirty_bytes <= sum(segment.size_bytes for segment in inputs)


def cuts(max_dirty_bytes: int, *due: tuple[int, Cleanable]) -> tuple[list[tuple[int, int, int]], int]:
    taken, left = bounded(due, dict.fromkeys((1, 2), SEGMENTS), max_dirty_bytes)
    return [(number, one.clean_up_to, one.dirty_bytes) for number, one in taken], left


def test_a_plan_takes_whole_segments_up_to_its_bound_and_counts_the_rest() -> None:
    assert cuts(1000, (1, found()), (2, found())) == ([(1, 40, 400), (2, 40, 400)], 0)
    assert cuts(500, (1, found()), (2, found())) == ([(1, 40, 400), (2, 10, 100)], 300)
    assert cuts(250, (1, found()), (2, found())) == ([(1, 20, 200)], 600), "of the second none fits"


def test_a_plan_takes_at_least_one_segment_however_large() -> None:
    assert cuts(1, (1, found()), (2, found())) == ([(1, 10, 100)], 700)


def test_clean_bytes_do_not_count_for_the_bound() -> None:
    assert cuts(100, (1, found(checkpoint=20))) == ([(1, 30, 100)], 100)
    assert cuts(1, (1, found(checkpoint=25))) == ([(1, 30, 100)], 100), "a segment that is half clean is dirty"


def test_a_cut_never_goes_beyond_the_end_of_the_round() -> None:
    assert cuts(1000, (1, found(not_beyond=25))) == ([(1, 20, 200)], 0)

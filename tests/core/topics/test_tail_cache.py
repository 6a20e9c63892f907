"""The tail cache: contiguous to the end of the log, bounded, and equal to a plain list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.topics.tail_cache import OVERHEAD_BYTES, Tail, TailBudget


def tail(limit: int = 1 << 20, per_tail: int = 1 << 20) -> Tail:
    return Tail(TailBudget(limit, per_tail))


def first_offset(cache: Tail) -> int | None:
    """Return the first cached offset; offsets below it have no position."""
    return next((offset for offset in range(1000) if cache.position_of(offset) is not None), None)


def test_batch_is_found_by_any_offset_in_it() -> None:
    cache = tail()
    cache.append(10, b"aaaa")
    cache.append(15, b"bb")
    assert first_offset(cache) == 10
    assert [cache.position_of(offset) for offset in (9, 10, 14, 15, 99)] == [None, 0, 0, 4, 4]
    assert cache.read(14, 100, 17, at_least_one=False) == [b"aaaa", b"bb"]
    assert cache.read(15, 100, 17, at_least_one=False) == [b"bb"]


def test_limits_apply_except_to_the_first_batch_with_at_least_one() -> None:
    cache = tail()
    for base in range(4):
        cache.append(base, b"x" * 10)
    assert len(cache.read(0, 25, 4, at_least_one=False)) == 2
    assert len(cache.read(0, 20, 4, at_least_one=False)) == 2
    assert len(cache.read(0, 5, 4, at_least_one=False)) == 0
    assert len(cache.read(0, 5, 4, at_least_one=True)) == 1
    assert len(cache.read(1, 100, 3, at_least_one=True)) == 2, "not above the high watermark"


def test_partition_written_longest_ago_drops_batches_first() -> None:
    budget = TailBudget(3 * (100 + OVERHEAD_BYTES), 1 << 20)
    old, young = Tail(budget), Tail(budget)
    old.append(0, b"o" * 100)
    old.append(1, b"o" * 100)
    young.append(0, b"y" * 100)
    young.append(1, b"y" * 100)
    assert (first_offset(old), first_offset(young)) == (1, 0)
    old.append(2, b"o" * 100)
    assert (first_offset(old), first_offset(young)) == (1, 1)


def test_each_partition_has_its_own_limit() -> None:
    budget = TailBudget(1 << 20, 2 * (100 + OVERHEAD_BYTES))
    cache = Tail(budget)
    for base in range(1000):
        cache.append(base, b"x" * 100)
    assert (first_offset(cache), len(cache)) == (998, 2)
    assert len(cache._bases) < 1000, "the lists are shortened from time to time"


def test_batch_above_the_limit_is_not_cached() -> None:
    cache = tail(limit=1000)
    cache.append(0, b"x" * 2000)
    assert (len(cache), cache.held_bytes, cache.end_position) == (0, 0, 2000)
    cache.append(1, b"y")
    assert cache.position_of(1) == 2000


def test_truncated_batches_are_removed() -> None:
    cache = tail()
    for base in range(4):
        cache.append(base, b"x" * 10)
    cache.truncate(2)
    assert (cache.end_position, cache.position_of(3)) == (20, 10)
    cache.append(2, b"y" * 5)
    assert cache.read(2, 100, 3, at_least_one=False) == [b"y" * 5]


APPEND = st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 60))
OTHERS = st.tuples(st.sampled_from(["truncate", "drop_before", "clear"]), st.integers(0, 2), st.integers(0, 10))


@given(st.lists(st.one_of(APPEND, APPEND, OTHERS), max_size=120), st.integers(300, 3000))
def test_three_tails_agree_with_plain_lists(steps: list[tuple[str, int, int]], limit: int) -> None:
    budget = TailBudget(limit, limit // 2)
    tails = [Tail(budget) for _ in range(3)]
    models: list[list[bytes]] = [[], [], []]  # every batch appended and not truncated; its index is its offset
    for step, number, amount in steps:
        cache, model = tails[number], models[number]
        if step == "append":
            cache.append(len(model), b"%d" % (amount % 10) * amount)
            model.append(b"%d" % (amount % 10) * amount)
        elif step == "truncate":
            # The log is never truncated below its durable end; here, below the cached batches.
            held_from = len(model) if first_offset(cache) is None else first_offset(cache)
            offset = max(len(model) - amount, held_from)
            cache.truncate(offset)
            del model[offset:]
        elif step == "drop_before":
            cache.drop_before(amount)
        else:
            cache.clear()
        assert budget.used_bytes == sum(each.held_bytes for each in tails) <= limit
        for each, known in zip(tails, models, strict=True):
            assert each.held_bytes <= limit // 2
            first = first_offset(each)
            assert each.end_position == sum(map(len, known))
            if first is not None:
                assert each.read(first, 1 << 30, len(known), at_least_one=False) == known[first:]
                assert each.position_of(first) == sum(map(len, known[:first]))
                assert len(each) == len(known) - first

"""The compaction in columns gives the files of the oracle, byte for byte, and says the same of them.

On any log, over rounds that each begin with what the last one made. The oracle is right by test_rules.py, and by
what Kafka's own cleaner makes of such logs (tests/conformance/live_cleaner.py).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.compaction import column_compaction
from coordinator.compaction.plan import PartitionResult
from protocol.record_batch import iter_batches
from tests.compaction import oracle
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    OFFSETS,
    PLAIN,
    START_MS,
    LogWriter,
    Op,
    Segment,
    Style,
    compacted,
    operations,
    outputs_of,
    plan_for,
    seeded,
)


def said(result: PartitionResult) -> PartitionResult:
    """Return a result without the names of the attempts, which are random."""
    outputs = [replace(output, file=f"{result.partition}/{output.name}.x") for output in result.outputs]
    return replace(result, outputs=tuple(outputs))


def same(
    segments: list[Segment],
    clean_up_to: int,
    now_ms: int,
    *,
    delete_retention_ms: int = DAY_MS,
    segment_bytes: int = 1 << 20,
) -> list[Segment]:
    """Run one round by both, from the same files; return their outputs."""
    with tempfile.TemporaryDirectory() as name:
        in_dir, outs = Path(name, "in", "3"), (Path(name, "a", "3"), Path(name, "b", "3"))
        plan, part = plan_for(
            segments,
            in_dir,
            clean_up_to=clean_up_to,
            now_ms=now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
            partition=3,
        )
        one = oracle.compact_partition(plan, part, in_dir, outs[0])
        other = column_compaction.compact_partition(plan, part, in_dir, outs[1])
        assert said(one) == said(other)
        made = outputs_of(one, outs[0])
        assert outputs_of(other, outs[1]) == made
        return made


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from((ANYTHING, OFFSETS, PLAIN)).flatmap(
        lambda style: st.lists(
            st.tuples(operations(style, max_size=25), st.sampled_from((0, 1, DAY_MS // 2, DAY_MS, 3 * DAY_MS))),
            min_size=1,
            max_size=4,
        )
    ),
    st.sampled_from((1, 600, 4000, 1 << 20)),
    st.sampled_from((0, 5, DAY_MS)),
)
def test_any_log_gives_the_same_files_round_after_round(
    parts: list[tuple[list[Op], int]], segment_bytes: int, delete_retention_ms: int
) -> None:
    writer = LogWriter()
    for ops, pause_ms in parts:
        writer.write(ops).roll()
        writer.now_ms += pause_ms
        if writer.closed:
            made = same(
                writer.closed,
                writer.active.base_offset,
                writer.now_ms,
                delete_retention_ms=delete_retention_ms,
                segment_bytes=segment_bytes,
            )
            writer.segments = [*made, writer.active]


@pytest.mark.parametrize("style", [ANYTHING, OFFSETS, PLAIN])
@pytest.mark.parametrize("seed", range(4))
def test_long_logs_give_the_same_files_over_six_rounds(seed: int, style: Style) -> None:
    writer = LogWriter()
    for number in range(6):
        writer.write(seeded(seed * 100 + number, 250, style)).roll()
        writer.now_ms += number % 2 * DAY_MS
        made = same(writer.closed, writer.active.base_offset, writer.now_ms, segment_bytes=6000)
        writer.segments = [*made, writer.active]


@pytest.mark.parametrize("seed", range(10))
def test_a_round_that_ends_within_transactions_gives_the_same_files(seed: int) -> None:
    writer = LogWriter().write(seeded(seed, 300)).roll()
    half = writer.segments[: len(writer.segments) // 2]
    made = same(half, writer.segments[len(half)].base_offset, writer.now_ms)
    rest = writer.segments[len(half) : -1]
    same([*made, *rest], writer.active.base_offset, writer.now_ms + 2 * DAY_MS)


def test_a_job_that_is_done_again_gives_the_same_files() -> None:
    segments = LogWriter().write(seeded(5, 200)).roll().closed
    end = segments[-1].next_offset
    first = compacted(column_compaction.compact_partition, segments, end, START_MS)
    second = compacted(column_compaction.compact_partition, segments, end, START_MS)
    assert first[0] == second[0]
    assert said(first[1]) == said(second[1])


def test_an_empty_segment_among_the_inputs_does_no_harm() -> None:
    segments = LogWriter().write(seeded(6, 60, PLAIN)).roll().closed
    end = segments[-1].next_offset
    with_empty = [*segments, Segment(end)]
    assert same(with_empty, end + 1, START_MS) == same(segments, end + 1, START_MS)


@pytest.mark.parametrize("at", [8, 16, 17, 21, 57, 61, 90])
def test_a_damaged_input_is_refused_by_both(at: int, tmp_path: Path) -> None:
    (segment,) = LogWriter().write(seeded(7, 3, PLAIN)).roll().closed[:1]
    data = bytearray(segment.data)
    data[at] ^= 0x40
    refused(bytes(data), tmp_path)


def test_batches_out_of_order_are_refused_by_both(tmp_path: Path) -> None:
    data = LogWriter().write(seeded(8, 12, PLAIN)).roll().closed[0].data
    first, second = (data[at : at + header.size_bytes] for at, header in list(iter_batches(data))[:2])
    refused(second + first, tmp_path)


def refused(data: bytes, tmp_path: Path) -> None:
    segment = Segment(0, data)
    planned = plan_for([segment], tmp_path / "in" / "0", clean_up_to=1000, now_ms=START_MS)
    for each in (oracle, column_compaction):
        result = each.compact_partition(*planned, tmp_path / "in" / "0", tmp_path / "out" / "0")
        assert result.error is not None
        assert segment.name in result.error
        assert result.outputs == ()

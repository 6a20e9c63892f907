"""Kafka's cleaner and ours on the same logs: its Cleaner class byte by byte, a real broker, and its dump tool.

Needs Kafka's jars and a JDK, so `make interchange` runs it and `make test` does not. What differs, and is meant to, is
shown here too, each with its test: see the head of coordinator/compaction/rules.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.compaction.plain import clean_partition
from protocol.compression import Codec
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    OFFSETS,
    PLAIN,
    START_MS,
    End,
    LogWriter,
    Op,
    Rec,
    Roll,
    Segment,
    Style,
    Write,
    cleaned,
    operations,
    replayed,
    seeded,
)
from tests.conformance.cleaner import KafkaCleaner, keys, seen

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SEGMENT_BYTES = (400, 5000, 1 << 20)


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCleaner]:
    with KafkaCleaner() as running:
        yield running


def all_ended(writer: LogWriter) -> list[Op]:
    """Markers for the transactions that are open: Kafka would know of later ones, and we would not."""
    return [End(producer_id, producer_id != 2) for producer_id in sorted(writer.in_transaction)]


def compare_rounds(
    kafka: KafkaCleaner, parts: list[tuple[list[Op], int]], segment_bytes: int, delete_retention_ms: int
) -> list[Segment]:
    """Write, clean, write on, clean again: after each round both have the same batches in the same files."""
    writer = LogWriter()
    first_dirty = 0
    for ops, pause_ms in parts:
        writer.write(ops)
        writer.write(all_ended(writer)).roll()
        writer.now_ms += pause_ms
        if writer.active.base_offset == first_dirty:
            continue  # nothing is dirty: Kafka would not start a round
        end, now_ms = writer.active.base_offset, writer.now_ms
        theirs = kafka.clean(
            writer.closed,
            writer.active,
            now_ms=now_ms,
            first_dirty=first_dirty,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        ours, _ = cleaned(
            clean_partition,
            writer.closed,
            end,
            now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        assert seen(ours) == seen(theirs)
        writer.segments = [*ours, writer.active]
        first_dirty = end
    return writer.closed


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.sampled_from((ANYTHING, OFFSETS, PLAIN)).flatmap(
        lambda style: st.lists(
            st.tuples(operations(style, max_size=25), st.sampled_from((0, 1, DAY_MS // 2, DAY_MS, 3 * DAY_MS))),
            min_size=1,
            max_size=4,
        )
    ),
    segment_bytes=st.sampled_from(SEGMENT_BYTES),
    delete_retention_ms=st.sampled_from((0, 5, DAY_MS)),
)
def test_kafkas_cleaner_and_ours_write_the_same_batches(
    kafka: KafkaCleaner, parts: list[tuple[list[Op], int]], segment_bytes: int, delete_retention_ms: int
) -> None:
    compare_rounds(kafka, parts, segment_bytes, delete_retention_ms)


@pytest.mark.parametrize("style", [ANYTHING, OFFSETS, PLAIN])
@pytest.mark.parametrize("seed", range(8))
def test_the_same_on_long_logs_over_six_rounds(kafka: KafkaCleaner, seed: int, style: Style) -> None:
    parts = [(seeded(1000 * seed + number, 300, style), number % 2 * DAY_MS) for number in range(6)]
    compare_rounds(kafka, parts, SEGMENT_BYTES[seed % 3], (5, DAY_MS)[seed % 2])


def offsets_of(*keys_: int, producer_id: int = -1, is_tombstone: bool = False) -> Write:
    return Write(tuple(Rec(key, is_tombstone) for key in keys_), Codec.NONE, producer_id)


# --- what differs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_what_kafka_knows_of_transactions_that_end_behind_the_round_we_leave_for_the_next(
    kafka: KafkaCleaner, seed: int
) -> None:
    writer = LogWriter().write(seeded(seed, 120)).roll().write(seeded(seed + 100, 40))
    writer.write(all_ended(writer))
    number = min(len(writer.segments) - 1, 4 + seed)
    closed, active = writer.segments[:number], writer.segments[number]
    active = Segment(active.base_offset, b"".join(each.data for each in writer.segments[number:]))
    now_ms = writer.now_ms
    theirs = kafka.clean(closed, active, now_ms=now_ms)
    ours, _ = cleaned(clean_partition, closed, active.base_offset, now_ms)
    assert keys(ours) >= keys(theirs)
    assert replayed([*ours, active]) == replayed([*theirs, active]) == replayed(writer.segments)


def test_a_producers_last_batch_stays_until_we_see_the_next(kafka: KafkaCleaner) -> None:
    ops = [offsets_of(0, producer_id=11), offsets_of(0), Roll(), offsets_of(1, producer_id=11)]
    writer = LogWriter().write(ops)
    theirs = kafka.clean(writer.closed, writer.active, now_ms=START_MS + 100)
    ours, _ = cleaned(clean_partition, writer.closed, 2, START_MS + 100)
    assert [batch.header.record_count for _, batch in seen(theirs)] == [1]
    assert [batch.header.record_count for _, batch in seen(ours)] == [0, 1]


def test_since_4_4_kafka_keeps_the_end_of_a_round_only_where_nothing_follows(kafka: KafkaCleaner) -> None:
    """KAFKA-20452. We cannot see what follows, and keep one header more until the next round, as Kafka 4.0 to 4.3."""
    writer = LogWriter().write([offsets_of(0), Write((Rec(None),)), Roll(), offsets_of(1)])
    theirs = kafka.clean(writer.closed, writer.active, now_ms=START_MS, high_watermark=3)
    ours, _ = cleaned(clean_partition, writer.closed, 2, START_MS)
    assert [batch.header.base_offset for _, batch in seen(theirs)] == [0]
    assert [batch.header.base_offset for _, batch in seen(ours)] == [0, 1]

"""Kafka's cleaner and ours on the same logs: its Cleaner class byte by byte, a real broker, and its dump tool.

Needs Kafka's jars and a JDK, so `make interchange` runs it and `make test` does not. What differs, and is meant to, is
shown here too, each with its test: see the head of coordinator/compaction/rules.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.compaction.rules import horizon_of
from protocol.compression import Codec
from protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from protocol.record_batch import ControlType, control_type
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    OFFSETS,
    PLAIN,
    START_MS,
    TRANSACTIONAL,
    End,
    LogWriter,
    Op,
    Rec,
    Roll,
    Segment,
    Style,
    Wait,
    Write,
    compacted,
    operations,
    replayed,
    seeded,
)
from tests.compaction.oracle import compact_partition
from tests.compaction.test_consumer_groups import MINUTE_MS, OPS, ConsumerLog
from tests.compaction.transactions import OPS as TRANSACTION_OPS
from tests.compaction.transactions import TransactionLog, loaded
from tests.conformance.cleaner import KafkaCleaner, Seen, keys, read_segments, seen
from tests.conformance.consumer_exchange import fill_consumers, go_on, told_of_consumers, write_catalogue
from tests.conformance.exchange import KEPT_LOG, PARTITION, commit, fill
from tests.conformance.kafka import Kafka, dump_log
from tests.conformance.lockstep import KAFKA_SETTINGS, OUR_OVERRIDES, TOPICS
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.wire import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SEGMENT_BYTES = (400, 5000, 1 << 20)
OPEN = TRANSACTIONAL[2]  # a producer whose transaction stays open


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
        ours, _ = compacted(
            compact_partition,
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


def compare_log(
    kafka: KafkaCleaner,
    log: ConsumerLog | TransactionLog,
    parts: list[tuple[list[tuple[str, Any]], int]],
    segment_bytes: int,
    delete_retention_ms: int,
    meaning: Callable[[list[Segment]], object] = lambda _: None,
) -> None:
    """Compact what each part adds with Kafka's cleaner and ours. `meaning` of the records must stay as it was."""
    first_dirty = 0
    for ops, pause_ms in parts:
        log.play(ops)
        log.roll()
        log.now_ms += pause_ms
        end = log.next_offset
        if end == first_dirty:
            continue
        theirs = kafka.clean(
            log.closed,
            log.segments[-1],
            now_ms=log.now_ms,
            first_dirty=first_dirty,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        expected = meaning(log.closed)
        ours, _ = compacted(
            compact_partition,
            log.closed,
            end,
            log.now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        assert seen(ours) == seen(theirs)
        assert meaning(ours) == expected
        log.segments = [*ours, log.segments[-1]]
        first_dirty = end


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


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(st.tuples(OPS, st.sampled_from((0, MINUTE_MS, DAY_MS, 3 * DAY_MS))), min_size=1, max_size=4),
    segment_bytes=st.sampled_from(SEGMENT_BYTES),
    delete_retention_ms=st.sampled_from((0, DAY_MS)),
)
def test_kafkas_cleaner_and_ours_keep_the_same_records_of_groups_of_the_newer_protocol(
    kafka: KafkaCleaner, parts: list[tuple[list[tuple[str, Any]], int]], segment_bytes: int, delete_retention_ms: int
) -> None:
    log = ConsumerLog()
    compare_log(kafka, log, parts, segment_bytes, delete_retention_ms)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(st.tuples(TRANSACTION_OPS, st.sampled_from((0, DAY_MS, 3 * DAY_MS))), min_size=1, max_size=4),
    segment_bytes=st.sampled_from(SEGMENT_BYTES),
    delete_retention_ms=st.sampled_from((0, DAY_MS)),
)
def test_kafkas_cleaner_and_ours_write_the_same_bytes_of_a_transaction_log(
    kafka: KafkaCleaner,
    parts: list[tuple[list[tuple[str, list[str]]], int]],
    segment_bytes: int,
    delete_retention_ms: int,
) -> None:
    log = TransactionLog()
    compare_log(kafka, log, parts, segment_bytes, delete_retention_ms, loaded)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    ops=operations(OFFSETS, max_size=30).map(lambda ops: [op for op in ops if getattr(op, "producer_id", 0) != OPEN]),
    behind=st.lists(st.sampled_from(("open", "plain", "roll")), max_size=8),
    pause_ms=st.sampled_from((0, DAY_MS, 3 * DAY_MS)),
    delete_retention_ms=st.sampled_from((0, DAY_MS)),
)
def test_kafkas_cleaner_and_ours_write_the_same_batches_below_an_open_transaction(
    kafka: KafkaCleaner, ops: list[Op], behind: list[str], pause_ms: int, delete_retention_ms: int
) -> None:
    """Kafka cleans up to the last stable offset. Its producer has written nothing before, see below."""
    writer = LogWriter().write(ops)
    writer.write(all_ended(writer)).roll()
    stable, count = writer.active.base_offset, len(writer.segments) - 1
    writer.write([offsets_of(0, producer_id=OPEN)])
    for one in behind:
        writer.write([Roll() if one == "roll" else offsets_of(1, producer_id=OPEN if one == "open" else -1)])
    writer.now_ms += pause_ms
    if not stable:
        return
    theirs = kafka.clean(
        writer.closed,
        writer.active,
        now_ms=writer.now_ms,
        clean_up_to=stable,
        delete_retention_ms=delete_retention_ms,
    )
    closed = writer.segments[:count]
    ours, _ = compacted(compact_partition, closed, stable, writer.now_ms, delete_retention_ms=delete_retention_ms)
    assert seen(ours) == seen(theirs)


def test_the_same_where_the_marker_of_nothing_wakes_a_producer_after_a_day(kafka: KafkaCleaner) -> None:
    """Its last batch stays, if it was not yet forgotten when the marker came. A broker looks every ten minutes."""
    deleted = Write((Rec(None),), Codec.NONE), offsets_of(0, producer_id=1, is_tombstone=True)
    for pause_ms in (DAY_MS - 1000, DAY_MS, 3 * DAY_MS):
        compare_rounds(kafka, [([*deleted], pause_ms), ([End(1, False, False)], 0)], 400, 0)


@pytest.mark.parametrize("style", [ANYTHING, OFFSETS, PLAIN])
@pytest.mark.parametrize("seed", range(8))
def test_the_same_on_long_logs_over_six_rounds(kafka: KafkaCleaner, seed: int, style: Style) -> None:
    parts = [(seeded(1000 * seed + number, 300, style), number % 2 * DAY_MS) for number in range(6)]
    compare_rounds(kafka, parts, SEGMENT_BYTES[seed % 3], (5, DAY_MS)[seed % 2])


def test_the_same_on_a_log_that_kafka_wrote(kafka: KafkaCleaner) -> None:
    """The kept one: transactions of today's kind among it, whose markers carry a new epoch."""
    segments = read_segments(KEPT_LOG / PARTITION, 1 << 40)
    end = segments[-1].next_offset
    now_ms = max(batch.header.max_timestamp for _, batch in seen(segments)) + 1000
    for number in range(4):
        now_ms += number
        theirs = kafka.clean(segments, Segment(end), now_ms=now_ms, delete_retention_ms=1)
        ours, _ = compacted(compact_partition, segments, end, now_ms, delete_retention_ms=1)
        assert seen(ours) == seen(theirs)
        assert replayed(ours) == replayed(segments)
        segments = ours


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
    ours, _ = compacted(compact_partition, closed, active.base_offset, now_ms)
    assert keys(ours) >= keys(theirs)
    assert replayed([*ours, active]) == replayed([*theirs, active]) == replayed(writer.segments)


def test_a_producers_last_batch_stays_until_we_see_the_next(kafka: KafkaCleaner) -> None:
    ops = [offsets_of(0, producer_id=11), offsets_of(0), Roll(), offsets_of(1, producer_id=11)]
    writer = LogWriter().write(ops)
    theirs = kafka.clean(writer.closed, writer.active, now_ms=START_MS + 100)
    ours, _ = compacted(compact_partition, writer.closed, 2, START_MS + 100)
    assert [batch.header.record_count for _, batch in seen(theirs)] == [1]
    assert [batch.header.record_count for _, batch in seen(ours)] == [0, 1]


def test_since_4_4_kafka_keeps_the_end_of_a_round_only_where_nothing_follows(kafka: KafkaCleaner) -> None:
    """KAFKA-20452. We cannot see what follows, and keep one header more until the next round, as Kafka 4.0 to 4.3."""
    writer = LogWriter().write([offsets_of(0), Write((Rec(None),)), Roll(), offsets_of(1)])
    theirs = kafka.clean(writer.closed, writer.active, now_ms=START_MS, high_watermark=3)
    ours, _ = compacted(compact_partition, writer.closed, 2, START_MS)
    assert [batch.header.base_offset for _, batch in seen(theirs)] == [0]
    assert [batch.header.base_offset for _, batch in seen(ours)] == [0, 1]


# --- Kafka reads what we compacted ------------------------------------------------------------------------------------


def compacted_log(style: Style, *, now_ms: int = START_MS, rounds: int = 4) -> LogWriter:
    """A log that was written to and compacted in turns: horizons, markers, emptied batches, every codec."""
    writer = LogWriter(now_ms=now_ms, leader_epoch=0)
    for number in range(rounds):
        writer.write(seeded(number, 150, style))
        writer.write(all_ended(writer)).roll()
        made, _ = compacted(
            compact_partition, writer.closed, writer.active.base_offset, writer.now_ms, segment_bytes=8000
        )
        writer.segments = [*made, writer.active]
    return writer


@pytest.mark.parametrize("style", [OFFSETS, ANYTHING])
def test_kafkas_dump_tool_reads_compacted_segments(style: Style, tmp_path: Path) -> None:
    closed = compacted_log(style).closed
    for segment in closed:
        (tmp_path / segment.name).write_bytes(segment.data)
    printed = dump_log(*(tmp_path / segment.name for segment in closed), offsets=style == OFFSETS)
    batches = [batch for _, batch in seen(closed)]
    assert printed.count("baseOffset: ") == printed.count("isvalid: true") == len(batches)
    assert printed.count("deleteHorizonMs: OptionalLong[") == sum(
        horizon_of(batch.header) is not None for batch in batches
    )
    assert printed.count("endTxnMarker: ") == sum(len(batch.records) for batch in batches if is_marker(batch))
    assert "isvalid: false" not in printed.lower()


def is_marker(batch: Seen) -> bool:
    return batch.header.is_control and any(control_type(each) is not ControlType.UNKNOWN for each in batch.records)


def test_a_kafka_serves_the_transactional_ids_of_a_log_that_it_wrote_and_we_compacted(
    kafka: KafkaCleaner, tmp_path: Path
) -> None:
    broker = Kafka(tmp_path / "kafka")
    ids = [f"id-{number}" for number in range(3)]

    def described() -> list[TransactionState]:
        return list(call(broker.port, DescribeTransactionsRequest(ids), 0).transaction_states)

    with broker:
        broker.create_topic("t", 1)
        for transactional_id in ids:
            producer = Producer(
                {"bootstrap.servers": broker.address, "transactional.id": transactional_id, "log_level": 0}
            )
            producer.init_transactions(30)
            for number in range(10):
                producer.begin_transaction()
                producer.produce("t", b"x")
                producer.flush(30)
                producer.abort_transaction(30) if number % 3 else producer.commit_transaction(30)
        eventually(lambda: {each.transaction_state[:8] for each in described()} == {"Complete"}, "all are complete")
        expected = described()
    directory = broker.data_dir / "__transaction_state-0"
    whole = read_segments(directory, 1 << 40)
    end, now_ms = whole[-1].next_offset, int(time.time() * 1000)
    ours, result = compacted(compact_partition, whole, end, now_ms)
    assert result.stats.records_before > 60
    assert result.stats.records_after == len(ids)
    assert seen(ours) == seen(kafka.clean(whole, Segment(end), now_ms=now_ms))
    assert loaded(ours) == loaded(whole)
    put_down(directory, ours)
    with broker:
        eventually(lambda: described() == expected, "it loads the same state")


def test_a_kafka_serves_the_groups_and_offsets_of_a_compacted_log_of_ours(kafka: KafkaCleaner, tmp_path: Path) -> None:
    broker = Kafka(tmp_path / "kafka", settings=KAFKA_SETTINGS)
    daemon = Daemon(tmp_path / "ours", overrides=["offsets.topic.num.partitions=1", *OUR_OVERRIDES])
    with broker:
        for name, partitions in TOPICS.items():
            broker.create_topic(name, partitions)
        write_catalogue(broker.port, daemon.data_dir)
    with daemon:
        fill(daemon.port)
        consumers = fill_consumers(daemon.port, "")
        for offset in range(40):
            commit(daemon.port, "simple", "t0", 0, offset)
        expected = told_of_consumers(daemon.port)
    whole = read_segments(daemon.data_dir / PARTITION, 1 << 40)
    end, now_ms = whole[-1].next_offset, int(time.time() * 1000)
    ours, result = compacted(compact_partition, whole, end, now_ms)
    assert result.stats.records_after < result.stats.records_before - 39
    assert seen(ours) == seen(kafka.clean(whole, Segment(end), now_ms=now_ms))
    put_down(broker.data_dir / PARTITION, ours)
    with broker:
        assert told_of_consumers(broker.port) == expected
        go_on(broker.port, consumers, 20)


# --- a real broker ----------------------------------------------------------------------------------------------------

TOPIC = "compacted"
SETTINGS = {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleanup.policy": "compact",
    "log.retention.ms": "-1",
    "log.roll.ms": "3600000000",
}


def put_down(directory: Path, segments: Sequence[Segment]) -> None:
    """Replace the files of a stopped broker."""
    for path in directory.iterdir():
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            path.unlink()
    for segment in segments:
        (directory / segment.name).write_bytes(segment.data)


def test_a_real_brokers_cleaner_and_ours_keep_the_same_over_three_rounds(tmp_path: Path) -> None:
    """The broker's clock decides: delete horizons stand where it set them, and all else is the same."""
    settings = {**SETTINGS, "log.cleaner.delete.retention.ms": "1"}  # a horizon is reached by the next round
    kafka = Kafka(tmp_path, settings=settings)
    with kafka:
        kafka.create_topic(TOPIC, 1)
    directory = kafka.data_dir / f"{TOPIC}-0"
    # In the broker's present: its producers must not be idle for a day, nor its records from the future.
    writer = LogWriter(now_ms=int(time.time() * 1000) - 12 * 3_600_000, leader_epoch=0)
    theirs: list[Segment] = []
    for number in range(3):
        writer.write([op for op in seeded(number, 200) if not isinstance(op, Wait)])
        writer.write(all_ended(writer)).roll().write([offsets_of(0)])  # the active segment: not touched
        put_down(directory, writer.segments)
        for name in ("cleaner-offset-checkpoint", "replication-offset-checkpoint"):
            (kafka.data_dir / name).write_text("0\n0\n")  # nothing is clean, and no high watermark known: one round
        end = writer.active.base_offset
        with kafka:
            eventually(lambda: cleaned_up_to(kafka) == writer.active.base_offset, "the cleaner is done", within_s=60)
            theirs = read_segments(directory, end)
            active = (directory / writer.active.name).read_bytes()
        now_ms = int(time.time() * 1000)
        ours, _ = compacted(compact_partition, writer.closed, end, now_ms, delete_retention_ms=1, segment_bytes=1 << 30)
        assert without_clock(ours, end) == without_clock(theirs, end)
        assert keys(ours) == keys(theirs)
        assert active == writer.active.data
        writer.segments = [*theirs, writer.active]
        writer.roll()
    horizons = [batch for _, batch in seen(theirs) if horizon_of(batch.header) is not None]
    assert horizons, "no tombstone and no marker was on its way out: this log shows too little"


def cleaned_up_to(kafka: Kafka) -> int | None:
    """Return the cleaner checkpoint of the broker for the topic: "<topic> <partition> <offset>", a line each."""
    path = kafka.data_dir / "cleaner-offset-checkpoint"
    lines = [line.split() for line in path.read_text().splitlines()]
    return next((int(line[2]) for line in lines if line[:2] == [TOPIC, "0"]), None)


def without_clock(segments: Sequence[Segment], end: int) -> list[object]:
    """The batches, but for horizons and what follows from them; and for the header at a round's end (KAFKA-20452)."""
    found: list[object] = []
    for name, batch in seen(segments):
        header, raw = batch.header, batch.raw
        if not batch.records and header.producer_id < 0 and header.last_offset + 1 == end:
            continue
        if horizon_of(header) is not None:
            header, raw = header._replace(base_timestamp=0, crc=0, batch_length=0), None
        found.append((name, header, raw, batch.records))
    return found
